//! The laws, as the panel lists them: those that are broken first, since when, by what, and whether
//! a real cluster breaks them too.
//!
//! *Invariant: what is shown is what was found up to the cursor, whatever lies beyond it.*

use super::drawing::seconds;
use super::ensemble::Run;
use super::story;
use crate::cluster::laws::{Broken, LAWS, Real};
use crate::lab::Lab;
use crate::sim::SimTime;
use crate::text::Phrase;

/// How a law stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It has always held.
    Holds,
    /// It is broken.
    Broken,
    /// It was broken for a while.
    Healed,
}

/// One law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LawRow {
    /// What it is called in the lists.
    pub ids: &'static str,
    /// What it says.
    pub says: Phrase,
    /// How it stands.
    pub stand: Stand,
    /// If it was broken, how.
    pub breach: Option<BreachLines>,
}

/// How a law was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreachLines {
    /// When, and how often.
    pub when: Phrase,
    /// What was seen, in notation.
    pub what: String,
    /// Whether a real cluster does so too.
    pub real: Phrase,
    /// The event that shows why.
    pub event: u64,
}

/// All laws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LawsPicture {
    /// How many are broken, of how many.
    pub summary: Phrase,
    /// The laws; first those that are broken, then those that were.
    pub rows: Vec<LawRow>,
}

/// How many laws are broken.
pub fn broken(lab: &Lab) -> usize {
    lab.laws().broken().iter().filter(|broken| broken.healed.is_none()).count()
}

/// The panel.
pub fn laws(lab: &Lab) -> LawsPicture {
    let found = lab.laws().broken();
    let of = LAWS.len();
    let summary = match broken(lab) {
        0 => Phrase::key("law.all-hold").with("of", of),
        n => Phrase::key("law.some-are-broken").with("n", n).with("of", of),
    };
    let mut rows = Vec::with_capacity(of);
    for stand in [Stand::Broken, Stand::Healed, Stand::Holds] {
        for place in 0..of {
            let row = row(lab, place, found.iter().find(|broken| broken.law == place));
            rows.extend((row.stand == stand).then_some(row));
        }
    }
    LawsPicture { summary, rows }
}

fn row(lab: &Lab, place: usize, found: Option<&Broken>) -> LawRow {
    let law = &LAWS[place];
    let stand = match found {
        None => Stand::Holds,
        Some(Broken { healed: None, .. }) => Stand::Broken,
        Some(_) => Stand::Healed,
    };
    let breach = found.map(|broken| BreachLines {
        when: when(broken),
        what: broken.what.clone(),
        real: Phrase::key(match law.real {
            Real::Nobody => "law.real.nobody",
            Real::ByChoice(key) | Real::Releases(_, key) | Real::While(_, key) => key,
        }),
        event: told(lab, broken),
    });
    LawRow { ids: law.ids, says: Phrase::key(law.key), stand, breach }
}

fn when(broken: &Broken) -> Phrase {
    let from = clock(broken.at);
    match (broken.healed, broken.times) {
        (Some(healed), _) => {
            Phrase::key("law.from-to").with_phrase("from", from).with_phrase("to", clock(healed))
        }
        (None, 1) => Phrase::key("law.since").with_phrase("from", from),
        (None, n) => Phrase::key("law.since-times").with_phrase("from", from).with("n", n),
    }
}

/// A moment, as the clock and the lanes show it.
fn clock(at: SimTime) -> Phrase {
    seconds(i32::try_from(at.as_ms() / 100).unwrap_or(i32::MAX))
}

/// The event of the breach; if nothing is told of it, the nearest cause of which something is.
fn told(lab: &Lab, broken: &Broken) -> u64 {
    let run = Run::of(lab);
    let Some(index) = run.trace.find(broken.event) else { return broken.event.0 };
    let says = |index: &usize| {
        run.trace.get(*index).is_some_and(|record| story::sentence(run, &record).is_some())
    };
    let causes = story::causes(run.cluster, run.trace, index, 5);
    let found = std::iter::once(index).chain(causes).find(says);
    let record = found.and_then(|index| run.trace.get(index));
    record.map_or(broken.event.0, |record| record.id.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Catalog, LANGUAGES};

    #[test]
    fn a_law_is_called_by_a_number_of_its_own() {
        let mut ids: Vec<&str> = LAWS.iter().map(|law| law.ids).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), LAWS.len());
    }

    #[test]
    fn every_law_has_its_sentence() {
        for language in LANGUAGES {
            let catalog = Catalog::of(language);
            for law in LAWS {
                assert!(catalog.has(law.key), "{}", law.key);
                if let Real::ByChoice(key) | Real::Releases(_, key) | Real::While(_, key) = law.real
                {
                    assert!(catalog.has(key), "{key}");
                }
            }
        }
    }
}

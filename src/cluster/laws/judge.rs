//! The judge: watches a run from its beginning, and remembers which laws are broken, and since
//! when.
//!
//! What is told is judged with every record. States are judged with every record in random runs,
//! where whatever is found ends the run; live, every second or few, which costs little, and whoever
//! plays the recording then looks for the very event.
//!
//! *Invariant:* a verdict follows from the records before it, however one came to them.

use super::{Check, LAWS, Law, Seen, Witness, zk};
use crate::cluster::{Cluster, Record, Trace};
use crate::kafka::release::Release;
use crate::sim::{EventId, ProcessId, SimTime, Span, What};
use crate::zk::database::Database;
use crate::zk::zxid::Zxid;

/// A law that was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The law's name.
    pub law: &'static str,
    /// The event after which it was found broken.
    pub after: Option<EventId>,
    /// What was seen.
    pub what: String,
}

/// A law that is broken, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its place in [`LAWS`].
    pub law: usize,
    /// Since when.
    pub at: SimTime,
    /// By which event.
    pub event: EventId,
    /// What was seen.
    pub what: String,
    /// How often it was broken anew.
    pub times: u32,
    /// Since when it holds again.
    pub healed: Option<SimTime>,
}

/// Watches a run from its beginning.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    pub(super) seen: Seen,
    broken: Vec<Broken>,
    /// When all was looked at last, and how many records lay before that.
    looked: (SimTime, usize),
    /// How many records have come since.
    unlooked: u32,
    /// How far the trees had come then.
    zxid: Zxid,
    /// Whose laws are demanded; of the newest, if nobody has said.
    release: Option<Release>,
    /// The laws that were broken as real clusters of that release break them.
    real: Vec<usize>,
}

/// How long states are left alone at least.
const EVERY: Span = Span::secs(1);
/// Where this begins anew, they are looked at in any case.
const ROUND: Span = Span::secs(4);
/// How many records are worth a look: it costs about as much as playing a few hundred.
const WORTH: u32 = 4096;
/// Where this begins anew, whole trees are compared, too.
const COMPARING: Span = Span::secs(8);

/// Which laws, by their places, and what was seen.
type Found = Vec<(usize, String)>;

impl Judge {
    /// One that demands of a random run what real clusters of that release keep.
    pub fn of(release: Release) -> Judge {
        Judge { release: Some(release), ..Judge::default() }
    }

    /// The laws that were broken, and that real clusters of the release break too.
    pub fn broken_as_in_reality(&self) -> impl Iterator<Item = &'static Law> {
        self.real.iter().map(|law| &LAWS[*law])
    }

    /// Checks the laws about single records, and those about the states that one may have changed.
    pub fn record(
        &mut self,
        record: &Record<'_>,
        cluster: &Cluster,
        trace: &Trace,
    ) -> Result<(), Breach> {
        self.see(record, cluster);
        let mut found = Found::new();
        self.told(record, cluster, trace, &mut found);
        if let Some(process) = record.process {
            self.process(process, cluster, &mut found);
            if cluster.process(process).zk().is_some() {
                servers(cluster, &mut found);
            }
        }
        self.first(found, Some(record.id), cluster)
    }

    /// Checks the laws about the whole cluster.
    pub fn rest(&mut self, cluster: &Cluster) -> Result<(), Breach> {
        let mut found = Found::new();
        zk::databases(cluster)
            .for_each(|(name, database)| tree(name, database, Zxid::default(), &mut found));
        self.whole(cluster, &mut found);
        resting_servers(cluster, &mut found);
        self.first(found, None, cluster)
    }

    /// Looks on, and remembers what is broken. If it was time to look at all states, the laws that
    /// were found broken by that only now: they may have been since the look before.
    pub fn watch(
        &mut self,
        record: &Record<'_>,
        cluster: &Cluster,
        trace: &Trace,
    ) -> Option<Vec<usize>> {
        self.see(record, cluster);
        if !record.entries.is_empty() {
            let mut found = Found::new();
            self.told(record, cluster, trace, &mut found);
            found.into_iter().for_each(|(law, what)| self.note(law, what, record));
        }
        if !self.is_time_to_look(record.at) {
            return None;
        }
        let mut found = Found::new();
        self.states(cluster, &mut found);
        let is_known = |law: usize| {
            self.broken.iter().any(|broken| broken.law == law && broken.healed.is_none())
        };
        let new = found.iter().map(|(law, _)| *law).filter(|law| !is_known(*law)).collect();
        self.heal(&found, record.at);
        found.into_iter().for_each(|(law, what)| self.note(law, what, record));
        Some(new)
    }

    /// Whether a look at all states is due.
    fn is_time_to_look(&mut self, now: SimTime) -> bool {
        self.unlooked += 1;
        let last = self.looked.0;
        now >= last + EVERY && (self.unlooked >= WORTH || begins_between(last, now, ROUND))
    }

    /// That all has been looked at.
    pub fn looked(&mut self, at: SimTime, position: usize) {
        (self.looked, self.unlooked) = ((at, position), 0);
    }

    /// How many records lay before the last look at all.
    pub fn looked_at(&self) -> usize {
        self.looked.1
    }

    /// Whether this law about states is broken here.
    pub fn is_broken(&self, law: usize, cluster: &Cluster) -> bool {
        if let Check::RestingServers(check) = LAWS[law].check {
            return check(&zk::subjects(cluster)).is_err();
        }
        let mut found = Found::new();
        self.clone().states(cluster, &mut found);
        found.iter().any(|(found, _)| *found == law)
    }

    /// A law was broken by this event, earlier than it was found.
    pub fn date(&mut self, law: usize, event: EventId, at: SimTime) {
        if let Some(broken) = self.broken.iter_mut().find(|broken| broken.law == law) {
            (broken.event, broken.at) = (event, at);
        }
    }

    /// The laws that are broken, or were.
    pub fn broken(&self) -> &[Broken] {
        &self.broken
    }

    /// The first that real clusters do not break, of that release and where this one is.
    fn first(
        &mut self,
        found: Found,
        after: Option<EventId>,
        cluster: &Cluster,
    ) -> Result<(), Breach> {
        let release = self.release.unwrap_or(Release::V3_9_1);
        for (law, what) in found {
            if !LAWS[law].is_broken_by(release, cluster) {
                return Err(Breach { law: LAWS[law].name, after, what });
            }
            if !self.real.contains(&law) {
                self.real.push(law);
            }
        }
        Ok(())
    }

    fn note(&mut self, law: usize, what: String, record: &Record<'_>) {
        let (at, event) = (record.at, record.id);
        let now = Broken { law, at, event, what, times: 1, healed: None };
        match self.broken.iter_mut().find(|broken| broken.law == law) {
            Some(known) if known.healed.is_some() => *known = now,
            Some(known) if LAWS[law].is_told() => known.times += 1,
            Some(_) => {}
            None => self.broken.push(now),
        }
    }

    /// Laws about states that hold again.
    fn heal(&mut self, found: &Found, at: SimTime) {
        for broken in self.broken.iter_mut().filter(|broken| !LAWS[broken.law].is_told()) {
            if broken.healed.is_none() && !found.iter().any(|(law, _)| *law == broken.law) {
                broken.healed = Some(at);
            }
        }
    }

    /// Takes note of what nobody tells.
    fn see(&mut self, record: &Record<'_>, cluster: &Cluster) {
        if record.what == What::Command {
            self.seen.disturbed = Some(record.at);
        }
        if let Some(process) = record.process {
            super::kafka::see_counts(&mut self.seen, process, cluster);
            super::histories::see(&mut self.seen.past, record, cluster);
        }
    }

    fn told(&mut self, record: &Record<'_>, cluster: &Cluster, trace: &Trace, found: &mut Found) {
        let states = super::znodes::states_written(record, cluster);
        let witness = Witness { record, cluster, trace, states };
        for (place, law) in LAWS.iter().enumerate() {
            if let Check::Record(check) = law.check {
                found.extend(check(&mut self.seen, &witness).err().map(|what| (place, what)));
            }
        }
        super::znodes::remember(&mut self.seen, witness);
    }

    fn process(&mut self, process: ProcessId, cluster: &Cluster, found: &mut Found) {
        for (place, law) in LAWS.iter().enumerate() {
            if let Check::Process(check) = law.check {
                let verdict = check(&mut self.seen, process, cluster);
                found.extend(verdict.err().map(|what| (place, what)));
            }
        }
    }

    fn whole(&mut self, cluster: &Cluster, found: &mut Found) {
        for (place, law) in LAWS.iter().enumerate() {
            if let Check::Rest(check) = law.check {
                found.extend(check(&mut self.seen, cluster).err().map(|what| (place, what)));
            }
        }
    }

    /// All laws about states; those about trees only where these have changed.
    fn states(&mut self, cluster: &Cluster, found: &mut Found) {
        for (process, _, _) in cluster.processes() {
            self.process(process, cluster, found);
        }
        servers(cluster, found);
        self.whole(cluster, found);
        let last = zk::databases(cluster).max_by_key(|(_, database)| database.last_zxid);
        let Some((name, database)) = last else { return };
        let still = |broken: &Broken| broken.healed.is_none() && LAWS[broken.law].is_of_trees();
        let is_open = self.broken.iter().any(still);
        let since = if is_open { Zxid::default() } else { self.zxid };
        if database.last_zxid != since {
            self.zxid = database.last_zxid;
            tree(name, database, since, found);
        }
        if is_open || begins_between(self.looked.0, cluster.now(), COMPARING) {
            resting_servers(cluster, found);
        }
    }
}

/// Whether a new round of that length begins after the one moment and until the other.
fn begins_between(one: SimTime, other: SimTime, round: Span) -> bool {
    one.as_ms() / round.as_ms() < other.as_ms() / round.as_ms()
}

impl Law {
    /// Whether it is about what is told: then it is not healed by what comes after.
    fn is_told(&self) -> bool {
        matches!(self.check, Check::Record(_))
    }

    fn is_of_trees(&self) -> bool {
        matches!(self.check, Check::Tree(_) | Check::RestingServers(_))
    }
}

fn servers(cluster: &Cluster, found: &mut Found) {
    let subjects = zk::subjects(cluster);
    for (place, law) in LAWS.iter().enumerate() {
        if let Check::Servers(check) = law.check {
            found.extend(check(&subjects).err().map(|what| (place, what)));
        }
    }
}

fn resting_servers(cluster: &Cluster, found: &mut Found) {
    let subjects = zk::subjects(cluster);
    for (place, law) in LAWS.iter().enumerate() {
        if let Check::RestingServers(check) = law.check {
            found.extend(check(&subjects).err().map(|what| (place, what)));
        }
    }
}

fn tree(name: &str, database: &Database, since: Zxid, found: &mut Found) {
    for (place, law) in LAWS.iter().enumerate() {
        if let Check::Tree(check) = law.check {
            found.extend(check(name, database, since).err().map(|what| (place, what)));
        }
    }
}

//! The lookout: when the next event worth seeing comes, found out by running a copy ahead.
//!
//! The event pace needs to know what is coming, to brake in time. The copy is thrown away when the
//! run takes another turn. *Invariant:* looking out changes nothing of the lab.

use super::lesson::Condition;
use super::points::is_met;
use super::timeline::Lab;
use super::{TakeId, importance_in};
use crate::cluster::{Cluster, Record, Trace};
use crate::sim::{Moment, SimTime, Span};

/// How far ahead it looks in one go: a few frames' worth of a busy cluster.
const EVENTS_AT_ONCE: u32 = 600;
/// Nothing within this time: no need to brake.
const HORIZON: Span = Span::secs(60);

/// A copy of the run, some way ahead of the cursor.
#[derive(Clone, Debug, Default)]
pub struct Lookout {
    ahead: Option<Ahead>,
    worth: Worth,
}

/// What is worth a stop: what weighs enough, and what is waited for by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worth {
    /// Facts of at least this importance.
    pub least: u8,
    /// A fact that a story is watched for.
    pub point: Option<Condition>,
}

impl Worth {
    /// Whether a record is worth a stop.
    pub fn holds(&self, cluster: &Cluster, record: &Record<'_>) -> bool {
        self.point.as_ref().is_some_and(|point| is_met(point, record))
            || record.facts().any(|fact| importance_in(cluster, fact) >= self.least)
    }
}

#[derive(Clone, Debug)]
struct Ahead {
    /// The take and how many commands it has: what the copy was made of.
    of: (TakeId, usize),
    copy: Cluster,
    trace: Trace,
    found: Option<SimTime>,
}

impl Lookout {
    /// A lookout for facts of at least this importance.
    pub fn new(least: u8) -> Lookout {
        Lookout { ahead: None, worth: Worth { least, point: None } }
    }

    /// Looks out for this fact too, whatever its importance.
    pub fn look_for(&mut self, point: Option<Condition>) {
        if self.worth.point != point {
            self.worth.point = point;
            self.ahead = None;
        }
    }

    /// What it looks out for.
    pub fn worth(&self) -> &Worth {
        &self.worth
    }

    /// When the next event worth seeing comes after the cursor; none if that is not known yet or
    /// too far away to matter.
    pub fn next(&mut self, lab: &Lab) -> Option<SimTime> {
        let now = lab.moment().at;
        let due = lab.due().map(|due| due.at);
        let of = (lab.current(), lab.commands());
        let fits =
            |ahead: &Ahead| ahead.of == of && (ahead.copy.now() > now || ahead.found == Some(now));
        let stale = !self.ahead.as_ref().is_some_and(fits);
        if stale {
            let (copy, trace) = (lab.cluster().clone(), Trace::default());
            self.ahead = Some(Ahead { of, copy, trace, found: None });
        }
        let ahead = self.ahead.as_mut().expect("just made, if it was not there");
        if ahead.found.is_none_or(|found| found <= now) {
            ahead.search(&self.worth, now + HORIZON);
        }
        [ahead.found, due].into_iter().flatten().filter(|at| *at > now).min()
    }
}

impl Ahead {
    fn search(&mut self, worth: &Worth, limit: SimTime) {
        self.found = None;
        for _ in 0..EVENTS_AT_ONCE {
            self.trace.truncate(0);
            if self.copy.step_before(Moment::after(limit), &mut self.trace).is_none() {
                return;
            }
            let found = self.trace.get(0).is_some_and(|r| worth.holds(&self.copy, &r));
            if found {
                self.found = Some(self.copy.now());
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Command, Setup};
    use crate::lab::Recording;

    fn lab() -> Lab {
        let mut lab = Lab::new(Recording::new(Setup::default()));
        lab.advance_to(SimTime::ZERO + Span::secs(20));
        lab
    }

    fn found(lookout: &mut Lookout, lab: &Lab) -> Option<SimTime> {
        (0..200).find_map(|_| lookout.next(lab))
    }

    #[test]
    fn the_end_of_a_dead_broker_s_session_is_seen_coming() {
        let mut lab = lab();
        let kill = Command::parse(1, "kill broker1").expect("this is a command");
        lab.issue(kill).expect("broker 1 runs");
        let mut lookout = Lookout::new(3);
        let at = found(&mut lookout, &lab).expect("the session will expire");
        let hash = lab.cluster().hash();
        lab.step_to(3, Span::secs(60)).expect("it comes");
        assert_eq!(lab.moment().at, at);
        assert_ne!(lab.cluster().hash(), hash, "the lab itself had not moved before");
    }

    #[test]
    fn a_command_makes_it_look_again() {
        let mut lab = lab();
        let mut lookout = Lookout::new(3);
        let quiet = found(&mut lookout, &lab);
        let kill = Command::parse(1, "kill broker1").expect("this is a command");
        lab.issue(kill).expect("broker 1 runs");
        assert_ne!(found(&mut lookout, &lab), quiet);
    }
}

//! The purgatory: requests that wait for a partition to move, or for their time to be over.
//!
//! *Invariant: the timer is armed for the first deadline.*

use std::sync::Arc;

use super::reading::{has_some, reader_of};
use super::{Replicas, Waiter, WaitingFetch, WaitingProduce};
use crate::kafka::broker::Turn;
use crate::kafka::id::TopicPartition;
use crate::kafka::words::BrokerTimer;
use crate::sim::{ProcessId, SimTime};

impl Replicas {
    pub(super) fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Arms the purgatory's timer, if nothing there is due earlier.
    pub(super) fn arm(&self, deadline: SimTime, turn: &mut Turn<'_, '_>) {
        let fetches = self.fetches.values().map(|waiting| waiting.deadline);
        let produces = self.produces.values().map(|waiting| waiting.deadline);
        let first = fetches.chain(produces).min();
        if first.is_some_and(|first| first >= deadline) {
            turn.out.arm(BrokerTimer::Purgatory, deadline.since(turn.out.now()));
        }
    }

    /// A partition has moved: looks at all that wait for it.
    pub(super) fn wake(&mut self, tp: &TopicPartition, turn: &mut Turn<'_, '_>) {
        let (partition, release) = (self.partitions.get(tp), turn.settings.release);
        // What a fetch asks of other partitions has not moved: it would have been looked at then.
        let is_ready = |waiting: &WaitingFetch| {
            let asked = waiting.fetch.part(tp);
            asked.is_some_and(|asked| {
                partition.is_none_or(|p| has_some(p, asked, reader_of(&waiting.fetch), release))
            })
        };
        let ready = self.fetches.iter().filter(|(_, waiting)| is_ready(waiting));
        let ready: Vec<u64> = ready.map(|(&number, _)| number).collect();
        for number in ready {
            let waiting = self.fetches.remove(&number).expect("it was just there");
            let WaitingFetch { caller, fetch, .. } = Arc::unwrap_or_clone(waiting);
            self.answer_fetch(caller, fetch, turn);
        }
        let concerned = |waiting: &WaitingProduce| waiting.parts.iter().any(|(of, _)| of == tp);
        let produces = self.produces.iter().filter(|(_, waiting)| concerned(waiting));
        let produces: Vec<u64> = produces.map(|(&number, _)| number).collect();
        for number in produces {
            self.try_produce(number, turn);
        }
    }

    /// Answers what has waited long enough.
    pub fn purge(&mut self, turn: &mut Turn<'_, '_>) {
        let now = turn.out.now();
        let due = self.fetches.iter().filter(|(_, waiting)| waiting.deadline <= now);
        let due: Vec<u64> = due.map(|(&number, _)| number).collect();
        for number in due {
            let waiting = self.fetches.remove(&number).expect("it was just there");
            let WaitingFetch { caller, fetch, .. } = Arc::unwrap_or_clone(waiting);
            self.answer_fetch(caller, fetch, turn);
        }
        let due = self.produces.iter().filter(|(_, waiting)| waiting.deadline <= now);
        let due: Vec<u64> = due.map(|(&number, _)| number).collect();
        for number in due {
            let waiting = self.produces.remove(&number).expect("it was just there");
            self.answer_produce(waiting, turn);
        }
        let fetches = self.fetches.values().map(|waiting| waiting.deadline);
        let produces = self.produces.values().map(|waiting| waiting.deadline);
        if let Some(next) = fetches.chain(produces).min() {
            turn.out.arm(BrokerTimer::Purgatory, next.since(now));
        }
    }

    /// A process that waited is gone.
    pub fn hung_up(&mut self, process: ProcessId) {
        self.fetches.retain(|_, waiting| waiting.caller.process != process);
        self.produces.retain(|_, waiting| match &waiting.waiter {
            Waiter::Client(caller) => caller.process != process,
            Waiter::Groups(_) | Waiter::Transactions(_) | Waiter::Markers(..) => true,
        });
    }
}

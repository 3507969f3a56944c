//! The queue: everything that is going to happen. It is the network, too: a message in flight is an
//! entry that knows when it left and when it lands.
//!
//! *Invariant:* entries come out by time, then by [`EventId`].

use super::process::Vocabulary;
use super::time::{EventId, ProcessId, SimTime};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is going to happen.
#[derive(Clone, Debug, Hash)]
pub(super) enum Pending<W: Vocabulary> {
    Boot { process: ProcessId, incarnation: u32 },
    Timer { process: ProcessId, timer: W::Timer },
    Written { process: ProcessId, incarnation: u32, write: W::Write },
    Request { process: ProcessId, request: W::Request },
    Message { from: ProcessId, to: ProcessId, view: u32, message: W::Message },
    Hangup { from: ProcessId, to: ProcessId, closing: u32 },
}

/// One entry of the queue.
#[derive(Clone, Debug, Hash)]
pub(super) struct Scheduled<W: Vocabulary> {
    pub(super) id: EventId,
    /// When it happens; `NEVER` while a cut link holds it or a frozen process does.
    pub(super) at: SimTime,
    /// When it was scheduled.
    pub(super) since: SimTime,
    pub(super) cause: EventId,
    pub(super) pending: Pending<W>,
}

/// A message on its way, as pictures see it.
#[derive(Clone, Copy, Debug)]
pub struct Flight<'a, M> {
    /// The event it will be.
    pub id: EventId,
    /// The event during which it was sent.
    pub cause: EventId,
    /// Who sent it.
    pub from: ProcessId,
    /// Who will get it.
    pub to: ProcessId,
    /// When it left.
    pub sent_at: SimTime,
    /// When it arrives.
    pub landing: Landing,
    /// What it says.
    pub message: &'a M,
}

/// When a message arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// At this time.
    At(SimTime),
    /// Not before the cable is healed or the receiver is thawed.
    Held,
}

#[derive(Clone, Debug)]
pub(super) struct Queue<W: Vocabulary> {
    heap: BinaryHeap<Reverse<(SimTime, EventId, u32)>>,
    slots: Vec<Option<Scheduled<W>>>,
    free: Vec<u32>,
}

impl<W: Vocabulary> Queue<W> {
    pub(super) fn new() -> Self {
        Queue { heap: BinaryHeap::new(), slots: Vec::new(), free: Vec::new() }
    }

    pub(super) fn push(&mut self, scheduled: Scheduled<W>) {
        let (at, id) = (scheduled.at, scheduled.id);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(scheduled);
                slot
            }
            None => {
                self.slots.push(Some(scheduled));
                self.slots.len() as u32 - 1
            }
        };
        self.schedule(at, id, slot);
    }

    /// When the next entry happens.
    pub(super) fn next_at(&mut self) -> Option<SimTime> {
        self.forget_stale();
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Takes the next entry out.
    pub(super) fn pop(&mut self) -> Option<Scheduled<W>> {
        self.forget_stale();
        let Reverse((_, _, slot)) = self.heap.pop()?;
        self.free.push(slot);
        self.slots[slot as usize].take()
    }

    /// Entries that were moved leave their old place in the heap behind; drops those on top.
    fn forget_stale(&mut self) {
        while let Some(Reverse((at, id, slot))) = self.heap.peek() {
            let entry = self.slots[*slot as usize].as_ref();
            if entry.is_some_and(|entry| entry.id == *id && entry.at == *at) {
                return;
            }
            self.heap.pop();
        }
    }

    /// Moves every entry that `chosen` picks to the time it gives.
    pub(super) fn reschedule(&mut self, mut chosen: impl FnMut(&Scheduled<W>) -> Option<SimTime>) {
        for slot in 0..self.slots.len() {
            let Some(entry) = &mut self.slots[slot] else { continue };
            let Some(at) = chosen(entry) else { continue };
            entry.at = at;
            let id = entry.id;
            self.schedule(at, id, slot as u32);
        }
    }

    /// Takes out every entry that `chosen` picks.
    pub(super) fn remove(&mut self, mut chosen: impl FnMut(&Scheduled<W>) -> bool) {
        for slot in 0..self.slots.len() {
            if self.slots[slot].as_ref().is_some_and(&mut chosen) {
                self.slots[slot] = None;
                self.free.push(slot as u32);
            }
        }
    }

    fn schedule(&mut self, at: SimTime, id: EventId, slot: u32) {
        if at != SimTime::NEVER {
            self.heap.push(Reverse((at, id, slot)));
        }
    }

    /// Everything in the queue, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Scheduled<W>> {
        self.slots.iter().flatten()
    }

    /// The messages on their way.
    pub(super) fn flights(&self) -> impl Iterator<Item = Flight<'_, W::Message>> {
        self.entries().filter_map(|entry| {
            let Pending::Message { from, to, message, .. } = &entry.pending else { return None };
            Some(Flight {
                id: entry.id,
                cause: entry.cause,
                from: *from,
                to: *to,
                sent_at: entry.since,
                landing: match entry.at {
                    SimTime::NEVER => Landing::Held,
                    at => Landing::At(at),
                },
                message,
            })
        })
    }
}

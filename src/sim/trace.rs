//! The trace: one packed record per event, in the order in which they happened.
//!
//! A record says when, where, caused by what, and what the process told; message bodies are not
//! kept (they are played again when somebody looks). The trace is a cache of the recording.
//! *Invariant:* 32 bytes a record and no allocation of its own; facts and draws lie in one arena.

use std::hash::{Hash, Hasher};

use super::chance::Draw;
use super::hash::StableHasher;
use super::ord_map::OrdMap;
use super::process::{Event, Vocabulary};
use super::time::{EventId, ProcessId, SimTime};

/// What kind of event a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A process was started.
    Boot,
    /// A message of this process arrived.
    Message(ProcessId),
    /// The connection with this process ended.
    Hangup(ProcessId),
    /// A timer ran out.
    Timer,
    /// A write reached the disk.
    Written,
    /// A request from outside was taken.
    Request,
    /// Somebody outside gave a command.
    Command,
}

/// What was told or drawn during one event.
#[derive(Clone, Debug)]
pub enum Entry<W: Vocabulary> {
    /// A fact.
    Fact(W::Fact),
    /// A draw and its outcome.
    Draw(Draw, u64),
    /// A second cause.
    Because(EventId),
}

/// One record of the trace.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a, W: Vocabulary> {
    /// Its event.
    pub id: EventId,
    /// When it happened.
    pub at: SimTime,
    /// Where; none for commands that are about no process.
    pub process: Option<ProcessId>,
    /// The event during which this one was scheduled.
    pub cause: Option<EventId>,
    /// What kind of event.
    pub what: What,
    /// The name of the message, timer, request or command.
    pub name: &'static str,
    /// What was told and drawn.
    pub entries: &'a [Entry<W>],
}

impl<'a, W: Vocabulary> Record<'a, W> {
    /// The facts told.
    pub fn facts(&self) -> impl Iterator<Item = &'a W::Fact> + use<'a, W> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Fact(fact) => Some(fact),
            _ => None,
        })
    }

    /// All causes, the second ones after the first.
    pub fn causes(&self) -> impl Iterator<Item = EventId> {
        let more = self.entries.iter().filter_map(|entry| match entry {
            Entry::Because(event) => Some(*event),
            _ => None,
        });
        self.cause.into_iter().chain(more)
    }
}

#[derive(Clone, Copy, Debug)]
struct Packed {
    at: u64,
    id: u32,
    cause: u32,
    entries: u32,
    process: u16,
    peer: u16,
    name: u16,
    what: u8,
}

const NOBODY: u16 = u16::MAX;
const RECENT: usize = 256;
const NOWHERE: u32 = u32::MAX;

/// The records of a run so far.
#[derive(Clone, Debug)]
pub struct Trace<W: Vocabulary> {
    records: Vec<Packed>,
    entries: Vec<Entry<W>>,
    names: Vec<&'static str>,
    /// By length and name: most names are told apart without being read.
    numbers: OrdMap<(usize, &'static str), u16>,
    // What a name's number was, by where its text lies: it only saves looking it up in `numbers`.
    recent: [u16; RECENT],
    /// By event id: the index of its record.
    places: Vec<u32>,
}

impl<W: Vocabulary> Default for Trace<W> {
    fn default() -> Self {
        Trace {
            records: Vec::new(),
            entries: Vec::new(),
            names: Vec::new(),
            numbers: OrdMap::new(),
            recent: [0; RECENT],
            places: Vec::new(),
        }
    }
}

/// The kind and the name of an event, read before the process takes it.
pub(super) fn heading<W: Vocabulary>(event: &Event<W>) -> (What, &'static str) {
    match event {
        Event::Boot => (What::Boot, "boot"),
        Event::Message { from, message } => (What::Message(*from), W::message_name(message)),
        Event::Hangup { peer } => (What::Hangup(*peer), "hangup"),
        Event::Timer(timer) => (What::Timer, W::timer_name(timer)),
        Event::Written(_) => (What::Written, "written"),
        Event::Failed(_) => (What::Written, "write-failed"),
        Event::Request(request) => (What::Request, W::request_name(request)),
    }
}

/// What a new record needs beside its entries.
pub(super) struct Heading {
    pub(super) id: EventId,
    pub(super) at: SimTime,
    pub(super) process: Option<ProcessId>,
    pub(super) cause: EventId,
    pub(super) what: What,
    pub(super) name: &'static str,
}

impl<W: Vocabulary> Trace<W> {
    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The record at `index`.
    pub fn get(&self, index: usize) -> Option<Record<'_, W>> {
        let packed = self.records.get(index)?;
        let end = self.records.get(index + 1).map_or(self.entries.len(), |r| r.entries as usize);
        Some(Record {
            id: EventId(u64::from(packed.id)),
            at: SimTime::micros(packed.at),
            process: (packed.process != NOBODY).then_some(ProcessId(packed.process)),
            cause: (packed.cause != 0).then_some(EventId(u64::from(packed.cause))),
            what: unpack_what(packed),
            name: self.names[packed.name as usize],
            entries: &self.entries[packed.entries as usize..end],
        })
    }

    /// The index of the record of event `id`, if it has happened.
    pub fn find(&self, id: EventId) -> Option<usize> {
        let place = *self.places.get(id.0 as usize)?;
        (place != NOWHERE).then_some(place as usize)
    }

    /// All records from `index` on.
    pub fn since(&self, index: usize) -> impl DoubleEndedIterator<Item = Record<'_, W>> {
        (index..self.len()).map(|index| self.get(index).expect("the index is in range"))
    }

    /// All records.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Record<'_, W>> {
        self.since(0)
    }

    /// Forgets every record from `len` on.
    pub fn truncate(&mut self, len: usize) {
        let Some(first) = self.records.get(len) else { return };
        self.entries.truncate(first.entries as usize);
        for record in self.records.drain(len..) {
            self.places[record.id as usize] = NOWHERE;
        }
    }

    /// Bytes held, for budgets.
    pub fn bytes(&self) -> usize {
        self.records.len() * size_of::<Packed>()
            + self.entries.len() * size_of::<Entry<W>>()
            + self.places.len() * size_of::<u32>()
    }

    /// The run hash: over every record's id, time, process and facts in notation.
    pub fn hash(&self) -> u64 {
        let mut hasher = StableHasher::default();
        for record in self.iter() {
            (record.id, record.at, record.process).hash(&mut hasher);
            for fact in record.facts() {
                fact.to_string().hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    pub(super) fn push(&mut self, heading: &Heading, entries: impl IntoIterator<Item = Entry<W>>) {
        let (what, peer) = pack_what(heading.what);
        let packed = Packed {
            at: heading.at.as_micros(),
            id: packed_id(heading.id),
            cause: packed_id(heading.cause),
            entries: u32::try_from(self.entries.len())
                .expect("fewer than 2^32 facts fit in memory"),
            process: heading.process.map_or(NOBODY, |process| process.0),
            peer,
            name: self.number(heading.name),
            what,
        };
        let place = self.records.len() as u32;
        if self.places.len() <= packed.id as usize {
            self.places.resize(packed.id as usize + 1, NOWHERE);
        }
        self.places[packed.id as usize] = place;
        self.records.push(packed);
        self.entries.extend(entries);
    }

    fn number(&mut self, name: &'static str) -> u16 {
        let recent = &mut self.recent[name.as_ptr() as usize / 8 % RECENT];
        if self.names.get(*recent as usize).is_some_and(|known| std::ptr::eq(*known, name)) {
            return *recent;
        }
        if let Some(number) = self.numbers.get(&(name.len(), name)) {
            *recent = *number;
            return *number;
        }
        let number = self.names.len() as u16;
        self.names.push(name);
        self.numbers.insert((name.len(), name), number);
        number
    }
}

fn packed_id(id: EventId) -> u32 {
    u32::try_from(id.0).expect("a run of four thousand million events does not fit in memory")
}

fn pack_what(what: What) -> (u8, u16) {
    match what {
        What::Boot => (0, NOBODY),
        What::Message(from) => (1, from.0),
        What::Hangup(peer) => (2, peer.0),
        What::Timer => (3, NOBODY),
        What::Written => (4, NOBODY),
        What::Request => (5, NOBODY),
        What::Command => (6, NOBODY),
    }
}

fn unpack_what(packed: &Packed) -> What {
    match packed.what {
        0 => What::Boot,
        1 => What::Message(ProcessId(packed.peer)),
        2 => What::Hangup(ProcessId(packed.peer)),
        3 => What::Timer,
        4 => What::Written,
        5 => What::Request,
        _ => What::Command,
    }
}

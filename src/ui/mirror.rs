//! The mirror: the one holder of the lab. It notes what has moved since it last looked, and tells
//! only those who watch that.
//!
//! What crosses the border are revisions: one a process, one of the trace, one of the clock. The
//! mirror holds event ids, never a process, so that the run copies nothing while it advances.
//! *Invariant:* whoever changes the lab does it through [`Mirror::change`] or [`Mirror::send`].

use std::time::Duration;

use leptos::prelude::*;

use crate::cluster::{AnyProcess, Cluster, Command};
use crate::lab::{Lab, Recording};
use crate::sim::{EventId, ProcessId, SimTime};

/// The mirror. It is copied freely: what it holds lives as long as the page.
#[derive(Clone, Copy)]
pub struct Mirror {
    lab: StoredValue<Lab, LocalStorage>,
    processes: StoredValue<Vec<Seen>>,
    cast: Trigger,
    trace: Trigger,
    position: StoredValue<(usize, u16)>,
    run: StoredValue<u16>,
    tenths: RwSignal<u64>,
    refusal: RwSignal<Option<String>>,
    /// Of which run and take how many commands that could not be done have been told.
    not_done: StoredValue<((u16, u16), usize)>,
    /// What was said of the refusal stays until somebody has read it.
    pub lasting: RwSignal<Option<String>>,
}

/// What was seen of a process.
struct Seen {
    last: EventId,
    moved: Trigger,
}

impl Mirror {
    /// A mirror of this lab.
    pub fn new(lab: Lab) -> Mirror {
        let mirror = Mirror {
            lab: StoredValue::new_local(lab),
            processes: StoredValue::new(Vec::new()),
            cast: Trigger::new(),
            trace: Trigger::new(),
            position: StoredValue::new((0, 0)),
            run: StoredValue::new(0),
            tenths: RwSignal::new(0),
            refusal: RwSignal::new(None),
            not_done: StoredValue::new(((0, 0), 0)),
            lasting: RwSignal::new(None),
        };
        mirror.look();
        mirror
    }

    /// Reads the lab. Whoever wants to be told of changes tracks what it reads.
    pub fn with<T>(self, read: impl FnOnce(&Lab) -> T) -> T {
        self.lab.with_value(read)
    }

    /// Reads the cluster at the cursor.
    pub fn cluster<T>(self, read: impl FnOnce(&Cluster) -> T) -> T {
        self.with(|lab| read(lab.cluster()))
    }

    /// Reads a process, and is told when it has moved.
    pub fn process<T>(self, id: ProcessId, read: impl FnOnce(&AnyProcess) -> T) -> T {
        self.track(id);
        self.cluster(|cluster| read(cluster.process(id)))
    }

    /// Is told when this process has moved.
    pub fn track(self, id: ProcessId) {
        self.cast.track();
        self.processes.with_value(|seen| {
            if let Some(seen) = seen.get(usize::from(id.0)) {
                seen.moved.track();
            }
        });
    }

    /// Is told when anything has happened, or the cursor has gone elsewhere.
    pub fn track_trace(self) {
        self.trace.track();
    }

    /// The time at the cursor in tenths of a second; whoever reads it is told when it changes.
    pub fn tenths(self) -> u64 {
        self.tenths.get()
    }

    /// The time at the cursor, untracked.
    pub fn now(self) -> SimTime {
        self.with(|lab| lab.moment().at)
    }

    /// Why the last command could not be done, if it could not.
    pub fn refusal(self) -> Option<String> {
        self.refusal.get()
    }

    /// Says why something that was asked for could not be done.
    ///
    /// It is shown for a while, or until something else can be done.
    pub fn refuse(self, reason: String) {
        const SHOWN: Duration = Duration::from_secs(6);
        self.refusal.set(Some(reason.clone()));
        set_timeout(
            move || {
                if self.refusal.try_get_untracked().flatten() == Some(reason) {
                    self.refusal.set(None);
                }
            },
            SHOWN,
        );
    }

    /// What was said of something that could not be done is no news any more.
    pub fn hush(self) {
        if self.refusal.with_untracked(Option::is_some) {
            self.refusal.set(None);
        }
    }

    /// Changes the lab (advances it, moves the cursor, gives a command) and tells who watches.
    pub fn change<T>(self, change: impl FnOnce(&mut Lab) -> T) -> T {
        let answer = self.lab.try_update_value(change).expect("the lab lives as long as the page");
        self.look();
        answer
    }

    /// Begins another run in place of this one, at the moment that its recording says.
    pub fn begin(self, recording: Recording) {
        self.hush();
        self.run.update_value(|run| *run += 1);
        self.position.set_value((usize::MAX, 0));
        self.change(|lab| *lab = Lab::open(recording));
    }

    /// Which run this is, of those begun here, and which take of it.
    pub fn take(self) -> (u16, u16) {
        (self.run.get_value(), self.with(|lab| lab.current().0))
    }

    /// Gives a command by its script line, as a button or the console does.
    pub fn send(self, line: &str) {
        let outcome = match Command::parse(1, line) {
            Ok(command) => self.change(|lab| lab.issue(command)).map_err(|why| why.to_string()),
            Err(trouble) => Err(trouble.to_string()),
        };
        self.hush();
        if let Err(reason) = outcome {
            self.refuse(reason);
        }
    }

    /// Compares what is with what was seen, and notifies.
    fn look(self) {
        let moved = self.cluster(|cluster| self.processes_moved(cluster));
        for trigger in moved {
            trigger.notify();
        }
        let (position, tenths) = self.with(|lab| {
            let at = lab.moment().at.as_micros() / 100_000;
            ((lab.position(), lab.current().0), at)
        });
        if self.position.get_value() != position {
            self.position.set_value(position);
            self.trace.notify();
        }
        if self.tenths.get_untracked() != tenths {
            self.tenths.set(tenths);
        }
        self.tell_not_done();
    }

    /// Says what the recording holds and could not be done at its moment, once.
    fn tell_not_done(self) {
        let take = self.take();
        let (told_of, told) = self.not_done.get_value();
        let told = if told_of == take { told } else { 0 };
        let lines: Vec<String> = self.with(|lab| {
            lab.not_done().iter().skip(told).map(|not_done| not_done.to_string()).collect()
        });
        self.not_done.set_value((take, told + lines.len()));
        if !lines.is_empty() {
            self.refuse(lines.join(" · "));
        }
    }

    fn processes_moved(self, cluster: &Cluster) -> Vec<Trigger> {
        let ids: Vec<ProcessId> = cluster.processes().map(|(id, _, _)| id).collect();
        let mut moved = Vec::new();
        self.processes.update_value(|seen| {
            if seen.len() != ids.len() {
                seen.truncate(ids.len());
                let new = ids.len() - seen.len();
                seen.extend((0..new).map(|_| Seen { last: EventId(0), moved: Trigger::new() }));
                moved.push(self.cast);
            }
            for (seen, id) in seen.iter_mut().zip(ids) {
                let last = cluster.last_event(id);
                if last != seen.last {
                    seen.last = last;
                    moved.push(seen.moved);
                }
            }
        });
        moved
    }
}

/// The mirror of the page that is mounted.
pub fn use_mirror() -> Mirror {
    use_context().expect("the page provides its mirror before any panel")
}

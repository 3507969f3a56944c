//! The simulation: it takes the next event from the queue, lets its process handle it, carries out
//! the wishes, and leaves one record. Interventions from outside enter here too.
//!
//! *Invariant:* nothing else moves time or draws lots. `clone` is a snapshot that costs a few
//! pointers per process, and an untouched process keeps its address.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use super::chance::{Draw, Stream};
use super::fact::{KernelFact, ProcessName};
use super::link::{Direction, Link};
use super::outbox::{Effect, Outbox};
use super::process::{Event, Process, Vocabulary};
use super::queue::{Flight, Pending, Queue, Scheduled};
use super::seat::{Armed, Power, Room, Seat, TimerSlot};
use super::sort;
use super::time::{EventId, Moment, ProcessId, SimTime, Span};
use super::trace::{Entry, Heading, Trace, What, heading};

/// How long messages travel and how long a write takes, drawn for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    /// From sending to landing.
    pub latency: Range<Span>,
    /// From `write` to `Written`, once earlier writes are done.
    pub disk: Range<Span>,
}

impl Default for Network {
    /// One machine room: 0.4 to 1 ms between machines, 0.5 to 2 ms for a write to the disk.
    fn default() -> Self {
        let us = Span::micros;
        Network { latency: us(400)..us(1000), disk: us(500)..us(2000) }
    }
}

/// A simulation of processes of the kinds that `P` unites.
#[derive(Clone, Debug)]
pub struct Sim<P: Process> {
    seed: u64,
    network: Network,
    now: SimTime,
    done: u32,
    next_id: EventId,
    seats: Vec<Arc<Seat<P>>>,
    queue: Queue<P::Words>,
    scratch: Scratch<P::Words>,
}

/// Buffers that are empty between events, kept so that an event allocates nothing.
#[derive(Clone, Debug)]
struct Scratch<W: Vocabulary> {
    effects: Vec<Effect<W>>,
    draws: Vec<(Draw, u64)>,
    entries: Vec<Entry<W>>,
}

type Words<P> = <P as Process>::Words;
type Message<P> = <Words<P> as Vocabulary>::Message;

impl<P: Process> Sim<P> {
    /// An empty simulation at time zero.
    pub fn new(seed: u64, network: Network) -> Self {
        Sim {
            seed,
            network,
            now: SimTime::ZERO,
            done: 0,
            next_id: EventId(1),
            seats: Vec::new(),
            queue: Queue::new(),
            scratch: Scratch { effects: Vec::new(), draws: Vec::new(), entries: Vec::new() },
        }
    }

    /// Adds a process, which does not run yet. Its name must be new.
    pub fn add(&mut self, name: &str, process: P) -> ProcessId {
        assert!(self.find(name).is_none(), "the name {name} is taken");
        let id = ProcessId(u16::try_from(self.seats.len()).expect("fewer than 65,535 processes"));
        self.seats.push(Arc::new(Seat::new(self.seed, name.into(), process)));
        id
    }

    /// The simulated time.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// The moment between the events handled and those to come.
    pub fn moment(&self) -> Moment {
        Moment { at: self.now, done: self.done }
    }

    /// All processes, in the order in which they were added.
    pub fn processes(&self) -> impl Iterator<Item = (ProcessId, &str, &P)> {
        let ids = (0..).map(ProcessId);
        ids.zip(&self.seats).map(|(id, seat)| (id, &*seat.name, &seat.process))
    }

    /// The process `id`.
    pub fn process(&self, id: ProcessId) -> &P {
        &self.seats[id.index()].process
    }

    /// The name of the process `id`.
    pub fn name(&self, id: ProcessId) -> &Arc<str> {
        &self.seats[id.index()].name
    }

    /// The process of this name.
    pub fn find(&self, name: &str) -> Option<ProcessId> {
        let index = self.seats.iter().position(|seat| &*seat.name == name)?;
        Some(ProcessId(index as u16))
    }

    /// Whether the process runs.
    pub fn power(&self, id: ProcessId) -> Power {
        self.seats[id.index()].power
    }

    /// The event that the process handled last; equal ids mean an untouched process.
    pub fn last_event(&self, id: ProcessId) -> EventId {
        self.seats[id.index()].last_event
    }

    /// Whether the cable from `from` to `to` is cut in this direction.
    pub fn is_cut(&self, from: ProcessId, to: ProcessId) -> bool {
        self.seats[from.index()].link(to).is_some_and(|link| link.cut)
    }

    /// The hundredths of a second that the process's clock has shown for one, at its fastest.
    pub fn fastest_clock(&self, id: ProcessId) -> u32 {
        self.seats[id.index()].clock.fastest()
    }

    /// The hundredths of a second that the process's clock shows for one.
    pub fn clock_rate(&self, id: ProcessId) -> u32 {
        self.seats[id.index()].clock.rate_percent()
    }

    /// When the clock of a process will show `at`; now, if it has shown it already.
    pub fn when_clock_shows(&self, id: ProcessId, at: SimTime) -> SimTime {
        let clock = &self.seats[id.index()].clock;
        self.now + clock.lasting(at.since(clock.read(self.now).min(at)))
    }

    /// Whether a process's disk has room, and how much longer each write takes than it should.
    pub fn disk(&self, id: ProcessId) -> (Room, Span) {
        let disk = &self.seats[id.index()].disk;
        (disk.room, disk.slowed_by)
    }

    /// Whether any cable is cut, be it in one direction.
    pub fn has_cuts(&self) -> bool {
        self.seats.iter().any(|seat| seat.links.iter().any(|link| link.cut))
    }

    /// The messages on their way, in no order.
    pub fn flights(&self) -> impl Iterator<Item = Flight<'_, Message<P>>> {
        self.queue.flights()
    }

    /// The armed timers of a process, and when they run out.
    pub fn timers(
        &self,
        id: ProcessId,
    ) -> impl Iterator<Item = (<Words<P> as Vocabulary>::Timer, SimTime)> {
        let timers = self.seats[id.index()].timers.iter();
        timers.filter_map(|(timer, slot)| slot.armed.map(|armed| (*timer, armed.at)))
    }

    /// When the next event happens, if there is one.
    pub fn next_at(&mut self) -> Option<SimTime> {
        self.queue.next_at()
    }

    /// The hash of the whole state: processes, links, and the queue.
    pub fn hash(&self) -> u64 {
        let mut hasher = super::hash::StableHasher::default();
        (self.now, self.done).hash(&mut hasher);
        for seat in &self.seats {
            seat.hash(&mut hasher);
        }
        let mut entries: Vec<_> = self.queue.entries().collect();
        entries.retain(|entry| !matches!(entry.pending, Pending::Timer { .. }));
        sort::by_key(&mut entries, |entry| entry.id);
        entries.hash(&mut hasher);
        hasher.finish()
    }

    /// Handles the next event and records it; tells which process moved, or none when nothing is
    /// left to happen.
    pub fn step(&mut self, trace: &mut Trace<Words<P>>) -> Option<ProcessId> {
        self.step_before(Moment::after(SimTime::NEVER), trace)
    }

    /// Handles the next event if it comes before `moment` is reached; tells which process moved.
    pub fn step_before(
        &mut self,
        moment: Moment,
        trace: &mut Trace<Words<P>>,
    ) -> Option<ProcessId> {
        let Scheduled { id, at, cause, pending, .. } = self.take_before(moment)?;
        self.done = if at > self.now { 1 } else { self.done + 1 };
        self.now = at;
        let (process, event) = self.arrive(pending);
        self.handle((id, cause), process, event, trace);
        self.settle();
        Some(process)
    }

    /// Handles every event up to `moment`, and moves the time there.
    pub fn advance_to(&mut self, moment: Moment, trace: &mut Trace<Words<P>>) {
        while self.step_before(moment, trace).is_some() {}
        if self.now < moment.at {
            self.now = moment.at;
            self.done = 0;
        }
        self.settle();
    }

    /// Takes out what happens next, if that is before `moment` is reached.
    fn take_before(&mut self, moment: Moment) -> Option<Scheduled<Words<P>>> {
        while let Some(at) = self.queue.next_at() {
            let done = if at == self.now { self.done } else { 0 };
            if at > moment.at || (at == moment.at && done >= moment.done) {
                return None;
            }
            let front = self.queue.pop().expect("it was just there");
            if let Some(real) = self.sift(front) {
                return Some(real);
            }
        }
        None
    }

    /// Clears what will not become an event off the front of this instant. After every change from
    /// outside and every event, so that it makes no difference where a run was interrupted.
    fn settle(&mut self) {
        while self.queue.next_at() == Some(self.now) && !self.front_is_real() {}
    }

    /// Sifts the front of the queue; true if it stays there.
    fn front_is_real(&mut self) -> bool {
        let Some(scheduled) = self.queue.pop() else { return false };
        match self.sift(scheduled) {
            Some(real) => {
                self.queue.push(real);
                true
            }
            None => false,
        }
    }

    /// An intervention from outside at this moment: one record of the kind
    /// [`What::Command`], which is the cause of all that `act` does.
    pub fn intervene(
        &mut self,
        (name, about): (&'static str, Option<ProcessId>),
        trace: &mut Trace<Words<P>>,
        act: impl FnOnce(&mut Intervention<'_, P>),
    ) -> EventId {
        let id = self.new_id();
        let mut intervention = Intervention { sim: self, id, entries: Vec::new() };
        act(&mut intervention);
        let entries = intervention.entries;
        let (at, cause, what) = (self.now, EventId(0), What::Command);
        trace.push(&Heading { id, at, process: about, cause, what, name }, entries);
        self.settle();
        id
    }

    fn new_id(&mut self) -> EventId {
        let id = self.next_id;
        self.next_id = EventId(id.0 + 1);
        id
    }

    fn seat(&mut self, id: ProcessId) -> &mut Seat<P> {
        Arc::make_mut(&mut self.seats[id.index()])
    }

    fn link(&mut self, from: ProcessId, to: ProcessId) -> &mut Link {
        let links = &self.seats[from.index()].links;
        let index = match links.binary_search_by_key(&to, |link| link.peer) {
            Ok(index) => index,
            Err(index) => {
                let owner = format!("{}>{}", self.name(from), self.name(to));
                let latency = Stream::named(self.seed, "latency", &owner);
                self.seat(from).links.insert(index, Link::new(to, latency));
                index
            }
        };
        &mut self.seat(from).links[index]
    }

    fn schedule(&mut self, at: SimTime, cause: EventId, pending: Pending<Words<P>>) {
        let (id, since) = (self.new_id(), self.now);
        self.queue.push(Scheduled { id, at, since, cause, pending });
    }

    /// Keeps an entry only if it becomes an event now: not if its connection is gone, its timer
    /// was moved, its receiver is off, or it has to wait for a cable or a frozen process.
    fn sift(&mut self, mut scheduled: Scheduled<Words<P>>) -> Option<Scheduled<Words<P>>> {
        let receiver = match &scheduled.pending {
            Pending::Request { process, .. } => *process,
            Pending::Boot { process, incarnation }
            | Pending::Written { process, incarnation, .. } => {
                let current = self.seats[process.index()].incarnation;
                if *incarnation != current {
                    return None;
                }
                *process
            }
            Pending::Timer { process, timer } => {
                let (process, timer) = (*process, *timer);
                if self.power(process) == Power::Running {
                    return self.sift_timer(scheduled, process, timer);
                }
                process
            }
            Pending::Message { from, to, .. } | Pending::Hangup { from, to, .. } => {
                let (from, to) = (*from, *to);
                if self.is_cut(from, to) {
                    scheduled.at = SimTime::NEVER;
                    self.queue.push(scheduled);
                    return None;
                }
                to
            }
        };
        match self.power(receiver) {
            Power::Running => self.sift_connection(scheduled),
            Power::Frozen => {
                scheduled.at = SimTime::NEVER;
                self.queue.push(scheduled);
                None
            }
            Power::Off => {
                self.refuse(scheduled);
                None
            }
        }
    }

    fn sift_timer(
        &mut self,
        mut scheduled: Scheduled<Words<P>>,
        process: ProcessId,
        timer: <Words<P> as Vocabulary>::Timer,
    ) -> Option<Scheduled<Words<P>>> {
        let slot = *self.seats[process.index()].timers.get(&timer)?;
        if slot.queued_at != scheduled.at {
            return None;
        }
        let Some(armed) = slot.armed else {
            self.seat(process).timers.remove(&timer);
            return None;
        };
        let due = (armed.at.max(self.now), armed.id);
        let reached = (scheduled.at, scheduled.id);
        scheduled.id = armed.id;
        scheduled.since = armed.since;
        scheduled.cause = armed.cause;
        if due == reached || (due.0 == reached.0 && reached.1 > due.1) {
            return Some(scheduled);
        }
        scheduled.at = due.0;
        let slot = TimerSlot { queued_at: due.0, armed: Some(armed) };
        self.seat(process).timers.insert(timer, slot);
        self.queue.push(scheduled);
        None
    }

    /// Drops what belongs to a connection that the receiver has left.
    fn sift_connection(&mut self, scheduled: Scheduled<Words<P>>) -> Option<Scheduled<Words<P>>> {
        let (from, to, view) = match &scheduled.pending {
            Pending::Message { from, to, view, .. } => (*from, *to, *view),
            Pending::Hangup { from, to, closing } => (*from, *to, *closing),
            _ => return Some(scheduled),
        };
        let current = self.seats[to.index()].link(from).map_or(0, |link| link.view);
        (view >= current).then_some(scheduled)
    }

    /// A process that is off refuses messages; everything else is lost on it. But it does not come
    /// back with a connection that the other end has left.
    fn refuse(&mut self, scheduled: Scheduled<Words<P>>) {
        let (from, to, view, answers) = match scheduled.pending {
            Pending::Message { from, to, view, .. } => (from, to, view, true),
            Pending::Hangup { from, to, closing } => (from, to, closing, false),
            _ => return,
        };
        let link = self.link(to, from);
        if view < link.view {
            return;
        }
        link.view = view + 1;
        if !answers {
            return;
        }
        let latency = self.network.latency.clone();
        let at = landing(self.link(to, from), scheduled.at, &latency);
        self.schedule(at, scheduled.cause, Pending::Hangup { from: to, to: from, closing: view });
    }

    /// Turns a queue entry into the event of its process.
    fn arrive(&mut self, pending: Pending<Words<P>>) -> (ProcessId, Event<Words<P>>) {
        match pending {
            Pending::Boot { process, .. } => (process, Event::Boot),
            Pending::Timer { process, timer } => {
                self.seat(process).timers.remove(&timer);
                (process, Event::Timer(timer))
            }
            Pending::Written { process, write, .. } => {
                match self.seats[process.index()].disk.room {
                    Room::Free => (process, Event::Written(write)),
                    Room::Full => (process, Event::Failed(write)),
                }
            }
            Pending::Request { process, request } => (process, Event::Request(request)),
            Pending::Message { from, to, view, message } => {
                let link = self.link(to, from);
                link.view = view;
                link.open = true;
                (to, Event::Message { from, message })
            }
            Pending::Hangup { from, to, closing } => {
                let link = self.link(to, from);
                link.view = closing + 1;
                link.open = false;
                (to, Event::Hangup { peer: from })
            }
        }
    }

    fn handle(
        &mut self,
        (id, cause): (EventId, EventId),
        process: ProcessId,
        event: Event<Words<P>>,
        trace: &mut Trace<Words<P>>,
    ) {
        let (what, name) = heading(&event);
        let at = self.now;
        let mut draws = std::mem::take(&mut self.scratch.draws);
        let mut entries = std::mem::take(&mut self.scratch.entries);
        let effects = std::mem::take(&mut self.scratch.effects);
        let seat = Arc::make_mut(&mut self.seats[process.index()]);
        seat.last_event = id;
        let clock = seat.clock.read(at);
        let mut out = Outbox::new((process, clock, id), effects, &mut seat.dice, &mut draws);
        seat.process.handle(event, &mut out);
        let mut effects = out.into_effects();
        entries.extend(draws.drain(..).map(|(draw, value)| Entry::Draw(draw, value)));
        for effect in effects.drain(..) {
            self.carry_out(id, process, effect, &mut entries);
        }
        let heading = Heading { id, at, process: Some(process), cause, what, name };
        trace.push(&heading, entries.drain(..));
        self.scratch = Scratch { effects, draws, entries };
    }

    fn carry_out(
        &mut self,
        cause: EventId,
        me: ProcessId,
        effect: Effect<Words<P>>,
        entries: &mut Vec<Entry<Words<P>>>,
    ) {
        if self.power(me) == Power::Off && is_deed(&effect) {
            return;
        }
        match effect {
            Effect::Send { to, message } => self.send(cause, me, to, message),
            Effect::Hangup { peer } => self.hang_up(cause, me, peer),
            Effect::Arm { timer, after } => self.arm(cause, me, timer, after),
            Effect::Disarm(timer) => self.disarm(me, timer),
            Effect::Write(write) => self.write(cause, me, write),
            Effect::Tell(fact) => entries.push(Entry::Fact(fact)),
            Effect::Because(event) => entries.push(Entry::Because(event)),
            Effect::Exit(code) => {
                self.power_off(cause, me);
                let process = ProcessName(self.name(me).clone());
                entries.push(Entry::Fact(KernelFact::Exited { process, code }.into()));
            }
        }
    }

    fn send(&mut self, cause: EventId, from: ProcessId, to: ProcessId, message: Message<P>) {
        assert!(from != to, "{} sends to itself", self.name(from));
        let (now, latency) = (self.now, self.network.latency.clone());
        let link = self.link(from, to);
        let at = landing(link, now, &latency);
        link.open = true;
        let view = link.view;
        self.schedule(at, cause, Pending::Message { from, to, view, message });
    }

    fn hang_up(&mut self, cause: EventId, me: ProcessId, peer: ProcessId) {
        let (now, latency) = (self.now, self.network.latency.clone());
        let link = self.link(me, peer);
        if !link.open {
            return;
        }
        let at = landing(link, now, &latency);
        let closing = link.close();
        self.schedule(at, cause, Pending::Hangup { from: me, to: peer, closing });
    }

    fn arm(
        &mut self,
        cause: EventId,
        me: ProcessId,
        timer: <Words<P> as Vocabulary>::Timer,
        after: Range<Span>,
    ) {
        let (id, since) = (self.new_id(), self.now);
        let seat = Arc::make_mut(&mut self.seats[me.index()]);
        let span = match after.start == after.end {
            true => after.start,
            false => {
                let range = after.start.as_micros()..after.end.as_micros();
                let purpose = <Words<P> as Vocabulary>::timer_name(&timer);
                // A fixed outcome may be any number.
                Span::micros(seat.dice.draw(purpose, range)).min(Span::LONGEST)
            }
        };
        let at = since + seat.clock.lasting(span);
        let armed = Some(Armed { at, id, since, cause });
        match seat.timers.get_mut(&timer) {
            Some(slot) if slot.queued_at <= at => slot.armed = armed,
            _ => {
                seat.timers.insert(timer, TimerSlot { queued_at: at, armed });
                let pending = Pending::Timer { process: me, timer };
                self.queue.push(Scheduled { id, at, since, cause, pending });
            }
        }
    }

    /// A clock goes at another pace; what is armed runs out when it shows the time that was meant.
    fn change_clock(&mut self, id: ProcessId, rate_percent: u32) {
        let now = self.now;
        let seat = self.seat(id);
        let before = seat.clock;
        seat.clock.change(now, rate_percent);
        let (shown, mut earlier) = (seat.clock.read(now), Vec::new());
        for (timer, slot) in &mut seat.timers {
            let Some(armed) = slot.armed.as_mut().filter(|armed| armed.at > now) else { continue };
            armed.at = now + seat.clock.lasting(before.read(armed.at).since(shown));
            if armed.at < slot.queued_at {
                slot.queued_at = armed.at;
                earlier.push((*timer, *armed));
            }
        }
        for (timer, Armed { at, id: event, since, cause }) in earlier {
            let pending = Pending::Timer { process: id, timer };
            self.queue.push(Scheduled { id: event, at, since, cause, pending });
        }
    }

    fn disarm(&mut self, me: ProcessId, timer: <Words<P> as Vocabulary>::Timer) {
        if let Some(slot) = self.seat(me).timers.get_mut(&timer) {
            slot.armed = None;
        }
    }

    fn write(&mut self, cause: EventId, me: ProcessId, write: <Words<P> as Vocabulary>::Write) {
        let (now, range) = (self.now, self.network.disk.clone());
        let seat = self.seat(me);
        let span = draw_span(&mut seat.disk.latency, &range) + seat.disk.slowed_by;
        seat.disk.free_at = seat.disk.free_at.max(now) + span;
        let (at, incarnation) = (seat.disk.free_at, seat.incarnation);
        self.schedule(at, cause, Pending::Written { process: me, incarnation, write });
    }

    /// The process ends: its connections break, its timers and unwritten writes are gone.
    fn power_off(&mut self, cause: EventId, me: ProcessId) {
        let seat = self.seat(me);
        seat.power = Power::Off;
        seat.incarnation += 1;
        seat.timers.clear();
        seat.disk.free_at = SimTime::ZERO;
        seat.process.crash();
        seat.last_event = cause;
        let peers: Vec<_> = seat.links.iter().map(|link| link.peer).collect();
        for peer in peers {
            self.hang_up(cause, me, peer);
        }
        self.release(me);
    }

    /// What waited for a frozen process comes now.
    fn release(&mut self, me: ProcessId) {
        let now = self.now;
        self.queue.reschedule(|entry| {
            (entry.at == SimTime::NEVER && receiver(&entry.pending) == me).then_some(now)
        });
        for slot in self.seat(me).timers.values_mut() {
            slot.queued_at = slot.queued_at.max(now);
        }
    }
}

/// Whether the wish needs a process that runs: one that has just exited only tells what it did.
fn is_deed<W: Vocabulary>(effect: &Effect<W>) -> bool {
    !matches!(effect, Effect::Tell(_) | Effect::Because(_))
}

/// Draws when something sent at `sent_at` lands: in order behind what was sent before.
fn landing(link: &mut Link, sent_at: SimTime, latency: &Range<Span>) -> SimTime {
    let late = link.delay_next.take().unwrap_or(Span::ZERO);
    let span = draw_span(&mut link.latency, latency);
    link.last_landing = link.last_landing.max(sent_at + span + late);
    link.last_landing
}

fn draw_span(stream: &mut Stream, range: &Range<Span>) -> Span {
    Span::micros(stream.within(range.start.as_micros()..range.end.as_micros()))
}

/// What somebody outside may do to a running simulation, all as one event.
pub struct Intervention<'a, P: Process> {
    sim: &'a mut Sim<P>,
    id: EventId,
    entries: Vec<Entry<Words<P>>>,
}

impl<P: Process> Intervention<'_, P> {
    /// The simulation as it stands.
    pub fn sim(&self) -> &Sim<P> {
        self.sim
    }

    /// Tells a fact of the intervention's own.
    pub fn tell(&mut self, fact: impl Into<<Words<P> as Vocabulary>::Fact>) {
        self.entries.push(Entry::Fact(fact.into()));
    }

    /// Adds a process that does not run yet.
    pub fn add(&mut self, name: &str, process: P) -> ProcessId {
        self.sim.add(name, process)
    }

    /// Starts a process that is off.
    pub fn start(&mut self, id: ProcessId) {
        if self.sim.power(id) != Power::Off {
            return;
        }
        self.sim.seat(id).power = Power::Running;
        self.sim.seat(id).last_event = self.id;
        let (now, incarnation) = (self.sim.now, self.sim.seats[id.index()].incarnation);
        self.sim.schedule(now, self.id, Pending::Boot { process: id, incarnation });
        let process = self.named(id);
        self.tell(KernelFact::Started { process });
    }

    /// Ends a process without warning (`kill -9`).
    pub fn kill(&mut self, id: ProcessId) {
        if self.sim.power(id) == Power::Off {
            return;
        }
        self.sim.power_off(self.id, id);
        let process = self.named(id);
        self.tell(KernelFact::Killed { process });
    }

    /// Makes a process stand still (`kill -STOP`).
    pub fn freeze(&mut self, id: ProcessId) {
        if self.sim.power(id) != Power::Running {
            return;
        }
        self.sim.seat(id).power = Power::Frozen;
        self.sim.seat(id).last_event = self.id;
        let process = self.named(id);
        self.tell(KernelFact::Frozen { process });
    }

    /// Lets a frozen process run on: all that came meanwhile comes now, in order.
    pub fn thaw(&mut self, id: ProcessId) {
        if self.sim.power(id) != Power::Frozen {
            return;
        }
        self.sim.seat(id).power = Power::Running;
        self.sim.seat(id).last_event = self.id;
        self.sim.release(id);
        let process = self.named(id);
        self.tell(KernelFact::Thawed { process });
    }

    /// Asks something of a process.
    pub fn request(&mut self, id: ProcessId, request: <Words<P> as Vocabulary>::Request) {
        let now = self.sim.now;
        self.sim.schedule(now, self.id, Pending::Request { process: id, request });
    }

    /// Cuts the cable between two processes: nothing arrives, and nobody is told.
    pub fn cut(&mut self, a: ProcessId, b: ProcessId, direction: Direction) {
        for (from, to) in ways(a, b, direction) {
            self.sim.link(from, to).cut = true;
            let (from, to) = (self.named(from), self.named(to));
            self.tell(KernelFact::Cut { from, to });
        }
    }

    /// Heals the cable: what was held up arrives, on connections that still exist.
    ///
    /// Real: TCP sends again with growing pauses and gives up after minutes; here what was held
    /// arrives at the moment of healing, because the protocols' own timeouts are shorter.
    pub fn heal(&mut self, a: ProcessId, b: ProcessId, direction: Direction) {
        for (from, to) in ways(a, b, direction) {
            self.sim.link(from, to).cut = false;
            let now = self.sim.now;
            self.sim.queue.reschedule(|entry| {
                let held = entry.at == SimTime::NEVER && path(&entry.pending) == Some((from, to));
                held.then_some(now)
            });
            let (from, to) = (self.named(from), self.named(to));
            self.tell(KernelFact::Healed { from, to });
        }
    }

    /// Holds the next message from `from` to `to` back for so much longer.
    pub fn delay_next(&mut self, from: ProcessId, to: ProcessId, by: Span) {
        self.sim.link(from, to).delay_next = Some(by);
        let (from, to) = (self.named(from), self.named(to));
        self.tell(KernelFact::Delayed { from, to, by });
    }

    /// Holds a message that is on its way back for so much longer, and all behind it.
    pub fn delay(&mut self, message: EventId, by: Span) {
        let found = self.sim.queue.flights().find(|flight| flight.id == message);
        let Some((from, to)) = found.map(|flight| (flight.from, flight.to)) else { return };
        let mut lands_at = SimTime::ZERO;
        self.sim.queue.reschedule(|entry| {
            (entry.id == message && entry.at != SimTime::NEVER).then(|| {
                lands_at = entry.at + by;
                lands_at
            })
        });
        self.sim.queue.reschedule(|entry| {
            let behind = path(&entry.pending) == Some((from, to)) && entry.id > message;
            (behind && entry.at < lands_at).then_some(lands_at)
        });
        let link = self.sim.link(from, to);
        link.last_landing = link.last_landing.max(lands_at);
        let (from, to) = (self.named(from), self.named(to));
        self.tell(KernelFact::Delayed { from, to, by });
    }

    /// Loses a message that is on its way. TCP loses nothing but by breaking the connection, so
    /// both ends see it broken, and all that is on its way on it is lost too.
    pub fn drop(&mut self, message: EventId) {
        let found = self.sim.queue.flights().find(|flight| flight.id == message);
        let Some((a, b)) = found.map(|flight| (flight.from, flight.to)) else { return };
        self.sim.queue.remove(|entry| {
            let path = path(&entry.pending);
            path == Some((a, b)) || path == Some((b, a))
        });
        let now = self.sim.now;
        let closing = self.sim.link(a, b).view.max(self.sim.link(b, a).view);
        for (from, to) in ways(a, b, Direction::Both) {
            self.sim.schedule(now, self.id, Pending::Hangup { from, to, closing });
        }
        let (from, to) = (self.named(a), self.named(b));
        self.tell(KernelFact::Dropped { from, to });
    }

    /// Fixes the outcome of the next draw of a process for a purpose; given again, of the one
    /// after.
    pub fn fix(&mut self, id: ProcessId, draw: &str, value: u64) {
        self.sim.seat(id).dice.fix(draw, value);
        let (process, draw) = (self.named(id), draw.into());
        self.tell(KernelFact::Fixed { process, draw, value });
    }

    /// Makes every write to the disk of a process take so much longer.
    pub fn slow_disk(&mut self, id: ProcessId, by: Span) {
        self.sim.seat(id).disk.slowed_by = by;
        let process = self.named(id);
        self.tell(KernelFact::DiskSlowed { process, by });
    }

    /// Replaces the disk of a process that is off by an empty one.
    pub fn wipe(&mut self, id: ProcessId) {
        if self.sim.power(id) != Power::Off {
            return;
        }
        self.sim.seat(id).last_event = self.id;
        self.sim.seat(id).process.wipe();
        let process = self.named(id);
        self.tell(KernelFact::DiskWiped { process });
    }

    /// Changes how a process that is off will start.
    pub fn configure(&mut self, id: ProcessId, change: impl FnOnce(&mut P)) {
        if self.sim.power(id) == Power::Off {
            change(&mut self.sim.seat(id).process);
        }
    }

    /// Fills the disk of a process, so that no write can be done, or makes room again.
    pub fn fill_disk(&mut self, id: ProcessId, room: Room) {
        self.sim.seat(id).disk.room = room;
        let process = self.named(id);
        self.tell(match room {
            Room::Full => KernelFact::DiskFilled { process },
            Room::Free => KernelFact::DiskFreed { process },
        });
    }

    /// Lets the clock of a process go faster or slower: its timers, and what it takes for now.
    pub fn change_clock(&mut self, id: ProcessId, rate_percent: u32) {
        self.sim.change_clock(id, rate_percent);
        let process = self.named(id);
        self.tell(KernelFact::ClockChanged { process, percent: rate_percent });
    }

    fn named(&self, id: ProcessId) -> ProcessName {
        ProcessName(self.sim.name(id).clone())
    }
}

fn ways(
    a: ProcessId,
    b: ProcessId,
    direction: Direction,
) -> impl Iterator<Item = (ProcessId, ProcessId)> {
    let back = (direction == Direction::Both).then_some((b, a));
    std::iter::once((a, b)).chain(back)
}

fn receiver<W: Vocabulary>(pending: &Pending<W>) -> ProcessId {
    match pending {
        Pending::Boot { process, .. }
        | Pending::Timer { process, .. }
        | Pending::Written { process, .. }
        | Pending::Request { process, .. } => *process,
        Pending::Message { to, .. } | Pending::Hangup { to, .. } => *to,
    }
}

fn path<W: Vocabulary>(pending: &Pending<W>) -> Option<(ProcessId, ProcessId)> {
    match pending {
        Pending::Message { from, to, .. } | Pending::Hangup { from, to, .. } => Some((*from, *to)),
        _ => None,
    }
}

#[cfg(test)]
#[path = "simulation_tests.rs"]
mod tests;

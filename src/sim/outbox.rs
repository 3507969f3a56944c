//! The outbox: where a process puts its wishes while it handles one event.
//!
//! *Invariant:* effects are carried out in order, after the process has returned.

use super::chance::{Dice, Draw};
use super::process::{Event, Process, Vocabulary};
use super::time::{EventId, ProcessId, SimTime, Span};
use std::ops::Range;

/// One wish of a process.
#[derive(Clone, Debug)]
pub enum Effect<W: Vocabulary> {
    /// Send a message; in order with all others to the same peer on this connection.
    Send {
        /// The receiver.
        to: ProcessId,
        /// What to say.
        message: W::Message,
    },
    /// Close the connection with a peer: it hears of it after what was sent before.
    Hangup {
        /// The other end.
        peer: ProcessId,
    },
    /// Arm a timer, moving it if it is armed.
    Arm {
        /// Which.
        timer: W::Timer,
        /// After how long, drawn from this range.
        after: Range<Span>,
    },
    /// Disarm a timer, if it is armed.
    Disarm(W::Timer),
    /// Write to the disk and hear of it when done. Writes are done in order.
    Write(W::Write),
    /// Tell a fact.
    Tell(W::Fact),
    /// Name a second cause of this event.
    Because(EventId),
    /// End the own process with this exit code.
    Exit(u8),
}

/// What a process may use while it handles one event: its wishes, its name, the time, the dice.
pub struct Outbox<'a, W: Vocabulary> {
    me: ProcessId,
    now: SimTime,
    event: EventId,
    effects: Vec<Effect<W>>,
    dice: &'a mut Dice,
    draws: &'a mut Vec<(Draw, u64)>,
}

impl<'a, W: Vocabulary> Outbox<'a, W> {
    pub(super) fn new(
        (me, now, event): (ProcessId, SimTime, EventId),
        effects: Vec<Effect<W>>,
        dice: &'a mut Dice,
        draws: &'a mut Vec<(Draw, u64)>,
    ) -> Self {
        Outbox { me, now, event, effects, dice, draws }
    }

    pub(super) fn into_effects(self) -> Vec<Effect<W>> {
        self.effects
    }

    /// The process this outbox belongs to.
    pub fn me(&self) -> ProcessId {
        self.me
    }

    /// The time, as the process's own clock shows it.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// The event being handled, to be named later as a second cause.
    pub fn event(&self) -> EventId {
        self.event
    }

    /// Sends `message` to `to`.
    pub fn send(&mut self, to: ProcessId, message: impl Into<W::Message>) {
        self.effects.push(Effect::Send { to, message: message.into() });
    }

    /// Closes the connection with `peer`.
    pub fn hangup(&mut self, peer: ProcessId) {
        self.effects.push(Effect::Hangup { peer });
    }

    /// Arms `timer` to run out after exactly `after`.
    pub fn arm(&mut self, timer: impl Into<W::Timer>, after: Span) {
        self.arm_within(timer, after..after);
    }

    /// Arms `timer` to run out after a span drawn from `after`.
    pub fn arm_within(&mut self, timer: impl Into<W::Timer>, after: Range<Span>) {
        self.effects.push(Effect::Arm { timer: timer.into(), after });
    }

    /// Disarms `timer`.
    pub fn disarm(&mut self, timer: impl Into<W::Timer>) {
        self.effects.push(Effect::Disarm(timer.into()));
    }

    /// Writes to the disk; `Event::Written` brings `write` back when it is there.
    pub fn write(&mut self, write: impl Into<W::Write>) {
        self.effects.push(Effect::Write(write.into()));
    }

    /// Tells a fact.
    pub fn tell(&mut self, fact: impl Into<W::Fact>) {
        self.effects.push(Effect::Tell(fact.into()));
    }

    /// Names `event` as a second cause of what is happening.
    pub fn because(&mut self, event: EventId) {
        self.effects.push(Effect::Because(event));
    }

    /// Ends the own process.
    pub fn exit(&mut self, code: u8) {
        self.effects.push(Effect::Exit(code));
    }

    /// Draws a number from `range` for `purpose`; the draw becomes part of the record.
    pub fn draw(&mut self, purpose: Draw, range: Range<u64>) -> u64 {
        let value = self.dice.draw(purpose.0, range);
        self.draws.push((purpose, value));
        value
    }

    /// Runs a machine inside this process that speaks the words `V`, and translates its wishes.
    pub fn embed<V, R>(&mut self, run: impl FnOnce(&mut Outbox<'_, V>) -> R) -> R
    where
        V: Vocabulary,
        W::Message: From<V::Message>,
        W::Timer: From<V::Timer>,
        W::Write: From<V::Write>,
        W::Fact: From<V::Fact>,
    {
        let context = (self.me, self.now, self.event);
        let mut inner = Outbox::new(context, Vec::new(), self.dice, self.draws);
        let result = run(&mut inner);
        let effects = inner.into_effects();
        self.effects.extend(effects.into_iter().map(translate::<V, W>));
        result
    }
}

/// What `process` wishes for when it handles one event with no simulation around it: for those who
/// bring events about in orders of their own. Draws are those of seed 0.
pub fn wishes<P: Process>(
    process: &mut P,
    event: Event<P::Words>,
    (me, now): (ProcessId, SimTime),
) -> Vec<Effect<P::Words>> {
    let (mut dice, mut draws) = (Dice::new(0, "alone".into()), Vec::new());
    let mut out = Outbox::new((me, now, EventId(0)), Vec::new(), &mut dice, &mut draws);
    process.handle(event, &mut out);
    out.into_effects()
}

fn translate<V, W>(effect: Effect<V>) -> Effect<W>
where
    V: Vocabulary,
    W: Vocabulary,
    W::Message: From<V::Message>,
    W::Timer: From<V::Timer>,
    W::Write: From<V::Write>,
    W::Fact: From<V::Fact>,
{
    match effect {
        Effect::Send { to, message } => Effect::Send { to, message: message.into() },
        Effect::Hangup { peer } => Effect::Hangup { peer },
        Effect::Arm { timer, after } => Effect::Arm { timer: timer.into(), after },
        Effect::Disarm(timer) => Effect::Disarm(timer.into()),
        Effect::Write(write) => Effect::Write(write.into()),
        Effect::Tell(fact) => Effect::Tell(fact.into()),
        Effect::Because(event) => Effect::Because(event),
        Effect::Exit(code) => Effect::Exit(code),
    }
}

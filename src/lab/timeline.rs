//! The lab: plays a recording, moves the cursor anywhere in it, and forks it into takes.
//!
//! *Invariant:* where the cursor stands and how it came there makes no difference: the cluster and
//! the trace at a moment are those of a run played straight to it.

use super::take::{Fork, Keyframe, NotDone, Take, TakeId};
use super::{Recording, Turn};
use crate::cluster::command::{self, Refusal};
use crate::cluster::laws::Judge;
use crate::cluster::{Cluster, Command, Setup, Trace, Words};
use crate::sim::{EventId, Moment, ProcessId, SimTime, Span, Vocabulary, sort};

/// A run in the laboratory.
#[derive(Clone, Debug)]
pub struct Lab {
    setup: Setup,
    takes: Vec<Take>,
    current: TakeId,
    cursor: Keyframe,
    /// Takes the records of what is only played again.
    scratch: Trace,
}

/// How far to go.
#[derive(Clone, Copy, Debug)]
enum Goal {
    Moment(Moment),
    /// Until so many records lie before the cursor.
    Position(usize),
}

impl Lab {
    /// The lab at the beginning of a recording.
    pub fn new(recording: Recording) -> Lab {
        let mut commands = recording.commands;
        sort::by_key(&mut commands, |(moment, _)| *moment);
        let take = Take::new(&recording.setup, commands);
        let cursor = (*take.keyframes[0]).clone();
        Lab {
            setup: recording.setup,
            takes: vec![take],
            current: TakeId(0),
            cursor,
            scratch: Trace::default(),
        }
    }

    /// The lab where whoever saved the recording stood, with every take that is in it.
    pub fn open(recording: Recording) -> Lab {
        let Recording { setup, commands, until, turns } = recording;
        let mut lab = Lab::new(Recording { commands, ..Recording::new(setup) });
        lab.seek(until);
        for turn in turns {
            lab.turn(&turn);
            lab.take_mut().commands.extend(turn.commands);
            lab.seek(turn.until);
        }
        lab
    }

    /// Goes to a take that there is, or begins another one where it leaves one.
    pub fn turn(&mut self, turn: &Turn) {
        let Some((from, at)) = turn.from else { return self.switch(turn.take) };
        self.switch(from);
        self.seek(at);
        self.fork();
    }

    /// Every take as far as it was played, and where the cursor stands.
    pub fn recording_of_all(&self) -> Recording {
        let first = &self.takes[0];
        let (commands, until) = (first.commands.clone(), first.end);
        let new = self.takes().filter_map(|(id, take)| {
            let Fork { from, at, given, .. } = take.fork?;
            let (from, commands) = (Some((from, at)), take.commands[given..].to_vec());
            Some(Turn { take: id, from, commands, until: take.end })
        });
        let (take, commands_here) = (self.current, Vec::new());
        let here = Turn { take, from: None, commands: commands_here, until: self.moment() };
        let turns = new.chain([here]).collect();
        Recording { setup: self.setup.clone(), commands, until, turns }
    }

    /// The current take up to the cursor, to be saved.
    pub fn recording(&self) -> Recording {
        Recording {
            setup: self.setup.clone(),
            commands: self.take().commands[..self.cursor.given].to_vec(),
            until: self.moment(),
            turns: Vec::new(),
        }
    }

    /// The whole current take, with the commands that are still ahead of the cursor.
    pub fn whole(&self) -> Recording {
        Recording { commands: self.take().commands.clone(), ..self.recording() }
    }

    /// How the run began.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The cluster at the cursor.
    pub fn cluster(&self) -> &Cluster {
        &self.cursor.cluster
    }

    /// Everything that has been seen of the current take, beyond the cursor too.
    pub fn trace(&self) -> &Trace {
        &self.take().trace
    }

    /// How many records of the trace lie before the cursor.
    pub fn position(&self) -> usize {
        self.cursor.position
    }

    /// Where the cursor stands.
    pub fn moment(&self) -> Moment {
        self.cursor.cluster.moment()
    }

    /// How far the current take has been played.
    pub fn end(&self) -> Moment {
        self.take().end
    }

    /// How many commands the current take has.
    pub fn commands(&self) -> usize {
        self.take().commands.len()
    }

    /// The commands before the cursor, and when each was given.
    pub fn given(&self) -> &[(Moment, Command)] {
        &self.take().commands[..self.cursor.given]
    }

    /// When the last command before the cursor was given.
    pub fn last_given(&self) -> Option<SimTime> {
        self.given().last().map(|(moment, _)| moment.at)
    }

    /// All takes, in the order in which they were made.
    pub fn takes(&self) -> impl ExactSizeIterator<Item = (TakeId, &Take)> {
        (0..self.takes.len()).map(|index| (TakeId(index as u16), &self.takes[index]))
    }

    /// The take that the cursor is in.
    pub fn current(&self) -> TakeId {
        self.current
    }

    /// Does something at the cursor. In the past this forks the run: the old future stays as a
    /// take. What the recording holds and nobody has seen yet comes all the same.
    pub fn issue(&mut self, command: Command) -> Result<EventId, Refusal> {
        command::check(&command, self.cluster())?;
        if self.cursor.position < self.trace().len() {
            self.fork();
        }
        let (moment, given) = (self.moment(), self.cursor.given);
        self.take_mut().commands.insert(given, (moment, command));
        self.give();
        let last = self.trace().len() - 1;
        let event = self.trace().get(last).expect("the command has left a record").id;
        self.take_mut().given_here.push(event);
        Ok(event)
    }

    /// From here on the run is another take.
    fn fork(&mut self) {
        let fork = self.take().forked(self.current, &self.cursor);
        self.current = TakeId(u16::try_from(self.takes.len()).expect("nobody acts so often"));
        self.takes.push(fork);
    }

    /// The events of what was done here; other commands came with the recording.
    pub fn given_here(&self) -> &[EventId] {
        &self.take().given_here
    }

    /// What this take's recording holds and could not be done when its moment came.
    pub fn not_done(&self) -> &[NotDone] {
        &self.take().not_done
    }

    /// Goes on to `at`: all that happens until then and at that instant has happened.
    pub fn advance_to(&mut self, at: SimTime) {
        self.go(Goal::Moment(Moment::after(at)));
    }

    /// Goes on towards `at`, by no more than so many records; true when it is there.
    pub fn advance_some(&mut self, at: SimTime, records: u32) -> bool {
        self.play(Goal::Moment(Moment::after(at)), &mut records.clone())
    }

    /// Goes to a moment of the current take.
    pub fn seek(&mut self, moment: Moment) {
        let near = self.take().keyframe(|frame| frame.cluster.moment() <= moment);
        if self.moment() > moment || near.position > self.cursor.position {
            self.cursor = near.clone();
        }
        self.go(Goal::Moment(moment));
    }

    /// Goes to where `records` records lie before the cursor: right after the last of them.
    pub fn seek_position(&mut self, records: usize) {
        let records = records.min(self.trace().len());
        let near = self.take().keyframe(|frame| frame.position <= records);
        if self.cursor.position >= records || near.position > self.cursor.position {
            self.cursor = near.clone();
        }
        self.go(Goal::Position(records));
    }

    /// Goes to right after an event of the current take, if it has happened there.
    pub fn seek_event(&mut self, event: EventId) {
        if let Some(index) = self.trace().find(event) {
            self.seek_position(index + 1);
        }
    }

    /// Goes to the next record; its index, or none when nothing is left to happen.
    pub fn step(&mut self) -> Option<usize> {
        let due = self.due();
        let stop = due.unwrap_or(Moment::after(SimTime::NEVER));
        if !self.handle_before(stop) {
            let moment = due?;
            self.wait_until(moment);
            self.give();
        }
        Some(self.cursor.position - 1)
    }

    /// Goes back to before the last record, or to it if the cursor stands in the quiet after it.
    pub fn step_back(&mut self) {
        let Some(index) = self.cursor.position.checked_sub(1) else {
            return self.seek(Moment::default());
        };
        let last = self.trace().get(index).map_or(SimTime::ZERO, |record| record.at);
        let quiet = last < self.moment().at;
        self.seek_position(if quiet { index + 1 } else { index });
    }

    /// Goes to the next record of this process.
    pub fn step_on(&mut self, process: ProcessId, within: Span) -> Option<usize> {
        self.step_until(within, |lab, index| {
            lab.trace().get(index).is_some_and(|record| record.process == Some(process))
        })
    }

    /// Goes back to the record of this process before the cursor's.
    pub fn step_back_on(&mut self, process: ProcessId) -> Option<usize> {
        let before = (0..self.cursor.position.saturating_sub(1)).rev();
        let is_its = |index: &usize| {
            self.trace().get(*index).is_some_and(|record| record.process == Some(process))
        };
        let index = before.into_iter().find(is_its)?;
        self.seek_position(index + 1);
        Some(index)
    }

    /// Goes to the next record that tells something of at least this importance.
    pub fn step_to(&mut self, least: u8, within: Span) -> Option<usize> {
        self.step_until(within, |lab, index| {
            let record = lab.trace().get(index).expect("it has just happened");
            record.facts().any(|fact| super::importance_in(lab.cluster(), fact) >= least)
        })
    }

    /// Goes on until the record just made is what is wanted; none if that does not come within so
    /// long.
    pub fn step_until(
        &mut self,
        within: Span,
        mut wanted: impl FnMut(&Lab, usize) -> bool,
    ) -> Option<usize> {
        let limit = self.moment().at + within;
        loop {
            let before = self.cursor.position;
            if self.advance_some(limit, 1) && self.cursor.position == before {
                return None;
            }
            if self.cursor.position > before && wanted(self, self.cursor.position - 1) {
                return Some(self.cursor.position - 1);
            }
        }
    }

    /// Goes to another take: to the cursor's moment, or to the take's end if it is shorter.
    pub fn switch(&mut self, take: TakeId) {
        let Some(other) = self.takes.get(usize::from(take.0)) else { return };
        let moment = self.moment().min(other.end);
        self.cursor = other.keyframe(|frame| frame.cluster.moment() <= moment).clone();
        self.current = take;
        self.go(Goal::Moment(moment));
    }

    /// The message that arrived with the record at `index`, played again.
    pub fn message(&self, index: usize) -> Option<<Words as Vocabulary>::Message> {
        let id = self.trace().get(index)?.id;
        let mut lab = self.again(index);
        lab.go(Goal::Position(index));
        let message = lab.cluster().flights().find(|flight| flight.id == id);
        message.map(|flight| flight.message.clone())
    }

    /// A lab of its own at the keyframe before that record. It does not know what has been seen:
    /// a trace is large, and whoever looks at one message needs none.
    fn again(&self, index: usize) -> Lab {
        let near = self.take().keyframe(|frame| frame.position <= index);
        Lab {
            setup: self.setup.clone(),
            takes: vec![self.take().again_from(near)],
            current: TakeId(0),
            cursor: near.clone(),
            scratch: Trace::default(),
        }
    }

    fn take(&self) -> &Take {
        &self.takes[usize::from(self.current.0)]
    }

    fn take_mut(&mut self) -> &mut Take {
        &mut self.takes[usize::from(self.current.0)]
    }

    /// When the next command of the recording comes.
    pub fn due(&self) -> Option<Moment> {
        self.take().commands.get(self.cursor.given).map(|(moment, _)| *moment)
    }

    fn go(&mut self, goal: Goal) {
        while !self.play(goal, &mut { u32::MAX }) {}
    }

    /// Plays on to `goal`, no more than `records` records; true when it is there.
    fn play(&mut self, goal: Goal, records: &mut u32) -> bool {
        loop {
            let last = match goal {
                Goal::Moment(moment) => moment,
                Goal::Position(position) if position <= self.cursor.position => return true,
                Goal::Position(_) => Moment::after(SimTime::NEVER),
            };
            let due = self.due().filter(|due| *due <= last);
            if *records == 0 {
                return false;
            }
            *records -= 1;
            if self.handle_before(due.unwrap_or(last)) {
                continue;
            }
            match due {
                Some(due) => {
                    self.wait_until(due);
                    self.give();
                }
                None => {
                    self.wait_until(last);
                    return true;
                }
            }
        }
    }

    /// Handles one event if it comes before `stop`.
    fn handle_before(&mut self, stop: Moment) -> bool {
        let take = &mut self.takes[usize::from(self.current.0)];
        let known = self.cursor.position < take.trace.len();
        let trace = if known { &mut self.scratch } else { &mut take.trace };
        if self.cursor.cluster.step_before(stop, trace).is_none() {
            return false;
        }
        self.arrive(known);
        true
    }

    /// Lets the time pass in which nothing happens.
    fn wait_until(&mut self, moment: Moment) {
        if moment.at == SimTime::NEVER {
            return;
        }
        self.cursor.cluster.advance_to(moment, &mut self.scratch);
        let reached = self.moment();
        let take = self.take_mut();
        take.end = take.end.max(reached);
    }

    /// Gives the next command of the recording. One that cannot be done leaves no trace.
    fn give(&mut self) {
        let take = &mut self.takes[usize::from(self.current.0)];
        let Some((_, command)) = take.commands.get(self.cursor.given) else { return };
        let place = self.cursor.given;
        self.cursor.given += 1;
        let known = self.cursor.position < take.trace.len();
        let trace = if known { &mut self.scratch } else { &mut take.trace };
        match command::apply(command, &mut self.cursor.cluster, trace) {
            Ok(_) => self.arrive(known),
            // Played again, it is the same one.
            Err(_) if take.not_done.iter().any(|not_done| not_done.place == place) => {}
            Err(why) => {
                let given = take.commands[place].clone();
                take.not_done.push(NotDone::new(place, given, why));
            }
        }
    }

    /// One more record lies before the cursor.
    fn arrive(&mut self, known: bool) {
        self.cursor.position += 1;
        let take = &mut self.takes[usize::from(self.current.0)];
        if known {
            let again = self.scratch.get(0).map(|record| record.id);
            let before = take.trace.get(self.cursor.position - 1).map(|record| record.id);
            assert_eq!(again, before, "a run played again is the same run");
            self.scratch.truncate(0);
        }
        self.judge();
        if !known {
            self.takes[usize::from(self.current.0)].note(&self.cursor);
        }
    }

    /// Judges what has come of the last record. What is found only by a look at all states is
    /// dated by playing what lies between that and the look before.
    fn judge(&mut self) {
        let Keyframe { cluster, position, judge, .. } = &mut self.cursor;
        let trace = &self.takes[usize::from(self.current.0)].trace;
        let Some(record) = trace.get(*position - 1) else { return };
        let at = record.at;
        let Some(look) = judge.watch(&record, cluster, trace) else { return };
        for law in look {
            if let Some((event, at)) = self.first_sign(law) {
                self.cursor.judge.date(law, event, at);
            }
        }
        self.cursor.judge.looked(at, self.cursor.position);
    }

    /// The first record after the last look at all after which a law about states is broken.
    fn first_sign(&self, law: usize) -> Option<(EventId, SimTime)> {
        let looked = self.cursor.judge.looked_at();
        let mut lab = self.again(looked);
        lab.go(Goal::Position(looked));
        while lab.cursor.position + 1 < self.cursor.position {
            lab.step()?;
            if lab.cursor.judge.is_broken(law, lab.cluster()) {
                let record = self.trace().get(lab.cursor.position - 1)?;
                return Some((record.id, record.at));
            }
        }
        None
    }

    /// Who has watched the run until the cursor.
    pub fn laws(&self) -> &Judge {
        &self.cursor.judge
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;

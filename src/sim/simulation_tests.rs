//! The kernel with two processes that ping each other: order, faults, rewinding.

use super::*;
use crate::facts;

#[derive(Clone, Debug, Hash)]
struct Words;

facts! {
    /// What the pinging processes tell.
    pub enum Fact {
        "heard" => Heard { count: u32 },
        "lost" => Lost { count: u32 },
        "kernel" => Kernel { fact: KernelFact },
    }
}

impl From<KernelFact> for Fact {
    fn from(fact: KernelFact) -> Self {
        Fact::Kernel { fact }
    }
}

impl Vocabulary for Words {
    type Message = u32;
    type Timer = u8;
    type Write = u32;
    type Request = u32;
    type Fact = Fact;

    fn message_name(_: &u32) -> &'static str {
        "ping"
    }
    fn timer_name(_: &u8) -> &'static str {
        "again"
    }
    fn request_name(_: &u32) -> &'static str {
        "send"
    }
}

/// Sends a rising number to its peer every ten milliseconds and writes down what it hears.
#[derive(Clone, Debug, Hash)]
struct Pinger {
    peer: ProcessId,
    sent: u32,
    heard: Vec<u32>,
    written: Vec<u32>,
    hangups: u32,
}

impl Process for Pinger {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot | Event::Timer(_) => {
                self.sent += 1;
                out.send(self.peer, self.sent);
                out.arm(1, Span::ms(10));
            }
            Event::Message { message, .. } => {
                self.heard.push(message);
                out.write(message);
                out.tell(Fact::Heard { count: message });
            }
            Event::Hangup { .. } => {
                self.hangups += 1;
                out.tell(Fact::Lost { count: self.hangups });
            }
            Event::Written(number) => self.written.push(number),
            Event::Failed(number) => out.tell(Fact::Lost { count: number }),
            Event::Request(EXIT) => {
                out.exit(1);
                out.arm(1, Span::ms(10));
                out.send(self.peer, EXIT);
                out.write(EXIT);
                out.tell(Fact::Heard { count: EXIT });
            }
            Event::Request(number) => out.send(self.peer, number),
        }
    }

    fn crash(&mut self) {
        let written = std::mem::take(&mut self.written);
        *self = pinger(self.peer);
        self.written = written;
    }
}

fn pinger(peer: ProcessId) -> Pinger {
    Pinger { peer, sent: 0, heard: Vec::new(), written: Vec::new(), hangups: 0 }
}

/// The request to exit in the midst of other wishes.
const EXIT: u32 = 1_000_000;

const A: ProcessId = ProcessId(0);
const B: ProcessId = ProcessId(1);

fn started() -> (Sim<Pinger>, Trace<Words>) {
    let mut sim = Sim::new(7, Network::default());
    let mut trace = Trace::default();
    sim.add("a", pinger(B));
    sim.add("b", pinger(A));
    for id in [A, B] {
        sim.intervene(("start", Some(id)), &mut trace, |i| i.start(id));
    }
    (sim, trace)
}

fn ms(ms: u64) -> Moment {
    Moment::after(SimTime::micros(ms * 1000))
}

fn rising(numbers: &[u32]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

#[test]
fn the_same_seed_gives_the_same_run_however_it_is_driven() {
    let (mut whole, mut trace) = started();
    whole.advance_to(ms(500), &mut trace);
    let (mut slices, mut other) = started();
    for at in (3..=500).step_by(7).chain([500]) {
        slices.advance_to(ms(at), &mut other);
    }
    assert_eq!(trace.hash(), other.hash());
    assert_eq!(whole.hash(), slices.hash());
    assert_eq!(trace.hash(), 1558760631088870127);
}

#[test]
fn a_clone_runs_on_as_the_original_does() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(100), &mut trace);
    let (mut copy, mut other) = (sim.clone(), trace.clone());
    sim.advance_to(ms(200), &mut trace);
    copy.advance_to(ms(200), &mut other);
    assert_eq!(trace.hash(), other.hash());
    assert_eq!(sim.hash(), copy.hash());
}

#[test]
fn a_killed_process_hangs_up_and_forgets_all_but_its_disk() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(55), &mut trace);
    sim.intervene(("kill", Some(B)), &mut trace, |i| i.kill(B));
    sim.advance_to(ms(57), &mut trace);
    assert_eq!(sim.process(A).hangups, 1);
    assert!(sim.process(B).heard.is_empty());
    assert!(!sim.process(B).written.is_empty());
    sim.advance_to(ms(75), &mut trace);
    assert_eq!(sim.process(A).hangups, 3, "each further ping is refused");
    sim.intervene(("start", Some(B)), &mut trace, |i| i.start(B));
    sim.advance_to(ms(100), &mut trace);
    assert!(!sim.process(B).heard.is_empty());
}

#[test]
fn a_process_that_has_exited_only_tells_what_it_did() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(53), &mut trace);
    sim.intervene(("exit", Some(B)), &mut trace, |i| i.request(B, EXIT));
    sim.advance_to(ms(56), &mut trace);
    let last = trace.iter().rev().find(|record| record.process == Some(B)).expect("it exited");
    let told: Vec<_> = last.facts().map(|fact| fact.to_string()).collect();
    assert_eq!(told, ["kernel fact=process-exited process=b code=1", "heard count=1000000"]);
    assert!(!sim.process(A).heard.contains(&EXIT), "nothing is sent");
    assert_eq!(sim.timers(B).count(), 0, "no timer is left");
    sim.advance_to(ms(80), &mut trace);
    sim.intervene(("start", Some(B)), &mut trace, |i| i.start(B));
    sim.advance_to(ms(120), &mut trace);
    assert!(sim.process(B).sent > 2, "its timer runs again");
    assert!(!sim.process(B).written.contains(&EXIT), "nothing is written");
}

#[test]
fn a_cut_says_nothing_and_a_cure_brings_all_in_order() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(30), &mut trace);
    let act = |i: &mut Intervention<'_, Pinger>| i.cut(A, B, Direction::OneWay);
    sim.intervene(("cut", None), &mut trace, act);
    let before = sim.process(B).heard.len();
    sim.advance_to(ms(100), &mut trace);
    assert!(sim.process(B).heard.len() <= before + 1);
    assert_eq!(sim.process(B).hangups + sim.process(A).hangups, 0);
    let act = |i: &mut Intervention<'_, Pinger>| i.heal(A, B, Direction::OneWay);
    sim.intervene(("heal", None), &mut trace, act);
    sim.advance_to(ms(150), &mut trace);
    let heard = &sim.process(B).heard;
    assert!(rising(heard), "{heard:?}");
    assert!(heard.len() >= 14, "{heard:?}");
}

#[test]
fn a_frozen_process_gets_everything_when_it_is_thawed() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(30), &mut trace);
    sim.intervene(("freeze", Some(B)), &mut trace, |i| i.freeze(B));
    sim.advance_to(ms(100), &mut trace);
    let sent = sim.process(B).sent;
    sim.intervene(("thaw", Some(B)), &mut trace, |i| i.thaw(B));
    sim.advance_to(ms(101), &mut trace);
    assert!(sim.process(B).heard.len() >= 10);
    assert!(rising(&sim.process(B).heard));
    assert_eq!(sim.process(B).sent, sent + 1, "a timer that ran out meanwhile fires once");
    assert_eq!(sim.process(A).hangups, 0);
}

#[test]
fn a_dropped_message_breaks_its_connection() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(30), &mut trace);
    sim.intervene(("send", Some(A)), &mut trace, |i| i.request(A, 999));
    sim.advance_to(Moment { at: sim.now(), done: sim.moment().done + 1 }, &mut trace);
    let message = sim.flights().find(|f| *f.message == 999).map(|f| f.id);
    let message = message.expect("the message is on its way");
    sim.intervene(("drop", None), &mut trace, |i| i.drop(message));
    sim.advance_to(ms(60), &mut trace);
    assert!(!sim.process(B).heard.contains(&999));
    assert_eq!((sim.process(A).hangups, sim.process(B).hangups), (1, 1));
    assert!(sim.process(B).heard.contains(&5), "the next connection works");
}

#[test]
fn who_was_off_does_not_come_back_with_a_broken_connection() {
    let (mut sim, mut trace) = (Sim::new(7, Network::default()), Trace::default());
    sim.add("a", pinger(B));
    sim.add("b", pinger(A));
    sim.intervene(("start", Some(A)), &mut trace, |i| i.start(A));
    sim.step(&mut trace);
    let message = sim.flights().next().expect("it pings when it boots").id;
    sim.intervene(("drop", None), &mut trace, |i| i.drop(message));
    sim.advance_to(ms(5), &mut trace);
    sim.intervene(("freeze", Some(A)), &mut trace, |i| i.freeze(A));
    sim.intervene(("start", Some(B)), &mut trace, |i| i.start(B));
    sim.advance_to(ms(8), &mut trace);
    sim.intervene(("thaw", Some(A)), &mut trace, |i| i.thaw(A));
    sim.advance_to(ms(9), &mut trace);
    assert_eq!(sim.process(A).heard, [1]);
}

#[test]
fn a_drop_breaks_the_connection_for_both_ends_alike() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(30), &mut trace);
    sim.intervene(("send", Some(A)), &mut trace, |i| i.request(A, 999));
    sim.advance_to(Moment { at: sim.now(), done: sim.moment().done + 1 }, &mut trace);
    let message = sim.flights().find(|f| *f.message == 999).map(|f| f.id);
    let message = message.expect("the message is on its way");
    sim.intervene(("kill", Some(B)), &mut trace, |i| i.kill(B));
    sim.intervene(("drop", None), &mut trace, |i| i.drop(message));
    sim.advance_to(ms(35), &mut trace);
    sim.intervene(("start", Some(B)), &mut trace, |i| {
        i.start(B);
        i.freeze(B);
    });
    sim.advance_to(ms(45), &mut trace);
    sim.intervene(("thaw", Some(B)), &mut trace, |i| i.thaw(B));
    sim.advance_to(ms(46), &mut trace);
    assert!(sim.process(B).heard.contains(&5), "sent at 40 ms: {:?}", sim.process(B).heard);
}

#[test]
fn a_delayed_message_holds_back_those_behind_it() {
    let (mut sim, mut trace) = started();
    let delay = |i: &mut Intervention<'_, Pinger>| i.delay_next(A, B, Span::ms(35));
    sim.intervene(("delay", None), &mut trace, delay);
    sim.advance_to(ms(34), &mut trace);
    assert!(sim.process(B).heard.is_empty());
    sim.advance_to(ms(60), &mut trace);
    assert!(rising(&sim.process(B).heard));
    assert!(sim.process(B).heard.len() >= 6);
}

#[test]
fn every_record_names_the_event_that_caused_it() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(50), &mut trace);
    for record in trace.iter().filter(|record| record.what != What::Command) {
        let cause = record.cause.expect("only commands have no cause");
        let index = trace.find(cause).expect("the cause has happened");
        assert!(trace.get(index).is_some_and(|cause| cause.at <= record.at));
    }
}

#[test]
fn a_moment_within_an_instant_is_reached_again() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(20), &mut trace);
    for _ in 0..5 {
        sim.step(&mut trace);
    }
    let moment = sim.moment();
    sim.intervene(("kill", Some(B)), &mut trace, |i| i.kill(B));
    sim.advance_to(ms(90), &mut trace);
    let (mut again, mut other) = started();
    again.advance_to(moment, &mut other);
    again.intervene(("kill", Some(B)), &mut other, |i| i.kill(B));
    again.advance_to(ms(90), &mut other);
    assert_eq!(trace.hash(), other.hash());
    assert_eq!(sim.hash(), again.hash());
}

#[test]
fn a_full_disk_writes_nothing_until_there_is_room() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(100), &mut trace);
    sim.intervene(("disk", None), &mut trace, |i| i.fill_disk(A, Room::Full));
    let written = sim.process(A).written.len();
    let before = trace.len();
    sim.advance_to(ms(200), &mut trace);
    assert_eq!(sim.process(A).written.len(), written);
    let failed = trace.since(before).filter(|record| record.name == "write-failed");
    assert!(failed.count() >= 9);
    sim.intervene(("disk", None), &mut trace, |i| i.fill_disk(A, Room::Free));
    sim.advance_to(ms(300), &mut trace);
    assert!(sim.process(A).written.len() >= written + 9);
}

#[test]
fn a_clock_that_goes_twice_as_fast_halves_its_timers() {
    let (mut sim, mut trace) = started();
    sim.advance_to(ms(100), &mut trace);
    let before = (sim.process(A).sent, sim.process(B).sent);
    sim.intervene(("clock", None), &mut trace, |i| i.change_clock(A, 200));
    sim.advance_to(ms(1100), &mut trace);
    let sent = (sim.process(A).sent - before.0, sim.process(B).sent - before.1);
    assert!((198..=200).contains(&sent.0) && (99..=101).contains(&sent.1), "{sent:?}");
    assert_eq!((sim.fastest_clock(A), sim.fastest_clock(B)), (200, 100));
}

//! The lab: any way to a moment gives the same cluster, and the past can be changed.

use super::*;
use crate::cluster::laws::LAWS;

fn lab() -> Lab {
    let text = "setup seed=7 zookeeper=3 brokers=3
at 3 kill broker1
at 4.5 start broker1";
    Lab::new(Recording::parse(text).expect("it is right"))
}

fn secs(secs: u64) -> SimTime {
    SimTime::micros(secs * 1_000_000)
}

fn kill(name: &str) -> Command {
    Command::parse(1, &format!("kill {name}")).expect("it is right")
}

/// What a run played straight to the cursor's moment gives must be what the cursor shows.
fn check_sameness(lab: &Lab) {
    let mut straight = Lab::new(lab.recording());
    straight.seek(lab.moment());
    assert_eq!(straight.moment(), lab.moment());
    assert_eq!(straight.cluster().hash(), lab.cluster().hash());
    let mut trace = lab.trace().clone();
    trace.truncate(lab.position());
    assert_eq!(straight.trace().hash(), trace.hash());
}

#[test]
fn any_slices_give_the_same_run() {
    let (mut whole, mut slices, mut steps) = (lab(), lab(), lab());
    whole.advance_to(secs(20));
    for ms in (0..=20_000).step_by(17).chain([20_000]) {
        while !slices.advance_some(SimTime::micros(ms * 1000), 2) {}
    }
    while steps.position() < whole.position() {
        steps.step();
    }
    assert_eq!(whole.trace().hash(), slices.trace().hash());
    assert_eq!(whole.trace().hash(), steps.trace().hash());
    assert_eq!(whole.cluster().hash(), slices.cluster().hash());
    check_sameness(&whole);
}

#[test]
fn every_take_travels_with_a_recording_of_all() {
    let mut lab = lab();
    lab.advance_to(secs(20));
    for (at, line) in [(8, "kill broker2"), (6, "kill broker3"), (3, "kill zk1")] {
        lab.seek(Moment::after(secs(at)));
        lab.issue(Command::parse(1, line).expect("it is right")).expect("it can be done");
        lab.advance_to(secs(at + 5));
    }
    lab.switch(TakeId(1));
    lab.seek(Moment::before(secs(10)));
    let text = lab.recording_of_all().to_string();
    let mut again = Lab::open(Recording::parse(&text).expect("it is right"));
    assert_eq!(again.recording_of_all().to_string(), text);
    assert_eq!((again.takes().len(), again.current()), (4, TakeId(1)));
    assert_eq!(again.cluster().hash(), lab.cluster().hash());
    for take in [0, 1, 2, 3].map(TakeId) {
        lab.switch(take);
        again.switch(take);
        assert_eq!(again.trace().hash(), lab.trace().hash(), "{take}");
        assert_eq!(again.moment(), lab.moment(), "{take}");
        check_sameness(&again);
    }
}

#[test]
fn seeking_is_replaying() {
    let mut lab = lab();
    lab.advance_to(secs(20));
    let (end, hash) = (lab.moment(), lab.cluster().hash());
    for at in [5, 19, 0, 3, 12] {
        lab.seek(Moment::before(secs(at)));
        check_sameness(&lab);
    }
    for position in (1..lab.trace().len()).rev().step_by(3) {
        lab.seek_position(position);
        assert_eq!(lab.position(), position);
        check_sameness(&lab);
    }
    lab.seek(end);
    assert_eq!(lab.cluster().hash(), hash);
}

#[test]
fn stepping_back_undoes_a_step() {
    let mut lab = lab();
    lab.advance_to(secs(5));
    for _ in 0..10 {
        let position = lab.position();
        lab.step();
        lab.step_back();
        assert_eq!(lab.position(), position);
        lab.step_back();
    }
    check_sameness(&lab);
}

#[test]
fn what_nobody_has_seen_yet_comes_all_the_same() {
    let mut lab = lab();
    lab.advance_to(secs(2));
    lab.issue(kill("broker2")).expect("it runs");
    assert_eq!(lab.current(), TakeId(0));
    lab.advance_to(secs(4));
    let broker = lab.cluster().find("broker1").expect("it is there");
    assert_eq!(lab.cluster().power(broker), crate::sim::Power::Off);
    check_sameness(&lab);
}

#[test]
fn acting_in_the_past_forks_and_keeps_the_old_future() {
    let mut lab = lab();
    lab.advance_to(secs(20));
    let (hash, records) = (lab.trace().hash(), lab.trace().len());
    lab.seek(Moment::before(secs(2)));
    lab.issue(kill("broker2")).expect("it runs");
    assert_eq!((lab.current(), lab.takes().len()), (TakeId(1), 2));
    lab.advance_to(secs(20));
    assert_ne!(lab.trace().hash(), hash);
    check_sameness(&lab);
    lab.switch(TakeId(0));
    assert_eq!((lab.trace().hash(), lab.trace().len()), (hash, records));
    lab.issue(kill("broker2")).expect("at the end of a take nothing forks");
    assert_eq!((lab.current(), lab.takes().len()), (TakeId(0), 2));
    check_sameness(&lab);
}

#[test]
fn what_cannot_be_done_is_refused_and_leaves_nothing() {
    let mut lab = lab();
    lab.advance_to(secs(1));
    let refusal = lab.issue(kill("broker9")).expect_err("there is none");
    assert_eq!(refusal.to_string(), "there is no process broker9");
    lab.issue(kill("zk1")).expect("it runs");
    assert_eq!(lab.issue(kill("zk1")).expect_err("no more").to_string(), "zk1 does not run");
    check_sameness(&lab);
}

#[test]
fn a_message_can_be_looked_at_again() {
    let mut lab = lab();
    lab.advance_to(secs(10));
    let message = |index: &usize| {
        lab.trace().get(*index).is_some_and(|r| matches!(r.what, crate::sim::What::Message(_)))
    };
    let index = (0..lab.trace().len()).rev().find(message).expect("messages have arrived");
    assert!(lab.message(index).is_some());
    assert!(lab.message(0).is_none());
}

/// A cluster whose only replica in sync dies while another may lead all the same.
fn unclean() -> Lab {
    let text = "setup seed=7 zookeeper=1 brokers=2 unclean.leader.election.enable=true
at 5 topic orders partitions=1 replicas=1,2
at 6 add producer p1
at 7 kill broker2
at 30 send p1 topic=orders value=1
at 31 kill broker1
at 32 start broker2";
    Lab::new(Recording::parse(text).expect("it is right"))
}

#[test]
fn laws_that_are_broken_are_so_however_one_comes_there() {
    let mut lab = unclean();
    lab.advance_to(secs(70));
    let (broken, end) = (lab.laws().broken().to_vec(), lab.moment());
    let names: Vec<_> = broken.iter().map(|broken| LAWS[broken.law].name).collect();
    assert_eq!(names, ["leaders-come-from-the-isr", "acknowledged-records-stay"]);
    lab.seek(Moment::before(secs(30)));
    assert_eq!(lab.laws().broken(), []);
    lab.seek(end);
    assert_eq!(lab.laws().broken(), broken);
    lab.seek(Moment::before(SimTime::micros(30_500_000)));
    lab.issue(kill("broker1")).expect("it runs");
    lab.issue(Command::parse(1, "start broker1").expect("it is right")).expect("it can");
    lab.advance_to(secs(70));
    assert_eq!(lab.laws().broken(), [], "in this take the one in sync came back");
    lab.switch(TakeId(0));
    assert_eq!(lab.laws().broken(), broken);
}

#[test]
fn a_state_that_breaks_a_law_is_dated_by_its_event() {
    let text = "setup seed=7 zookeeper=3 brokers=1
at 5 add client z1
at 6 stop broker1
at 12.3 ask z1 create /controller x";
    let mut lab = Lab::new(Recording::parse(text).expect("it is right"));
    lab.advance_to(secs(20));
    let [broken] = lab.laws().broken() else { panic!("one law is broken") };
    assert_eq!(LAWS[broken.law].name, "controller-has-a-session");
    let since = broken.at.since(secs(12)).as_ms();
    assert!((300..330).contains(&since), "broken at {}", broken.at);
    let record = lab.trace().get(lab.trace().find(broken.event).expect("it has happened"));
    assert_eq!(record.map(|record| record.at), Some(broken.at));
}

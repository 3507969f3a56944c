//! Each law about promises can be broken: a run that keeps them, and one event that does not.

use super::{Breach, Judge};
use crate::cluster::command::{Command, apply};
use crate::cluster::notation::Line;
use crate::cluster::setup::Setup;
use crate::cluster::{Cluster, Record, Trace, assemble};
use crate::kafka::id::{LeaderEpoch, Offset, TopicPartition};
use crate::kafka::words::{BrokerFact, Brokers, Fact};
use crate::sim::{Entry, EventId, Moment, ProcessId, SimTime, Span, What};
use crate::zk;
use crate::zk::stat::SessionId;

/// A run under the eyes of the laws.
struct Run {
    cluster: Cluster,
    trace: Trace,
    judge: Judge,
}

impl Run {
    /// Three servers and one broker, with a command every three seconds.
    fn of(commands: &[&str]) -> Run {
        let mut trace = Trace::default();
        let mut line = Line::parse(1, "zookeeper=3 brokers=1").expect("it is a line");
        let setup = Setup::parse(&mut line).expect("it is a set-up");
        let cluster = assemble(&setup, &mut trace);
        let mut run = Run { cluster, trace, judge: Judge::default() };
        run.go(Span::secs(3));
        for command in commands {
            let command = Command::parse(1, command).expect("it is written as commands are");
            apply(&command, &mut run.cluster, &mut run.trace).expect("it can be done");
            run.go(Span::secs(3));
        }
        run
    }

    fn go(&mut self, span: Span) {
        let until = Moment::after(self.cluster.now() + span);
        while self.cluster.step_before(until, &mut self.trace).is_some() {
            let last = self.trace.get(self.trace.len() - 1).expect("it was just made");
            self.judge.record(&last, &self.cluster).expect("no law is broken yet");
        }
        self.cluster.advance_to(until, &mut self.trace);
    }

    /// The law that breaks when this process tells this.
    fn breaks(&mut self, process: ProcessId, entries: &[Entry<crate::kafka::Words>]) -> Breach {
        let record = Record {
            id: EventId(u64::from(u32::MAX)),
            at: self.cluster.now(),
            process: Some(process),
            cause: None,
            what: What::Timer,
            name: "made-up",
            entries,
        };
        self.judge.record(&record, &self.cluster).expect_err("a law is broken")
    }

    fn find(&self, name: &str) -> ProcessId {
        self.cluster.find(name).expect("it is there")
    }
}

#[test]
fn an_acknowledged_record_may_not_be_missing_in_a_new_leader() {
    let mut run = Run::of(&[
        "topic orders partitions=1 replicas=1",
        "add producer p1",
        "send p1 topic=orders key=k value=v",
    ]);
    let fact = BrokerFact::BecameLeader {
        partition: TopicPartition::new("orders", 0),
        epoch: LeaderEpoch(9),
        isr: Brokers([].into()),
        leo: Offset(0),
    };
    let broker = run.find("broker1");
    let breach = run.breaks(broker, &[Entry::Fact(Fact::Broker(fact))]);
    assert_eq!(breach.law, "acknowledged-records-stay");
}

#[test]
fn a_high_watermark_may_not_fall() {
    let mut run = Run::of(&["topic orders partitions=1 replicas=1"]);
    let broker = run.find("broker1");
    let key = (broker, TopicPartition::new("orders", 0));
    run.judge.seen.watermarks.insert(key, (LeaderEpoch(0), Offset(1)));
    assert_eq!(run.breaks(broker, &[]).law, "high-watermarks-never-fall");
}

#[test]
fn a_session_may_not_be_expired_before_its_time() {
    let mut run = Run::of(&["add client z1 timeout=4s"]);
    let heard = run.cluster.process(run.find("z1")).shell().and_then(|shell| shell.client());
    let session: SessionId = heard.expect("it has a client").session();
    let (sign, now) = (EventId(1), run.cluster.now());
    let leader = run.find("zk3");
    let told = zk::words::Fact::SessionExpired { session };
    let entries = [Entry::Because(sign), Entry::Fact(Fact::Zk(told))];
    run.judge.seen.heard.insert(sign, SimTime::micros(now.as_micros() - 3_999_000));
    assert_eq!(run.breaks(leader, &entries).law, "sessions-get-their-time");
}

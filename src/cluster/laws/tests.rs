//! Each law about promises can be broken: a run that keeps them, and one event that does not.

use super::histories::Past;
use super::{Breach, Judge};
use crate::cluster::command::{Command, apply};
use crate::cluster::notation::{Line, Quoted};
use crate::cluster::setup::Setup;
use crate::cluster::{Cluster, Record, Trace, assemble};
use crate::kafka::client::Shown;
use crate::kafka::consumer::words::ConsumerFact;
use crate::kafka::id::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, TopicPartition};
use crate::kafka::partitioner::{Choice, Partitioner};
use crate::kafka::producer::words::ProducerFact;
use crate::kafka::words::{BrokerFact, Brokers, Fact};
use crate::sim::{Entry, EventId, Moment, ProcessId, Span, What};
use crate::zk;
use crate::zk::path::Path;
use crate::zk::reply::EventKind;
use crate::zk::stat::{Owner, SessionId};
use crate::zk::txn::Txn;
use crate::zk::zxid::Zxid;

/// A run under the eyes of the laws.
struct Run {
    cluster: Cluster,
    trace: Trace,
    judge: Judge,
}

impl Run {
    /// Three servers and one broker, with a command every three seconds.
    fn of(commands: &[&str]) -> Run {
        Run::in_setup("zookeeper=3 brokers=1", commands)
    }

    fn in_setup(setup: &str, commands: &[&str]) -> Run {
        let mut trace = Trace::default();
        let mut line = Line::parse(1, setup).expect("it is a line");
        let setup = Setup::parse(&mut line).expect("it is a set-up");
        let cluster = assemble(&setup, &mut trace);
        let mut run = Run { cluster, trace, judge: Judge::default() };
        run.go(Span::secs(3));
        for command in commands {
            run.give(command);
            run.go(Span::secs(3));
        }
        run
    }

    fn go(&mut self, span: Span) {
        let until = Moment::after(self.cluster.now() + span);
        while self.cluster.step_before(until, &mut self.trace).is_some() {
            let last = self.trace.get(self.trace.len() - 1).expect("it was just made");
            self.judge.record(&last, &self.cluster, &self.trace).expect("no law is broken yet");
        }
        self.cluster.advance_to(until, &mut self.trace);
    }

    fn give(&mut self, command: &str) {
        let command = Command::parse(1, command).expect("it is written as commands are");
        apply(&command, &mut self.cluster, &mut self.trace).expect("it can be done");
    }

    /// The first law that breaks within a second of this command.
    fn first_breach_by(&mut self, command: &str) -> &'static str {
        self.give(command);
        let until = Moment::after(self.cluster.now() + Span::secs(1));
        while self.cluster.step_before(until, &mut self.trace).is_some() {
            let last = self.trace.get(self.trace.len() - 1).expect("it was just made");
            if let Err(breach) = self.judge.record(&last, &self.cluster, &self.trace) {
                return breach.law;
            }
        }
        "none"
    }

    /// The law that breaks when this process tells this.
    fn breaks(&mut self, process: ProcessId, entries: &[Entry<crate::kafka::Words>]) -> Breach {
        self.breaks_after(None, process, entries)
    }

    fn breaks_after(
        &mut self,
        cause: Option<EventId>,
        process: ProcessId,
        entries: &[Entry<crate::kafka::Words>],
    ) -> Breach {
        let record = Record {
            id: EventId(u64::from(u32::MAX)),
            at: self.cluster.now(),
            process: Some(process),
            cause,
            what: What::Timer,
            name: "made-up",
            entries,
        };
        self.judge.record(&record, &self.cluster, &self.trace).expect_err("a law is broken")
    }

    fn find(&self, name: &str) -> ProcessId {
        self.cluster.find(name).expect("it is there")
    }

    /// The session of `z1`, and how far it has seen.
    fn z1(&self) -> (SessionId, Zxid) {
        let shell = self.cluster.process(self.find("z1")).shell();
        let client = shell.and_then(|shell| shell.client()).expect("it runs");
        (client.session(), client.last_zxid())
    }

    /// The first law that breaks when all is looked at.
    fn breaks_at_rest(&mut self) -> &'static str {
        self.judge.rest(&self.cluster).expect_err("a law is broken").law
    }

    fn past(&mut self) -> &mut Past {
        &mut self.judge.seen.past
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
    assert_eq!(run.breaks(broker, &[]).law, "hw-never-falls");
}

#[test]
fn a_session_may_not_be_expired_before_its_time() {
    let mut run = Run::of(&["add client z1 timeout=4s"]);
    let heard = run.cluster.process(run.find("z1")).shell().and_then(|shell| shell.client());
    let session: SessionId = heard.expect("it has a client").session();
    let sign = run.trace.get(run.trace.len() - 1).expect("much has happened").id;
    let leader = run.find("zk3");
    let told = zk::words::Fact::SessionExpired { session };
    let entries = [Entry::Because(sign), Entry::Fact(Fact::Zk(told))];
    assert_eq!(run.breaks(leader, &entries).law, "sessions-get-their-time");
}

#[test]
fn what_somebody_writes_by_hand_breaks_laws() {
    let state = "/brokers/topics/orders/partitions/0/state";
    let table = [
        ("set /controller_epoch 7", "controller-epochs-rise"),
        ("set STATE EPOCH9 1 0 [1]", "states-are-by-the-last"),
        ("set STATE EPOCH1 2 0 [2]", "leader-epochs-rise"),
        ("set STATE EPOCH1 2 1 [1]", "leader-is-in-its-isr"),
        ("set STATE EPOCH1 -1 1 []", "isr-is-not-empty"),
        ("set STATE EPOCH1 2 1 [2]", "leaders-come-from-the-isr"),
    ];
    for (line, law) in table {
        let words: Vec<&str> = line.split(' ').collect();
        let data = match words[..] {
            [_, _, epoch, leader, leader_epoch, isr] => format!(
                r#"{{"controller_epoch":{},"leader":{leader},"version":1,"leader_epoch":{leader_epoch},"isr":{isr}}}"#,
                &epoch[5..]
            ),
            _ => String::new(),
        };
        let mut run = Run::of(&["topic orders partitions=1 replicas=1", "add client z1"]);
        let line = match data.is_empty() {
            true => format!("ask z1 {line}"),
            false => format!("ask z1 set {state} {}", Quoted(&data)),
        };
        assert_eq!(run.first_breach_by(&line), law, "{line}");
    }
}

#[test]
fn a_controller_without_a_session_is_none() {
    let mut run = Run::of(&["add client z1", "stop broker1", "ask z1 create /controller x"]);
    let breach = run.judge.rest(&run.cluster).expect_err("nobody holds it");
    assert_eq!((breach.law, breach.after), ("controller-has-a-session", None));
}

#[test]
fn replicas_may_not_lie_on_one_broker() {
    let mut run = Run::of(&["add client z1"]);
    let topic = Quoted(r#"{"version":1,"partitions":{"0":[1,1]}}"#);
    let line = format!("ask z1 create /brokers/topics/t {topic}");
    assert_eq!(run.first_breach_by(&line), "replicas-are-distinct");
}

#[test]
fn a_cluster_that_is_left_alone_gets_a_controller() {
    let taken = "ask z1 create -e /controller x";
    let mut run = Run::of(&["add client z1 timeout=40s", "stop broker1", taken, "start broker1"]);
    run.judge.rest(&run.cluster).expect("nobody has waited for long");
    run.go(Span::secs(80));
    let breach = run.judge.rest(&run.cluster).expect_err("nobody can become controller");
    assert_eq!(breach.law, "somebody-controls");
}

#[test]
fn nothing_is_read_that_is_not_below_the_hw() {
    let offsets = "offsets.topic.num.partitions=5 offsets.topic.replication.factor=1";
    let mut run = Run::in_setup(
        &format!("zookeeper=3 brokers=1 {offsets}"),
        &[
            "topic orders partitions=1 replicas=1",
            "add producer p1",
            "send p1 topic=orders key=k value=v",
            "add consumer c1 group=g1 topics=orders auto.offset.reset=earliest",
        ],
    );
    run.go(Span::secs(17));
    let (key, value) = (Shown(Some("k".into())), Shown(Some("v".into())));
    let partition = TopicPartition::new("orders", 0);
    let fact = ConsumerFact::RecordRead { partition, offset: Offset(1), key, value };
    let consumer = run.find("c1");
    let breach = run.breaks(consumer, &[Entry::Fact(Fact::Consumer(fact))]);
    assert_eq!(breach.law, "reads-end-at-the-hw");
}

#[test]
fn a_key_may_not_go_elsewhere_than_its_hash_says() {
    let mut run = Run::of(&[
        "topic orders partitions=3 replicas=1",
        "add producer p1",
        "send p1 topic=orders key=a value=v",
    ]);
    let (key, value) = (Shown(Some("b".into())), Shown(Some("v".into())));
    let hashed = Partitioner::Java.choose(Some(b"b"), 3);
    let other = (0..3).find(|number| Choice::Partition(*number) != hashed).expect("there are two");
    let fact =
        ProducerFact::RecordSent { partition: TopicPartition::new("orders", other), key, value };
    let producer = run.find("p1");
    let breach = run.breaks(producer, &[Entry::Fact(Fact::Producer(fact))]);
    assert_eq!(breach.law, "keys-are-hashed");
}

#[test]
fn an_id_that_another_holds_is_not_to_be_registered() {
    let take = "ask z1 create -e /brokers/ids/1 x";
    let mut run = Run::of(&["add client z1", "ask z1 delete /brokers/ids/1", take]);
    let fact = BrokerFact::BrokerRegistered { broker: BrokerId(1), epoch: BrokerEpoch(9) };
    let broker = run.find("broker1");
    let breach = run.breaks(broker, &[Entry::Fact(Fact::Broker(fact))]);
    assert_eq!(breach.law, "an-id-has-one-broker");
}

#[test]
fn a_preferred_replica_leads_again_unless_nobody_looks() {
    let lead = |setting: &str| {
        let setup = format!("zookeeper=1 brokers=2 {setting}");
        let topic = "topic orders partitions=1 replicas=2,1";
        let mut run = Run::in_setup(&setup, &[topic, "stop broker2", "start broker2"]);
        run.go(Span::secs(380));
        run.judge.rest(&run.cluster).map_err(|breach| breach.law)
    };
    assert_eq!(lead(""), Ok(()));
    let law = Err("preferred-replicas-lead");
    assert_eq!(lead("auto.leader.rebalance.enable=false"), law);
}

/// A run in which `z1` has written something, so that there is something to misremember.
fn written() -> Run {
    Run::of(&["add client z1", "ask z1 create /a x", "ask z1 get -w /a"])
}

#[test]
fn what_nobody_proposed_may_not_be_applied() {
    let mut run = written();
    let (zxid, txn) = run.past().proposed.last_key_value().expect("much was proposed");
    let (zxid, other) = (*zxid, Txn { cxid: 77, ..Txn::clone(txn) });
    run.past().proposed.insert(zxid, other.into());
    run.past().applied.clear();
    let server = run.find("zk1");
    assert_eq!(run.breaks(server, &[]).law, "only-proposals-are-applied");
}

#[test]
fn a_zxid_may_not_be_given_again() {
    let mut run = written();
    let (zxid, txn) = run.past().proposed.last_key_value().expect("much was proposed");
    let taken = Txn { zxid: zxid.next(), ..Txn::clone(txn) };
    run.past().proposed.insert(taken.zxid, taken.into());
    assert_eq!(run.first_breach_by("ask z1 set /a y"), "zxids-are-used-once");
}

#[test]
fn a_leader_may_not_lack_what_was_committed() {
    let mut run = written();
    let leader = run.find("zk3");
    run.past().founded.insert(1, Zxid::new(0, 9));
    assert_eq!(run.breaks(leader, &[]).law, "leaders-have-all");
}

#[test]
fn a_client_may_not_be_answered_about_what_is_not_committed() {
    let mut run = written();
    let seen = run.z1().1;
    run.past().committed.insert(seen.epoch(), Zxid(seen.0 - 1));
    let client = run.find("z1");
    assert_eq!(run.breaks(client, &[]).law, "answers-are-committed");
}

#[test]
fn a_number_may_not_come_again_below_one_znode() {
    let mut run = written();
    let znode = |name: &str| {
        let (owner, zxid) = (Owner::Persistent, Zxid::new(9, 9));
        let created = zk::words::Fact::ZnodeCreated { path: Path::new(name), owner, zxid };
        [Entry::Fact(Fact::Zk(created))]
    };
    let (leader, born) = (run.find("zk3"), born(&run));
    run.past().numbers.insert(Path::new("/a"), (born, 7));
    assert_eq!(run.breaks(leader, &znode("/a/n-0000000007")).law, "numbers-rise");
}

/// Since when there is `/a`.
fn born(run: &Run) -> Zxid {
    let server = run.cluster.process(run.find("zk3")).zk().and_then(|server| server.database());
    server.and_then(|database| database.tree.znode("/a")).expect("it is there").stat.czxid
}

#[test]
fn a_session_may_not_miss_its_own_write() {
    let mut run = written();
    let ((session, zxid), client) = (run.z1(), run.find("z1"));
    run.past().written.insert(client, (session, zxid.next()));
    let told = zk::words::Fact::Answered { op: "getData", path: Path::new("/a"), zxid };
    let breach = run.breaks(client, &[Entry::Fact(Fact::Zk(told))]);
    assert_eq!(breach.law, "own-writes-are-seen");
}

fn heard(path: &str) -> [Entry<crate::kafka::Words>; 1] {
    let (kind, path) = (EventKind::NodeDataChanged, Path::new(path));
    [Entry::Fact(Fact::Zk(zk::words::Fact::WatchHeard { kind, path }))]
}

#[test]
fn an_event_may_not_come_after_what_it_tells() {
    let mut run = written();
    let (zxid, client) = (run.z1().1, run.find("z1"));
    run.past().fired.insert(EventId(1), zxid);
    let breach = run.breaks_after(Some(EventId(1)), client, &heard("/a"));
    assert_eq!(breach.law, "events-come-before-answers");
}

#[test]
fn a_watch_may_not_fire_that_is_not_armed() {
    let mut run = written();
    let client = run.find("z1");
    assert_eq!(run.breaks(client, &heard("/b")).law, "watches-fire-once");
}

#[test]
fn a_watch_may_not_sleep_through_a_change() {
    let mut run = written();
    run.judge.rest(&run.cluster).expect("nothing has changed yet");
    for armed in run.past().armed.values_mut() {
        armed.state.1 = Zxid::ZERO;
    }
    assert_eq!(run.breaks_at_rest(), "changes-fire-watches");
}

#[test]
fn a_txn_may_not_be_done_in_two_steps() {
    let mut run = written();
    let leader = run.find("zk3");
    let told = *run.past().told.get(&leader).expect("it has told of /a");
    let told = zk::words::Fact::ZnodeDeleted { path: Path::new("/a"), zxid: told };
    let breach = run.breaks(leader, &[Entry::Fact(Fact::Zk(told))]);
    assert_eq!(breach.law, "txns-are-one-step");
}

#[test]
fn a_refused_write_may_not_change_a_znode() {
    let mut run = written();
    let zxid = born(&run);
    run.past().refused.insert(zxid);
    assert_eq!(run.breaks_at_rest(), "refused-writes-change-nothing");
}

#[test]
fn a_session_may_not_write_on_two_connections() {
    let mut run = written();
    let session = run.z1().0;
    run.past().xids.insert(session, 99);
    assert_eq!(run.first_breach_by("ask z1 set /a y"), "one-connection-writes");
}

#[test]
fn a_disk_may_not_lack_what_is_applied() {
    let mut run = written();
    run.judge.rest(&run.cluster).expect("it lacks nothing");
    let replayed = run.past().replayed.as_mut().expect("a server serves");
    replayed.database.sessions.clear();
    replayed.compared = Zxid::ZERO;
    assert_eq!(run.breaks_at_rest(), "disks-hold-what-is-applied");
}

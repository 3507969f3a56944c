//! Clusters of one ZooKeeper server and some brokers, told by what lands in ZooKeeper's txn log.
//!
//! Not here: whole recorded stories, which are played in `tests/`.

use std::sync::Arc;

use super::admin::{CreatePartitionsRequest, CreatePartitionsTopic, DeleteTopicsRequest};
use super::broker::Broker;
use super::election::LeaderAndIsr;
use super::id::{BrokerId, CorrelationId, Offset, TopicPartition};
use super::message::{
    Acks, CreatableTopic, CreateTopicsRequest, ProduceRequest, Request as Call, RequestMessage,
    Response,
};
use super::record::{Record, RecordBatch};
use super::settings::{Directory, Settings};
use super::words::{Brokers, Message, Request, Timer, Words, Write};
use super::znodes::StateZnode;
use crate::sim::{
    Event, Intervention, Moment, Network, OrdMap, Outbox, Process, ProcessId, Sim, SimTime, Span,
    Trace,
};
use crate::zk;
use crate::zk::ensemble::{Address, ServerId};
use crate::zk::server::Server;
use crate::zk::stat::SessionId;
use crate::zk::txn::TxnBody;
use crate::zk::zxid::Zxid;

/// Who takes part.
#[derive(Clone, Debug, Hash)]
enum Player {
    Zk(Box<Server>),
    Broker(Box<Broker>),
    /// Asks one thing and keeps the answer.
    Asker(Box<(ProcessId, Call, Option<Response>)>),
}

impl Process for Player {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match self {
            Player::Broker(broker) => broker.handle(event, out),
            Player::Zk(server) => {
                let event = match event {
                    Event::Boot => Event::Boot,
                    Event::Hangup { peer } => Event::Hangup { peer },
                    Event::Message { from, message: Message::Zk(message) } => {
                        Event::Message { from, message }
                    }
                    Event::Timer(Timer::Zk(timer)) => Event::Timer(timer),
                    Event::Written(Write::Zk(write)) => Event::Written(write),
                    _ => return,
                };
                out.embed(|out| server.handle(event, out));
            }
            Player::Asker(asker) => match event {
                Event::Boot => {
                    let (client_id, request) = ("asker".into(), asker.1.clone());
                    let correlation_id = CorrelationId(1);
                    out.send(asker.0, RequestMessage { correlation_id, client_id, request });
                }
                Event::Message { message: Message::Response(message), .. } => {
                    asker.2 = Some(message.response);
                }
                _ => {}
            },
        }
    }

    fn crash(&mut self) {
        match self {
            Player::Zk(server) => server.crash(),
            Player::Broker(broker) => broker.crash(),
            Player::Asker(_) => {}
        }
    }
}

/// A cluster and what has been seen of it.
struct Play {
    sim: Sim<Player>,
    trace: Trace<Words>,
    brokers: OrdMap<i32, ProcessId>,
    sessions: OrdMap<SessionId, i32>,
    seen: Zxid,
}

impl Play {
    fn new(ids: &[i32], change: impl Fn(&mut Settings)) -> Play {
        let mut sim = Sim::new(7, Network::default());
        let tick_time = Span::ms(500);
        let settings = zk::settings::Settings { tick_time, ..zk::settings::Settings::default() };
        let zookeeper = sim.add("zk1", Player::Zk(Box::new(Server::standalone(settings))));
        let process = |id: i32| ProcessId(u16::try_from(id).expect("few brokers"));
        let port = |id: i32| 9090 + u16::try_from(id).expect("few brokers");
        let hosts = ids.iter().map(|&id| (("127.0.0.1".into(), port(id)), process(id)));
        let directory = Directory::new(hosts);
        let mut brokers = OrdMap::new();
        for &id in ids {
            let mut settings = Settings::new(BrokerId(id), "127.0.0.1", port(id));
            let server = Address { id: ServerId(1), process: zookeeper };
            settings.zookeeper_connect = Arc::from([server]);
            settings.zookeeper_session_timeout = Span::secs(4);
            settings.offsets_topic_num_partitions = 3;
            change(&mut settings);
            let broker = Box::new(Broker::new(settings, directory.clone()));
            brokers.insert(id, sim.add(&format!("broker{id}"), Player::Broker(broker)));
        }
        let trace = Trace::default();
        let mut play = Play { sim, trace, brokers, sessions: OrdMap::new(), seen: Zxid::default() };
        play.act(|i| i.start(zookeeper));
        play
    }

    fn act(&mut self, act: impl FnOnce(&mut Intervention<'_, Player>)) {
        self.sim.intervene(("test", None), &mut self.trace, act);
    }

    fn start(&mut self, id: i32) {
        let process = self.brokers[&id];
        self.act(|i| i.start(process));
        self.run(5000);
    }

    fn kill(&mut self, id: i32) {
        let process = self.brokers[&id];
        self.act(|i| i.kill(process));
        self.run(8000);
    }

    fn stop(&mut self, id: i32) {
        let process = self.brokers[&id];
        self.act(|i| i.request(process, Request::Stop));
        self.run(5000);
    }

    fn run(&mut self, ms: u64) {
        let until = self.sim.now() + Span::ms(ms);
        while self.sim.now() < until {
            let next = (self.sim.now() + Span::ms(100)).min(until);
            let before = self.trace.len();
            while self.sim.step_before(Moment::after(next), &mut self.trace).is_some() {
                assert!(self.trace.len() < before + 20_000, "{}", self.last(40));
            }
            self.sim.advance_to(Moment::after(next), &mut self.trace);
            self.note_sessions();
        }
    }

    fn last(&self, count: usize) -> String {
        let from = self.trace.len().saturating_sub(count);
        let line = |r: crate::sim::Record<'_, Words>| {
            format!("{} {:?} {:?} {}", r.at, r.process, r.what, r.name)
        };
        self.trace.since(from).map(line).collect::<Vec<_>>().join("\n")
    }

    fn note_sessions(&mut self) {
        for (&id, &process) in &self.brokers {
            let Player::Broker(broker) = self.sim.process(process) else { continue };
            if let Some(running) = broker.running() {
                self.sessions.insert(running.zookeeper().session(), id);
            }
        }
    }

    fn ask(&mut self, id: i32, call: impl Into<Call>) -> Response {
        let asker = Player::Asker(Box::new((self.brokers[&id], call.into(), None)));
        let name = format!("asker{}", self.trace.len());
        let process = self.sim.add(&name, asker);
        self.act(|i| i.start(process));
        self.run(5000);
        match self.sim.process(process) {
            Player::Asker(asker) => asker.2.clone().expect("a broker answers in time"),
            _ => unreachable!("it asks"),
        }
    }

    fn create(&mut self, id: i32, topic: &str, assignments: &[&[i32]]) -> Response {
        let ids = |list: &&[i32]| list.iter().copied().map(BrokerId).collect();
        let topic = CreatableTopic {
            name: topic.into(),
            num_partitions: -1,
            replication_factor: -1,
            assignments: (0..).zip(assignments.iter().map(ids)).collect(),
            configs: Vec::new(),
        };
        let request = CreateTopicsRequest {
            topics: vec![topic],
            timeout: Span::secs(30),
            validate_only: false,
        };
        self.ask(id, request)
    }

    fn produce(
        &mut self,
        id: i32,
        tp: &TopicPartition,
        count: usize,
    ) -> Result<Offset, super::Error> {
        let record = Record { key: None, value: Some("v".into()), timestamp: SimTime::ZERO };
        let request = ProduceRequest {
            acks: Acks::All,
            timeout: Span::secs(4),
            topic_data: vec![(tp.clone(), RecordBatch::new(vec![record; count]))],
        };
        match self.ask(id, request) {
            Response::Produce(response) => response.responses[0].base_offset,
            other => panic!("{other:?}"),
        }
    }

    /// What has landed in the txn log since the last time.
    fn txns(&mut self) -> Vec<String> {
        let Player::Zk(server) = self.sim.process(ProcessId(0)) else { unreachable!("it is") };
        let txns: Vec<_> = server.disk().after(self.seen).cloned().collect();
        self.seen = txns.last().map_or(self.seen, |txn| txn.zxid);
        let by = |session| match self.sessions.get(&session) {
            Some(id) => id.to_string(),
            None => "?".to_owned(),
        };
        txns.iter().map(|txn| format!("{} {}", by(txn.session), told(&txn.body))).collect()
    }

    /// Where each broker's log of a partition ends.
    fn logs(&self, tp: &TopicPartition) -> Vec<i64> {
        let end = |process: &ProcessId| match self.sim.process(*process) {
            Player::Broker(broker) => {
                let partition = broker.running()?.replicas().partition(tp)?;
                Some(partition.log.end().0)
            }
            _ => None,
        };
        self.brokers.values().filter_map(end).collect()
    }
}

fn told(body: &TxnBody) -> String {
    let text = |data: &zk::stat::Bytes| {
        let text = data.to_text().into_owned();
        if data.is_null() { "null".to_owned() } else { text }
    };
    match body {
        TxnBody::CreateSession { .. } => "createSession".into(),
        TxnBody::CloseSession { paths } => {
            let paths: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
            format!("closeSession {}", paths.join(" "))
        }
        TxnBody::Create(create) if create.path.name() == "state" => {
            format!("create {}", state(&create.path, &create.data))
        }
        TxnBody::SetData { path, data, version } if path.name() == "state" => {
            format!("set {} v{version}", state(path, data))
        }
        TxnBody::Create(create) => {
            let kind = if create.ephemeral { "create-e" } else { "create" };
            format!("{kind} {} {}", create.path, text(&create.data))
        }
        TxnBody::Delete { path } => format!("delete {path}"),
        TxnBody::SetData { path, data, version } => {
            format!("setData {path} {} v{version}", text(data))
        }
        TxnBody::Check { path } => format!("check {path}"),
        TxnBody::Error(error) => format!("error {error}"),
        TxnBody::Multi(parts) => match parts.as_ref() {
            [TxnBody::Check { path }, part] if path.as_str() == "/controller_epoch" => {
                format!("fenced {}", told(part))
            }
            [TxnBody::Create(_), TxnBody::SetData { path, data, .. }] => match path.name() {
                "controller_epoch" => format!("claim epoch {}", text(data)),
                _ => "register".into(),
            },
            parts => {
                let parts: Vec<String> = parts.iter().map(told).collect();
                format!("multi {}", parts.join(" | "))
            }
        },
        other => other.name().to_owned(),
    }
}

const REPLICAS: &[&[i32]] = &[&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]];

/// Three brokers with a topic of three partitions; what that has written is forgotten.
fn three_brokers() -> Play {
    let mut play = Play::new(&[1, 2, 3], |_| {});
    (1..=3).for_each(|id| play.start(id));
    play.create(1, "orders", REPLICAS);
    play.txns();
    play
}

/// What a broker writes when it comes to a tree that is there.
fn start_of(id: i32) -> Vec<String> {
    let mut txns = vec![format!("{id} createSession")];
    txns.extend(vec![format!("{id} error NodeExists"); 14]);
    txns.push(format!("{id} register"));
    txns
}

/// A partition's state in short.
fn state(path: &zk::path::Path, data: &zk::stat::Bytes) -> String {
    let parts: Vec<&str> = path.as_str().split('/').collect();
    let found = StateZnode::decode(data).expect("a controller wrote it");
    let LeaderAndIsr { leader, leader_epoch, isr, .. } = found.leadership;
    let isr = Brokers::from(isr.as_slice());
    let (topic, number, by) = (parts[3], parts[5], found.controller_epoch);
    format!("{topic}-{number} leader {leader} epoch {leader_epoch} isr {isr} by {by}")
}

#[test]
fn the_first_broker_makes_the_tree_and_becomes_controller() {
    let mut play = Play::new(&[1, 2], |_| {});
    play.start(1);
    let txns = play.txns();
    assert_eq!(txns.iter().filter(|txn| *txn == "1 error NoNode").count(), 4);
    assert_eq!(
        txns[txns.len() - 5..],
        [
            "1 register",
            "1 create /controller_epoch 0",
            "1 claim epoch 1",
            r#"1 create /feature {"features":{},"version":2,"status":1}"#,
            "1 fenced error NoNode",
        ]
    );
    play.start(2);
    assert_eq!(play.txns(), start_of(2));
}

#[test]
fn a_topic_is_written_from_its_settings_to_its_states() {
    let mut play = Play::new(&[1, 2, 3], |_| {});
    (1..=3).for_each(|id| play.start(id));
    play.txns();
    play.create(1, "orders", &[&[1, 2, 3]]);
    let mut txns = play.txns();
    let topic = txns.remove(2);
    assert!(topic.starts_with(r#"1 create /brokers/topics/orders {"partitions":{"0":[1,2,3]}"#));
    assert_eq!(
        txns,
        [
            "1 multi check /controller | error NoNode",
            r#"1 create /config/topics/orders {"version":1,"config":{}}"#,
            "1 fenced create /brokers/topics/orders/partitions null",
            "1 fenced create /brokers/topics/orders/partitions/0 null",
            "1 fenced create orders-0 leader 1 epoch 0 isr 1,2,3 by 1",
        ]
    );
}

#[test]
fn a_follower_dies_and_comes_back() {
    let mut play = three_brokers();
    let tp = TopicPartition::new("orders", 1);
    assert_eq!(play.produce(2, &tp, 3), Ok(Offset(0)));
    play.kill(2);
    let expected = [
        "2 closeSession /brokers/ids/2",
        "1 fenced set orders-1 leader 3 epoch 1 isr 3,1 by 1 v1",
        "1 fenced set orders-0 leader 1 epoch 1 isr 1,3 by 1 v1",
        "1 fenced set orders-2 leader 3 epoch 1 isr 3,1 by 1 v1",
    ];
    assert_eq!(play.txns(), expected);
    assert_eq!(play.produce(3, &tp, 2), Ok(Offset(3)));
    play.start(2);
    let mut txns = play.txns();
    let mut isrs = txns.split_off(16);
    isrs.sort();
    assert_eq!(txns, start_of(2));
    let expected = [
        "1 fenced set orders-0 leader 1 epoch 1 isr 1,3,2 by 1 v2",
        "1 fenced set orders-1 leader 3 epoch 1 isr 3,1,2 by 1 v2",
        "1 fenced set orders-2 leader 3 epoch 1 isr 3,1,2 by 1 v2",
    ];
    assert_eq!(isrs, expected);
    assert_eq!(play.logs(&tp), [5, 5, 5]);
}

#[test]
fn the_controller_dies_and_another_writes_what_it_led_twice() {
    let mut play = three_brokers();
    play.kill(1);
    let mut txns = play.txns();
    let winner = if txns.contains(&"2 claim epoch 2".to_owned()) { 2 } else { 3 };
    txns.retain(|txn| !txn.contains("NodeExists"));
    let fenced = |text: &str| format!("{winner} fenced {text}");
    let expected = [
        "1 closeSession /controller /brokers/ids/1".to_owned(),
        format!("{winner} claim epoch 2"),
        fenced("set orders-0 leader -1 epoch 1 isr 2,3 by 2 v1"),
        fenced("set orders-1 leader 2 epoch 1 isr 2,3 by 2 v1"),
        fenced("set orders-2 leader 3 epoch 1 isr 3,2 by 2 v1"),
        fenced("set orders-0 leader 2 epoch 2 isr 2,3 by 2 v2"),
        fenced("error NoNode"),
    ];
    assert_eq!(txns, expected);
}

#[test]
fn a_broker_stops_in_order() {
    let mut play = three_brokers();
    play.stop(3);
    let expected = [
        "1 fenced set orders-2 leader 1 epoch 1 isr 1,2 by 1 v1",
        "1 fenced set orders-0 leader 1 epoch 1 isr 1,2 by 1 v1",
        "1 fenced set orders-1 leader 2 epoch 1 isr 2,1 by 1 v1",
        "3 closeSession /brokers/ids/3",
    ];
    assert_eq!(play.txns(), expected);
}

#[test]
fn a_follower_that_stands_still_leaves_the_isr_while_somebody_waits() {
    let mut play = Play::new(&[1, 2, 3], |settings| {
        settings.zookeeper_session_timeout = Span::secs(10);
        settings.replica_lag_time_max = Span::secs(3);
    });
    (1..=3).for_each(|id| play.start(id));
    play.create(1, "orders", &[&[1, 2, 3]]);
    play.txns();
    let (process, tp) = (play.brokers[&3], TopicPartition::new("orders", 0));
    play.act(|i| i.freeze(process));
    assert_eq!(play.produce(1, &tp, 1), Ok(Offset(0)));
    assert_eq!(play.txns(), ["1 fenced set orders-0 leader 1 epoch 0 isr 1,2 by 1 v1"]);
    play.act(|i| i.thaw(process));
    play.run(3000);
    assert_eq!(play.txns(), ["1 fenced set orders-0 leader 1 epoch 0 isr 1,2,3 by 1 v2"]);
}

#[test]
fn a_broker_that_comes_back_too_early_finds_its_id_taken() {
    let mut play = three_brokers();
    let process = play.brokers[&3];
    play.act(|i| i.kill(process));
    play.act(|i| i.start(process));
    play.run(2000);
    assert_eq!(play.sim.power(process), crate::sim::Power::Off);
}

#[test]
fn a_topic_is_deleted_replica_by_replica() {
    let mut play = three_brokers();
    let request =
        DeleteTopicsRequest { topic_names: vec!["orders".into()], timeout: Span::secs(5) };
    play.ask(1, request);
    let txns = play.txns();
    assert_eq!(txns.iter().filter(|txn| txn.contains("fenced set orders-")).count(), 9);
    let expected = [
        "1 fenced delete /brokers/topics/orders",
        "1 fenced delete /config/topics/orders",
        "1 fenced delete /admin/delete_topics/orders",
    ];
    assert_eq!(txns[txns.len() - 3..], expected);
}

#[test]
fn new_partitions_are_dealt_on() {
    let mut play = three_brokers();
    let topic = CreatePartitionsTopic { name: "orders".into(), count: 4, assignments: None };
    play.ask(1, CreatePartitionsRequest { topics: vec![topic], timeout: Span::secs(5) });
    let txns = play.txns();
    let last = txns.last().expect("the state is written last");
    assert_eq!(last, "1 fenced create orders-3 leader 1 epoch 0 isr 1,3,2 by 1");
}

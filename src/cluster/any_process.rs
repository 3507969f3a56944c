//! Every kind of process under one roof, and the cluster that a set-up makes of them.
//!
//! *Invariant:* each kind does its own work; here is only who is meant, and how its words are a
//! part of the cluster's.

use super::{Cluster, Setup, Trace, Words};
use crate::kafka::broker::Broker;
use crate::kafka::consumer::Consumer;
use crate::kafka::lone;
use crate::kafka::old_consumer::OldConsumer;
use crate::kafka::producer::Producer;
use crate::kafka::release::Release;
use crate::kafka::settings::{Directory, Settings};
use crate::kafka::tools::{Bootstrap, Tool};
use crate::kafka::words::{Message, Request, Timer, Write};
use crate::sim::{Event, Outbox, Process, ProcessId};
use crate::zk::client::Config;
use crate::zk::ensemble::{Address, Ensemble, ServerId, Suffrage};
use crate::zk::server::{MyId, Server};
use crate::zk::shell::Shell;
use crate::zk::words as zk;

/// One process of any kind.
#[derive(Clone, Debug, Hash)]
pub enum AnyProcess {
    /// A ZooKeeper server.
    Zk(Box<Server>),
    /// A client of ZooKeeper that asks what somebody types.
    Shell(Box<Shell>),
    /// A broker.
    Broker(Box<Broker>),
    /// One run of one of Kafka's tools.
    Tool(Box<Tool>),
    /// A member of a group.
    Consumer(Box<Consumer>),
    /// A member of a group that coordinates in ZooKeeper.
    OldConsumer(Box<OldConsumer>),
    /// A producer.
    Producer(Box<Producer>),
    /// A broker without replicas.
    LoneBroker(Box<lone::Broker>),
    /// A producer for such brokers.
    LoneProducer(Box<lone::Producer>),
}

/// The kinds of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A ZooKeeper server.
    Zk,
    /// A client of ZooKeeper.
    Shell,
    /// A broker.
    Broker,
    /// One run of one of Kafka's tools.
    Tool,
    /// A member of a group.
    Consumer,
    /// A member of a group that coordinates in ZooKeeper.
    OldConsumer,
    /// A producer.
    Producer,
}

impl AnyProcess {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            AnyProcess::Zk(_) => Kind::Zk,
            AnyProcess::Shell(_) => Kind::Shell,
            AnyProcess::Broker(_) | AnyProcess::LoneBroker(_) => Kind::Broker,
            AnyProcess::Tool(_) => Kind::Tool,
            AnyProcess::Consumer(_) => Kind::Consumer,
            AnyProcess::OldConsumer(_) => Kind::OldConsumer,
            AnyProcess::Producer(_) | AnyProcess::LoneProducer(_) => Kind::Producer,
        }
    }

    /// The server, if it is one.
    pub fn zk(&self) -> Option<&Server> {
        if let AnyProcess::Zk(server) = self { Some(server) } else { None }
    }

    /// The shell, if it is one.
    pub fn shell(&self) -> Option<&Shell> {
        if let AnyProcess::Shell(shell) = self { Some(shell) } else { None }
    }

    /// The broker, if it is one.
    pub fn broker(&self) -> Option<&Broker> {
        if let AnyProcess::Broker(broker) = self { Some(broker) } else { None }
    }

    /// The run of a tool, if it is one.
    pub fn tool(&self) -> Option<&Tool> {
        if let AnyProcess::Tool(tool) = self { Some(tool) } else { None }
    }

    /// The consumer, if it is one.
    pub fn consumer(&self) -> Option<&Consumer> {
        if let AnyProcess::Consumer(consumer) = self { Some(consumer) } else { None }
    }

    /// The consumer that coordinates in ZooKeeper, if it is one.
    pub fn old_consumer(&self) -> Option<&OldConsumer> {
        if let AnyProcess::OldConsumer(consumer) = self { Some(consumer) } else { None }
    }

    /// The producer, if it is one.
    pub fn producer(&self) -> Option<&Producer> {
        if let AnyProcess::Producer(producer) = self { Some(producer) } else { None }
    }

    /// The broker without replicas, if it is one.
    pub fn lone_broker(&self) -> Option<&lone::Broker> {
        if let AnyProcess::LoneBroker(broker) = self { Some(broker) } else { None }
    }

    /// The producer for such brokers, if it is one.
    pub fn lone_producer(&self) -> Option<&lone::Producer> {
        if let AnyProcess::LoneProducer(producer) = self { Some(producer) } else { None }
    }

    /// The settings of a broker, with or without replicas.
    pub fn broker_settings(&self) -> Option<&Settings> {
        match self {
            AnyProcess::Broker(broker) => Some(broker.settings()),
            AnyProcess::LoneBroker(broker) => Some(broker.settings()),
            _ => None,
        }
    }

    /// What asks this process to stop in order, if it can.
    pub fn stop_request(&self) -> Option<Request> {
        match self {
            AnyProcess::Zk(_) | AnyProcess::Shell(_) => Some(Request::Zk(zk::Request::Stop)),
            AnyProcess::Broker(_)
            | AnyProcess::Consumer(_)
            | AnyProcess::OldConsumer(_)
            | AnyProcess::Producer(_)
            | AnyProcess::LoneBroker(_)
            | AnyProcess::LoneProducer(_) => Some(Request::Stop),
            AnyProcess::Tool(_) => None,
        }
    }
}

impl AnyProcess {
    /// Changes the file `myid` of a ZooKeeper server.
    pub(super) fn set_myid(&mut self, myid: MyId) {
        if let AnyProcess::Zk(server) = self {
            server.set_myid(myid);
        }
    }
}

impl Process for AnyProcess {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match self {
            AnyProcess::Zk(server) => as_zk(&mut **server, event, out),
            AnyProcess::Shell(shell) => as_zk(&mut **shell, event, out),
            AnyProcess::Broker(broker) => broker.handle(event, out),
            AnyProcess::Tool(tool) => tool.handle(event, out),
            AnyProcess::Consumer(consumer) => consumer.handle(event, out),
            AnyProcess::OldConsumer(consumer) => consumer.handle(event, out),
            AnyProcess::Producer(producer) => producer.handle(event, out),
            AnyProcess::LoneBroker(broker) => broker.handle(event, out),
            AnyProcess::LoneProducer(producer) => producer.handle(event, out),
        }
    }

    fn crash(&mut self) {
        match self {
            AnyProcess::Zk(server) => server.crash(),
            AnyProcess::Shell(shell) => shell.crash(),
            AnyProcess::Broker(broker) => broker.crash(),
            AnyProcess::Tool(tool) => tool.crash(),
            AnyProcess::Consumer(consumer) => consumer.crash(),
            AnyProcess::OldConsumer(consumer) => consumer.crash(),
            AnyProcess::Producer(producer) => producer.crash(),
            AnyProcess::LoneBroker(broker) => broker.crash(),
            AnyProcess::LoneProducer(producer) => producer.crash(),
        }
    }

    fn wipe(&mut self) {
        match self {
            AnyProcess::Zk(server) => server.wipe(),
            AnyProcess::Broker(broker) => broker.wipe(),
            _ => {}
        }
    }
}

/// Runs a process that speaks ZooKeeper's words only; what it does not understand it does not hear.
fn as_zk<P>(process: &mut P, event: Event<Words>, out: &mut Outbox<'_, Words>)
where
    P: Process<Words = zk::Words>,
{
    if let Some(event) = zk_event(event) {
        out.embed(|out| process.handle(event, out));
    }
}

fn zk_event(event: Event<Words>) -> Option<Event<zk::Words>> {
    match event {
        Event::Boot => Some(Event::Boot),
        Event::Hangup { peer } => Some(Event::Hangup { peer }),
        Event::Message { from, message: Message::Zk(message) } => {
            Some(Event::Message { from, message })
        }
        Event::Timer(Timer::Zk(timer)) => Some(Event::Timer(timer)),
        Event::Written(Write::Zk(write)) => Some(Event::Written(write)),
        Event::Failed(Write::Zk(write)) => Some(Event::Failed(write)),
        Event::Request(Request::Zk(request)) => Some(Event::Request(request)),
        _ => None,
    }
}

/// The cluster of a set-up at time zero: everything has just been started.
pub fn assemble(setup: &Setup, trace: &mut Trace) -> Cluster {
    let mut cluster = Cluster::new(setup.seed, setup.network());
    for (id, server) in zk_servers(setup) {
        cluster.add(&id.to_string(), AnyProcess::Zk(Box::new(server)));
    }
    for (id, broker) in setup.brokers.iter().zip(brokers(setup, &cluster)) {
        cluster.add(&format!("broker{id}"), broker);
    }
    let ids: Vec<_> = cluster.processes().map(|(id, _, _)| id).collect();
    cluster.intervene(("setup", None), trace, |i| ids.iter().for_each(|id| i.start(*id)));
    cluster
}

/// The ZooKeeper servers of a set-up: one alone, or an ensemble. They get the first process ids.
fn zk_servers(setup: &Setup) -> Vec<(ServerId, Server)> {
    let settings = setup.zk_settings();
    if setup.zookeeper == 1 && setup.observers == 0 {
        return vec![(ServerId(1), Server::standalone(settings))];
    }
    let address = |id: u8| Address { id: ServerId(id), process: ProcessId(u16::from(id) - 1) };
    let suffrage = |id| if id <= setup.zookeeper { Suffrage::Voter } else { Suffrage::Observer };
    let ids = 1..=setup.zookeeper + setup.observers;
    let ensemble = Ensemble::new(ids.clone().map(|id| (address(id), suffrage(id))));
    let server = |id| (id, Server::of_ensemble(id, ensemble.clone(), settings));
    ids.map(|id| server(ServerId(id))).collect()
}

/// The brokers of a set-up, which get the process ids after those of the servers.
fn brokers(setup: &Setup, cluster: &Cluster) -> Vec<AnyProcess> {
    let servers = connection(cluster, setup.broker_session_timeout()).servers;
    let settings =
        |&id: &i32| Settings { zookeeper_connect: servers.clone(), ..setup.broker_settings(id) };
    let settings: Vec<Settings> = setup.brokers.iter().map(settings).collect();
    let first = u16::from(setup.zookeeper + setup.observers);
    let address = |(process, settings): (u16, &Settings)| {
        ((settings.host.clone(), settings.port), ProcessId(process))
    };
    let directory = Directory::new((first..).zip(&settings).map(address));
    settings.into_iter().map(|settings| broker(settings, directory.clone())).collect()
}

/// A broker as its release has them.
pub(super) fn broker(settings: Settings, directory: Directory) -> AnyProcess {
    match settings.release.brokers_are_alone() {
        true => AnyProcess::LoneBroker(Box::new(lone::Broker::new(settings, directory))),
        false => AnyProcess::Broker(Box::new(Broker::new(settings, directory))),
    }
}

/// The brokers that a client begins with: all that there are.
pub fn bootstrap(cluster: &Cluster) -> Bootstrap {
    let brokers =
        cluster.processes().filter_map(|(id, _, process)| Some((id, process.broker_settings()?)));
    let known: Vec<(ProcessId, String)> =
        brokers.map(|(id, broker)| (id, format!("{}:{}", broker.host, broker.port))).collect();
    let brokers = cluster.processes().find_map(|(_, _, process)| process.broker_settings());
    let shown: Vec<&str> = known.iter().map(|(_, address)| &**address).collect();
    let ensemble = connection(cluster, crate::sim::Span::ZERO).servers;
    let servers = ensemble.iter().map(|server| format!("zk{}:2181", server.id));
    Bootstrap {
        shown: shown.join(",").into(),
        processes: known.iter().map(|(id, _)| *id).collect(),
        release: brokers.map_or(Release::V3_9_1, |broker| broker.release),
        zookeeper_connect: servers.collect::<Vec<_>>().join(",").into(),
        ensemble,
    }
}

/// A connection string with every server of the cluster.
pub fn connection(cluster: &Cluster, timeout: crate::sim::Span) -> Config {
    let servers = cluster.processes().filter(|(_, _, process)| process.zk().is_some());
    let address =
        |(place, (process, _, _)): (u8, (_, _, _))| Address { id: ServerId(place), process };
    Config { servers: (1..).zip(servers).map(address).collect(), timeout }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::command::{self, Command};
    use crate::cluster::notation::Line;
    use crate::kafka::consumer::Standing;
    use crate::sim::{Moment, Span};

    #[test]
    fn brokers_without_replicas_have_no_tools_and_other_settings() {
        let mut trace = Trace::default();
        let mut line = Line::parse(1, "release=0.7.2").expect("it is right");
        let setup = Setup::parse(&mut line).expect("it is right");
        let mut cluster = assemble(&setup, &mut trace);
        let mut check = |text, expected: Option<&str>| {
            let command = Command::parse(1, text).expect("it is right");
            let refusal = command::apply(&command, &mut cluster, &mut trace).err();
            assert_eq!(refusal.map(|refusal| refusal.to_string()).as_deref(), expected, "{text}");
        };
        let tool = "Kafka 0.7.2 has no kafka-topics: a topic is there once a broker gets a record \
                    for it, and who is in a group is in ZooKeeper";
        check("topic orders", Some(tool));
        let acks = "a producer of Kafka 0.7.2 has no setting acks";
        check("add producer p1 acks=1", Some(acks));
        check("add producer p1", None);
        check("add producer p2 broker.list=1:broker1:9092", None);
        check("add broker 4", None);
    }

    #[test]
    fn a_cluster_serves_a_producer_and_a_group() {
        let (setup, mut trace) = (Setup::default(), Trace::default());
        let mut cluster = assemble(&setup, &mut trace);
        let commands = [
            "kafka-topics --create --topic orders --partitions 3 --replication-factor 3",
            "add producer p1 topic=orders every=500ms keys=3",
            "add consumer c1 group=g1 topics=orders",
            "add consumer c2 group=g1 topics=orders",
        ];
        for text in commands {
            let end = cluster.now() + Span::secs(10);
            cluster.advance_to(Moment::after(end), &mut trace);
            let command = Command::parse(1, text).expect("it is right");
            command::apply(&command, &mut cluster, &mut trace).expect("it can be done");
        }
        let end = cluster.now() + Span::secs(20);
        cluster.advance_to(Moment::after(end), &mut trace);
        let find = |name| cluster.process(cluster.find(name).expect("it was added"));
        let (acked, failed) = find("p1").producer().expect("a producer").outcomes();
        assert!(acked > 50 && failed == 0, "{acked} acked, {failed} failed");
        for name in ["c1", "c2"] {
            let consumer = find(name).consumer().expect("a consumer");
            assert_eq!(consumer.standing(), Standing::Stable, "{name}");
            assert!(!consumer.partitions().is_empty(), "{name}");
        }
    }
}

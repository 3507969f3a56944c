//! Every kind of process under one roof, and the cluster that a set-up makes of them.
//!
//! *Invariant:* each kind does its own work; here is only who is meant, and how its words are a part
//! of the cluster's.

use super::{Cluster, Setup, Trace, Words};
use crate::kafka::consumer::Consumer;
use crate::kafka::producer::Producer;
use crate::kafka::words::{Message, Request, Timer, Write};
use crate::sim::{Event, Outbox, Process, ProcessId};
use crate::zk::client::Config;
use crate::zk::ensemble::{Address, Ensemble, ServerId};
use crate::zk::request::{Create, Op, mode};
use crate::zk::server::Server;
use crate::zk::shell::Shell;
use crate::zk::words as zk;
use std::sync::Arc;

/// One process of any kind.
#[derive(Clone, Debug, Hash)]
pub enum AnyProcess {
    /// A ZooKeeper server.
    Zk(Box<Server>),
    /// A client of ZooKeeper that asks what somebody types.
    Shell(Box<Shell>),
    /// A member of a group.
    Consumer(Box<Consumer>),
    /// A producer.
    Producer(Box<Producer>),
}

/// The kinds of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A ZooKeeper server.
    Zk,
    /// A client of ZooKeeper.
    Shell,
    /// A member of a group.
    Consumer,
    /// A producer.
    Producer,
}

impl AnyProcess {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            AnyProcess::Zk(_) => Kind::Zk,
            AnyProcess::Shell(_) => Kind::Shell,
            AnyProcess::Consumer(_) => Kind::Consumer,
            AnyProcess::Producer(_) => Kind::Producer,
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

    /// The consumer, if it is one.
    pub fn consumer(&self) -> Option<&Consumer> {
        if let AnyProcess::Consumer(consumer) = self { Some(consumer) } else { None }
    }

    /// The producer, if it is one.
    pub fn producer(&self) -> Option<&Producer> {
        if let AnyProcess::Producer(producer) = self { Some(producer) } else { None }
    }

    /// What asks this process to stop in order, if it can.
    pub fn stop_request(&self) -> Option<Request> {
        match self {
            AnyProcess::Zk(_) | AnyProcess::Shell(_) => Some(Request::Zk(zk::Request::Stop)),
            AnyProcess::Consumer(_) | AnyProcess::Producer(_) => Some(Request::Stop),
        }
    }
}

impl Process for AnyProcess {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match self {
            AnyProcess::Zk(server) => as_zk(&mut **server, event, out),
            AnyProcess::Shell(shell) => as_zk(&mut **shell, event, out),
            AnyProcess::Consumer(consumer) => consumer.handle(event, out),
            AnyProcess::Producer(producer) => producer.handle(event, out),
        }
    }

    fn crash(&mut self) {
        match self {
            AnyProcess::Zk(server) => server.crash(),
            AnyProcess::Shell(shell) => shell.crash(),
            AnyProcess::Consumer(consumer) => consumer.crash(),
            AnyProcess::Producer(producer) => producer.crash(),
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
    for id in &setup.brokers {
        let config = connection(&cluster, setup.broker_session_timeout());
        let registered = [
            Create::new("/brokers", "", mode::PERSISTENT),
            Create::new("/brokers/ids", "", mode::PERSISTENT),
            Create::new(format!("/brokers/ids/{id}"), "{}", mode::EPHEMERAL),
        ];
        let first = registered.into_iter().map(|create| Op::Create(Arc::new(create))).collect();
        let shell = Box::new(Shell::new(config, first));
        cluster.add(&format!("broker{id}"), AnyProcess::Shell(shell));
    }
    let ids: Vec<_> = cluster.processes().map(|(id, _, _)| id).collect();
    cluster.intervene(("setup", None), trace, |i| ids.iter().for_each(|id| i.start(*id)));
    cluster
}

/// The ZooKeeper servers of a set-up: one alone, or an ensemble. They get the first process ids.
fn zk_servers(setup: &Setup) -> Vec<(ServerId, Server)> {
    let settings = setup.zk_settings();
    if setup.zookeeper == 1 {
        return vec![(ServerId(1), Server::standalone(settings))];
    }
    let address = |id: u8| Address { id: ServerId(id), process: ProcessId(u16::from(id) - 1) };
    let ensemble = Ensemble::of_voters((1..=setup.zookeeper).map(address));
    let server = |id| (id, Server::of_ensemble(id, ensemble.clone(), settings));
    (1..=setup.zookeeper).map(|id| server(ServerId(id))).collect()
}

/// A connection string with every server of the cluster.
pub fn connection(cluster: &Cluster, timeout: crate::sim::Span) -> Config {
    let servers = cluster.processes().filter(|(_, _, process)| process.zk().is_some());
    let address =
        |(place, (process, _, _)): (u8, (_, _, _))| Address { id: ServerId(place), process };
    Config { servers: (1..).zip(servers).map(address).collect(), timeout }
}

//! Every kind of process under one roof.
//!
//! *Invariant:* each kind does its own work; here is only who is meant.

use super::{Cluster, Setup, Trace, Words};
use crate::sim::{Event, Outbox, Process, ProcessId, Span};
use crate::zk::words::{Message, Request, Timer, xid};
use crate::zk::{reply::Answer, request::Op, words::Reply, zxid::Zxid};

/// One process of any kind.
#[derive(Clone, Debug, Hash)]
pub enum AnyProcess {
    /// Pings the first process.
    Pinger(Pinger),
}

/// Pings another every two seconds.
#[derive(Clone, Debug, Hash)]
pub struct Pinger {
    peer: Option<ProcessId>,
    heard: u32,
}

impl AnyProcess {
    /// What asks this process to stop in order, if it can.
    pub fn stop_request(&self) -> Option<Request> {
        None
    }
}

/// The cluster of a set-up at time zero: everything has just been started.
pub fn assemble(setup: &Setup, trace: &mut Trace) -> Cluster {
    let mut cluster = Cluster::new(setup.seed, setup.network());
    for server in 1..=setup.zookeeper {
        cluster.add(&format!("zk{server}"), AnyProcess::Pinger(Pinger { peer: None, heard: 0 }));
    }
    for id in &setup.brokers {
        let pinger = Pinger { peer: Some(ProcessId(0)), heard: 0 };
        cluster.add(&format!("broker{id}"), AnyProcess::Pinger(pinger));
    }
    let ids: Vec<_> = cluster.processes().map(|(id, _, _)| id).collect();
    cluster.intervene(("setup", None), trace, |i| ids.iter().for_each(|id| i.start(*id)));
    cluster
}

impl Process for AnyProcess {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match self {
            AnyProcess::Pinger(pinger) => pinger.handle(event, out),
        }
    }

    fn crash(&mut self) {
        match self {
            AnyProcess::Pinger(pinger) => pinger.heard = 0,
        }
    }
}

impl Pinger {
    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Message { from, message: Message::Request { .. } } => {
                self.heard += 1;
                let result = Ok(Answer::Nothing);
                out.send(from, Message::Reply(Reply { xid: xid::PING, zxid: Zxid(0), result }));
            }
            Event::Boot | Event::Timer(_) => {
                if let Some(peer) = self.peer {
                    out.send(peer, Message::Request { xid: xid::PING, op: Op::Ping });
                    out.arm_within(Timer::SessionTick, Span::ms(1990)..Span::ms(2010));
                }
            }
            _ => self.heard += 1,
        }
    }
}

//! The law of liveness: left alone for long enough, a healed cluster comes to rest.
//!
//! *Invariant:* it is asked only when everything runs, no cable is cut, and time has gone by.

use super::{Verdict, none};
use crate::cluster::{AnyProcess, Cluster};
use crate::kafka::broker::Phase;
use crate::kafka::consumer::{Activity, Standing};
use crate::sim::{Power, ProcessId};
use crate::zk::client::State;

/// Whether everybody has come to rest.
pub fn settled(cluster: &Cluster) -> Verdict {
    for (id, name, process) in cluster.processes() {
        if is_meant_to_run(process) {
            restful(cluster, id, process).map_err(|why| format!("{name} {why}"))?;
        }
    }
    Ok(())
}

/// Whether the process is one that runs until somebody ends it.
pub fn is_meant_to_run(process: &AnyProcess) -> bool {
    match process {
        AnyProcess::Zk(_) | AnyProcess::Shell(_) | AnyProcess::Broker(_) => true,
        AnyProcess::Tool(_) => false,
        AnyProcess::Consumer(consumer) => consumer.activity() == Activity::Polling,
        AnyProcess::Producer(producer) => producer.is_running(),
    }
}

fn restful(cluster: &Cluster, id: ProcessId, process: &AnyProcess) -> Verdict {
    if cluster.power(id) != Power::Running {
        return Err("does not run".into());
    }
    match process {
        AnyProcess::Zk(server) => {
            let serves =
                server.peer().map_or(server.database().is_some(), |peer| peer.epoch().is_some());
            none((!serves).then_some("does not serve"))
        }
        AnyProcess::Shell(shell) => {
            let state = shell.client().map(|client| client.state());
            none((state != Some(State::Connected)).then_some("has no session"))
        }
        AnyProcess::Consumer(consumer) => {
            none((consumer.standing() != Standing::Stable).then_some("has no share"))
        }
        AnyProcess::Broker(broker) => {
            let serves = broker.running().is_some_and(|now| *now.phase() == Phase::Serving);
            none((!serves).then_some("does not serve"))
        }
        AnyProcess::Producer(_) | AnyProcess::Tool(_) => Ok(()),
    }
}

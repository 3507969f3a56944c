//! The law of liveness: left alone for long enough, a healed cluster comes to rest.
//!
//! *Invariant:* it is asked only when everything runs, no cable is cut, and time has gone by.

use super::{Verdict, none};
use crate::cluster::{AnyProcess, Cluster};
use crate::kafka::broker::{Broker, Phase};
use crate::kafka::consumer::{Activity, Standing};
use crate::kafka::id::BrokerId;
use crate::sim::{Power, ProcessId};
use crate::zk::client::State;

/// Whether everybody has come to rest.
pub fn settled(cluster: &Cluster) -> Verdict {
    for (id, name, process) in cluster.processes() {
        if is_meant_to_run(process) {
            restful(cluster, id, process).map_err(|why| format!("{name} {why}"))?;
        }
    }
    one_controller(cluster)
}

/// Where there are brokers, one of them is the controller.
fn one_controller(cluster: &Cluster) -> Verdict {
    let running =
        |process: &AnyProcess| Some(process.broker()?.running()?.controller().is_active());
    let active: Vec<bool> =
        cluster.processes().filter_map(|(_, _, process)| running(process)).collect();
    let controllers = active.iter().filter(|active| **active).count();
    let fine = active.is_empty() || controllers == 1;
    if fine { Ok(()) } else { Err(format!("{controllers} brokers are the controller")) }
}

/// Whether the process is one that runs until somebody ends it.
pub fn is_meant_to_run(process: &AnyProcess) -> bool {
    match process {
        AnyProcess::Tool(_) => false,
        AnyProcess::Zk(_) | AnyProcess::Broker(_) | AnyProcess::Shell(_) => true,
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
        AnyProcess::Broker(broker) => broker_rests(broker),
        AnyProcess::Producer(producer) => {
            let waiting = producer.settings().steady.is_none() && producer.outstanding() > 0;
            none(waiting.then_some("has records without an answer"))
        }
        AnyProcess::Consumer(consumer) => {
            none((consumer.standing() != Standing::Stable).then_some("has no share of its group"))
        }
        AnyProcess::Tool(_) => Ok(()),
        AnyProcess::Shell(shell) => {
            let state = shell.client().map(|client| client.state());
            none((state != Some(State::Connected)).then_some("has no session"))
        }
    }
}

/// It serves, and everything it leads has all replicas in sync.
fn broker_rests(broker: &Broker) -> Verdict {
    let Some(running) = broker.running() else { return Err("has not begun".into()) };
    if *running.phase() != Phase::Serving {
        return Err("does not serve".into());
    }
    for partition in running.replicas().partitions() {
        let tp = &partition.tp;
        if partition.leader == BrokerId::NONE {
            return Err(format!("knows no leader of {tp}"));
        }
        if partition.leads() && partition.isr.len() != partition.replicas.len() {
            return Err(format!("leads {tp}, and not all replicas are in sync"));
        }
    }
    Ok(())
}

//! The law of liveness: left alone for long enough, a healed cluster comes to rest.
//!
//! *Invariant:* it is asked only when everything runs, no cable is cut, and time has gone by.

use super::zk::decided;
use super::{Verdict, none};
use crate::cluster::{AnyProcess, Cluster};
use crate::kafka::broker::{Broker, Phase, Running};
use crate::kafka::consumer::{Activity, Standing};
use crate::kafka::controller::{Knowledge, PartitionPhase};
use crate::kafka::id::{BrokerId, TopicPartition};
use crate::kafka::lone;
use crate::kafka::old_consumer::words::Wanted;
use crate::kafka::old_consumer::{self, OldConsumer};
use crate::kafka::partition::Partition;
use crate::kafka::znodes::{self, consumers::KeptGroup};
use crate::sim::{Power, ProcessId};
use crate::zk::client::State;
use crate::zk::quorum_peer::{PeerRole, QuorumPeer};
use crate::zk::server::Server;

/// Whether everybody has come to rest.
pub fn settled(cluster: &Cluster) -> Verdict {
    for (id, name, process) in cluster.processes() {
        if is_meant_to_run(process) {
            restful(cluster, id, process).map_err(|why| format!("{name} {why}"))?;
        }
    }
    one_controller(cluster)?;
    old_groups_own_all(cluster, Those::WhoGaveUp)
}

/// Who has to be started again for the cluster to come to rest, because real ones are stuck here,
/// too, until somebody does it: one after the other, in this order.
pub fn stuck(cluster: &Cluster) -> Vec<ProcessId> {
    let below = below_a_promise(cluster);
    if !below.is_empty() {
        return below;
    }
    let one = missed_an_answer(cluster).or_else(|| missed_a_restart(cluster));
    one.or_else(|| lone_and_unregistered(cluster)).into_iter().collect()
}

/// A leader of ZooKeeper that a server cannot follow, and those who can: it has promised a later
/// epoch to one who came to nothing. The leader serves with the others, and its epoch is settled;
/// so who has promised looks for ever. A leader that begins again with the same followers goes one
/// epoch on, which may be too little; but if they come one after the other, the first quorum is
/// one with who has promised.
// Source: Learner.registerWithLeader: "Leaders epoch, … is less than accepted epoch, …", and
// Leader.getEpochToPropose, which changes nothing once a quorum is there; recorded with a majority
// that was wiped (a-wiped-majority-meets-a-later-epoch).
fn below_a_promise(cluster: &Cluster) -> Vec<ProcessId> {
    let peers = || cluster.processes().filter_map(|(id, _, process)| Some((id, process.zk()?)));
    let accepted = |server: &Server| server.disk().epochs.accepted;
    let Some(promised) = peers().map(|(_, server)| accepted(server)).max() else {
        return Vec::new();
    };
    let leads = |server: &Server| {
        let peer = server.peer().filter(|peer| matches!(peer.role(), PeerRole::Leading(_)));
        peer.and_then(QuorumPeer::epoch).is_some_and(|epoch| epoch < promised)
    };
    let below = peers().filter(|(_, server)| accepted(server) < promised).map(|(id, _)| id);
    if peers().any(|(_, server)| leads(server)) { below.collect() } else { Vec::new() }
}

/// A broker that knows less of a partition than ZooKeeper keeps, be it as controller or as leader:
/// the write was done, but the answer was lost with the connection, and the write that it then
/// repeated was refused.
///
/// A controller never gets over a new partition's state that it finds already there. From 2.7 on
/// it writes the ISRs too, at the version that it remembers; before, it reads before it writes, but
/// a leader writes at the version that it remembers.
// Source: ZkPartitionStateMachine.initializeLeaderAndIsrForPartitions, to 1.0
// PartitionStateMachine.initializeLeaderAndIsrForPartition (NodeExists: the state change failed);
// KafkaController.processAlterPartition (BadVersion: INVALID_UPDATE_VERSION, and the knowledge
// stays) and Partition.handleAlterPartitionError ("Giving up"); Partition.updateIsr ("Cached
// zkVersion", L3, KAFKA-2729); KafkaZkClient.retryRequestsUntilConnected.
fn missed_an_answer(cluster: &Cluster) -> Option<ProcessId> {
    let tree = &decided(cluster)?.tree;
    let kept = |tp: &TopicPartition| Some(tree.znode(&znodes::state(tp))?.stat.version);
    let controls_behind = |broker: &Broker, knowledge: &Knowledge| {
        let new = knowledge.in_phases(&[PartitionPhase::New]);
        let known = |tp: &TopicPartition| knowledge.leadership(tp).map(|lead| lead.partition_epoch);
        let led = match broker.settings().release.leaders_write_isrs() {
            true => Vec::new(),
            false => knowledge.with_leadership(),
        };
        new.iter().chain(&led).any(|tp| kept(tp).is_some() && kept(tp) != known(tp))
    };
    let leads_behind =
        |p: &Partition| p.leads() && kept(&p.tp).is_some_and(|kept| kept > p.partition_epoch);
    let is_behind = |broker: &Broker, running: &Running| {
        let controller = running.controller();
        let writes = broker.settings().release.leaders_write_isrs();
        controller.is_active() && controls_behind(broker, controller.knowledge())
            || writes && running.replicas().partitions().any(leads_behind)
    };
    let mut behind = running(cluster).filter(|(_, broker, running)| is_behind(broker, running));
    behind.next().map(|(id, _, _)| id)
}

/// The brokers that run.
fn running(cluster: &Cluster) -> impl Iterator<Item = (ProcessId, &Broker, &Running)> {
    cluster.processes().filter_map(|(id, _, process)| {
        let broker = process.broker()?;
        Some((id, broker, broker.running()?))
    })
}

/// A broker that went and came back before the controller looked: that read the list of ids with
/// the broker in it both times. So it has not told it of its replicas, and if it had let it go in
/// order, it still takes it for one that goes.
// Source: KAFKA-1120, KIP-380 (2.2: registrations are told apart by their czxid)
fn missed_a_restart(cluster: &Cluster) -> Option<ProcessId> {
    let (_, controller, active) =
        running(cluster).find(|(_, _, it)| it.controller().is_active())?;
    if controller.settings().release.brokers_have_epochs() {
        return None;
    }
    let knowledge = active.controller().knowledge();
    let lacks = |broker: &Broker, it: &Running| {
        let its = knowledge.partitions_on(broker.id());
        let mut led = its.iter().filter(|tp| knowledge.leadership(tp).is_some());
        let is_told = |tp: &TopicPartition| it.replicas().partition(tp).is_some();
        *it.phase() == Phase::Serving
            && knowledge.registered().contains(&broker.id())
            && (!knowledge.is_online(broker.id()) || !led.all(is_told))
    };
    running(cluster).find(|(_, broker, it)| lacks(broker, it)).map(|(id, _, _)| id)
}

/// A broker of 0.7 that serves and is not registered: it was told that its session is over by a
/// leader of ZooKeeper that had no quorum any more, and found its id in the way of its new session,
/// because the next leader had never heard of that end.
// Source: KafkaZooKeeper.SessionExpireListener.handleNewSession: registerBrokerInZk throws, which
// ZkEventThread.run only logs (0.7.2, zkclient 0.1)
fn lone_and_unregistered(cluster: &Cluster) -> Option<ProcessId> {
    let is_lost = |broker: &lone::Broker| {
        broker.running().is_some_and(|running| {
            let connected = running.zookeeper().client().state() == State::Connected;
            running.phase() == lone::Phase::Serving && connected && !running.is_registered()
        })
    };
    let mut lone =
        cluster.processes().filter_map(|(id, _, process)| Some((id, process.lone_broker()?)));
    lone.find(|(_, broker)| is_lost(broker)).map(|(id, _)| id)
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
        AnyProcess::Zk(_)
        | AnyProcess::Broker(_)
        | AnyProcess::LoneBroker(_)
        | AnyProcess::Shell(_) => true,
        AnyProcess::LoneProducer(producer) => producer.is_running(),
        AnyProcess::Consumer(consumer) => consumer.activity() == Activity::Polling,
        AnyProcess::OldConsumer(consumer) => {
            !matches!(consumer.activity(), old_consumer::Activity::Closing)
        }
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
        AnyProcess::LoneBroker(broker) => {
            let rests = broker.running().is_some_and(|running| running.is_registered());
            none((!rests).then_some("has not registered all that it has"))
        }
        AnyProcess::LoneProducer(producer) => {
            let waits = producer.settings().steady.is_none() && producer.waiting() > 0;
            none(waits.then_some("has records to send"))
        }
        AnyProcess::Producer(producer) => {
            let waiting = producer.settings().steady.is_none() && producer.outstanding() > 0;
            none(waiting.then_some("has records without an answer"))
        }
        AnyProcess::Consumer(consumer) => {
            none((consumer.standing() != Standing::Stable).then_some("has no share of its group"))
        }
        AnyProcess::OldConsumer(consumer) => old_member_rests(consumer),
        AnyProcess::Tool(_) => Ok(()),
        AnyProcess::Shell(shell) => {
            let state = shell.client().map(|client| client.state());
            none((state != Some(State::Connected)).then_some("has no session"))
        }
    }
}

/// It owns its share, or has given up for good, as real ones do.
fn old_member_rests(consumer: &OldConsumer) -> Verdict {
    let rests = matches!(consumer.standing(), old_consumer::Standing::Balanced)
        || matches!(consumer.standing(), old_consumer::Standing::GaveUp);
    none((!rests).then_some("has not rebalanced"))
}

/// Whose groups are let off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Those {
    /// A member has used up its attempts and waits.
    WhoGaveUp,
    /// None.
    Nobody,
}

/// L8: in a group that meets in ZooKeeper every partition is owned.
pub(super) fn old_groups_own_all(cluster: &Cluster, excused: Those) -> Verdict {
    let members = || {
        let runs = |id: ProcessId| cluster.power(id) == Power::Running;
        let running = cluster.processes().filter(move |(id, _, _)| runs(*id));
        running.filter_map(|(_, _, process)| process.old_consumer())
    };
    let running =
        || members().filter(|member| member.activity() != old_consumer::Activity::Closing);
    let Some(database) = decided(cluster) else { return Ok(()) };
    for member in running() {
        let group = &member.settings().group_id;
        let mut same = running().filter(|other| other.settings().group_id == *group);
        let Wanted::Topics(topics) = &member.settings().wanted else { continue };
        let gave_up = same.any(|other| other.standing() == old_consumer::Standing::GaveUp);
        if gave_up && excused == Those::WhoGaveUp {
            continue;
        }
        let kept = KeptGroup::of(&database.tree, group);
        for (topic, _) in topics {
            let znode = database.tree.znode(&znodes::topic(topic));
            let znode = znode.and_then(|znode| znodes::TopicZnode::decode(&znode.data));
            let mut all = znode.iter().flat_map(|znode| znode.partitions.keys());
            let owned = |n: i32| kept.owners.contains_key(&TopicPartition::new(topic.clone(), n));
            let unowned = all.find(|number| !owned(**number));
            none(unowned.map(|number| format!("nobody in {group} owns {topic}-{number}")))?;
        }
    }
    Ok(())
}

/// Whether no partition of an old group lacks an owner but for members that have used up their
/// attempts.
pub(super) fn old_members_gave_up(cluster: &Cluster) -> bool {
    old_groups_own_all(cluster, Those::WhoGaveUp).is_ok()
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

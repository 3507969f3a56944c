//! The laws of liveness, as a person sees them live: what comes about once a cluster has been left
//! alone for long enough, with whoever is dead staying dead.
//!
//! Time counts from the last command, and only while no cable is cut.
//!
//! Not here: whether a healed cluster comes to rest as a whole (`settled`).
//!
//! *Invariant:* a process that is off or frozen owes nothing, and nobody is blamed for lacking it.

use super::settled::{Those, old_groups_own_all};
use super::zk::decided;
use super::{Seen, Verdict, none};
use crate::cluster::{AnyProcess, Cluster};
use crate::kafka::broker::{Broker, Phase, Running};
use crate::kafka::consumer::{Activity, Standing};
use crate::kafka::controller::{Knowledge, PartitionPhase};
use crate::kafka::id::{BrokerId, TopicPartition};
use crate::kafka::partition::Partition;
use crate::kafka::znodes;
use crate::sim::{Power, ProcessId, Span};
use crate::zk::server::Server;

/// What an election of ZooKeeper and a few retries may take.
const SLACK: Span = Span::secs(60);

/// After how long a new controller looks at the balance for the first time.
// Source: KafkaController.onControllerFailover (scheduleAutoLeaderRebalanceTask, 5 s)
const FIRST_BALANCE: Span = Span::secs(5);

/// Whether the cluster has been left alone for so long.
fn alone_for(seen: &Seen, cluster: &Cluster, patience: Span) -> bool {
    seen.disturbed.is_none_or(|at| cluster.now() >= at + patience + SLACK)
        && cluster.now().as_micros() >= (patience + SLACK).as_micros()
        && !cluster.has_cuts()
}

fn running(cluster: &Cluster) -> impl Iterator<Item = (ProcessId, &AnyProcess)> {
    let runs = |id: &ProcessId| cluster.power(*id) == Power::Running;
    cluster.processes().map(|(id, _, process)| (id, process)).filter(move |(id, _)| runs(id))
}

/// The brokers that serve.
fn serving(cluster: &Cluster) -> Vec<(&Broker, &Running)> {
    let brokers = running(cluster).filter_map(|(_, process)| process.broker());
    let all = brokers.filter_map(|broker| Some((broker, broker.running()?)));
    all.filter(|(_, running)| *running.phase() == Phase::Serving).collect()
}

/// What the controller knows, if there is one.
fn controller<'a>(brokers: &[(&'a Broker, &'a Running)]) -> Option<(&'a Broker, &'a Knowledge)> {
    let mut active = brokers.iter().filter(|(_, running)| running.controller().is_active());
    active.next().map(|(broker, running)| (*broker, running.controller().knowledge()))
}

/// Whether a quorum of ZooKeeper serves.
fn has_quorum(cluster: &Cluster) -> bool {
    let decides = |server: &Server| server.tracker().is_some();
    running(cluster).any(|(_, process)| process.zk().is_some_and(decides))
}

fn session(broker: &Broker) -> Span {
    broker.settings().zookeeper_session_timeout
}

/// Until a broker that died is out of every ISR.
fn gone(broker: &Broker) -> Span {
    let lag = broker.settings().replica_lag_time_max;
    session(broker) + lag + lag
}

fn partitions<'a>(
    brokers: &'a [(&'a Broker, &'a Running)],
) -> impl Iterator<Item = (&'a Broker, &'a Partition)> {
    let led = |p: &&Partition| p.leads();
    brokers.iter().flat_map(move |(broker, running)| {
        running.replicas().partitions().filter(led).map(|p| (*broker, p))
    })
}

/// L1: where a quorum serves and brokers do, one of them is the controller.
pub(super) fn somebody_controls(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = serving(cluster);
    let Some((first, _)) = brokers.first() else { return Ok(()) };
    let missing = controller(&brokers).is_none()
        && has_quorum(cluster)
        && alone_for(seen, cluster, session(first));
    none(missing.then(|| format!("brokers={} controller=-", brokers.len())))
}

/// L2: a partition with a live replica in its ISR has a leader, as the controller knows it.
pub(super) fn partitions_get_leaders(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = serving(cluster);
    let Some((broker, knowledge)) = controller(&brokers) else { return Ok(()) };
    if !alone_for(seen, cluster, session(broker)) || !has_quorum(cluster) {
        return Ok(());
    }
    let could = |tp: &TopicPartition| {
        let lives = |id: &BrokerId| brokers.iter().any(|(broker, _)| broker.id() == *id);
        match knowledge.leadership(tp) {
            Some(leadership) => leadership.state.isr.iter().any(lives),
            None => knowledge.assignment(tp).replicas.iter().any(lives),
        }
    };
    let waiting = knowledge.in_phases(&[PartitionPhase::New, PartitionPhase::Offline]);
    none(waiting.iter().find(|tp| could(tp)).map(|tp| format!("partition={tp} leader=-")))
}

/// L3: a follower that lives, and follows whoever leads, is in the ISR.
pub(super) fn followers_get_in_sync(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = serving(cluster);
    for (leader, partition) in partitions(&brokers) {
        let follows = |p: &Partition| {
            p.leader == partition.leader && p.leader_epoch == partition.leader_epoch
        };
        let out = |broker: &Broker, running: &Running| {
            !partition.isr.contains(&broker.id())
                && running.replicas().partition(&partition.tp).is_some_and(follows)
        };
        let lacking = brokers.iter().find(|(broker, running)| out(broker, running));
        if let Some((lacking, _)) = lacking
            && has_quorum(cluster)
            && alone_for(seen, cluster, gone(leader))
        {
            return Err(format!("partition={} replica={} isr=-", partition.tp, lacking.id()));
        }
    }
    Ok(())
}

/// L4: who is dead or frozen leaves the ISR.
pub(super) fn the_dead_leave_the_isr(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = serving(cluster);
    for (leader, partition) in partitions(&brokers) {
        let is_dead = |id: &&BrokerId| !brokers.iter().any(|(broker, _)| broker.id() == **id);
        if let Some(dead) = partition.isr.iter().find(is_dead)
            && has_quorum(cluster)
            && alone_for(seen, cluster, gone(leader))
        {
            return Err(format!("partition={} replica={dead}", partition.tp));
        }
    }
    Ok(())
}

/// L5: where a broker lacks more than its limit of what it should lead first, it gets what it is in
/// sync with.
pub(super) fn preferred_replicas_lead(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = serving(cluster);
    let Some((controller, knowledge)) = controller(&brokers) else { return Ok(()) };
    let settings = controller.settings();
    let patience = FIRST_BALANCE + settings.leader_imbalance_check_interval;
    if !alone_for(seen, cluster, patience) || !has_quorum(cluster) {
        return Ok(());
    }
    let limit = u64::from(settings.leader_imbalance_per_broker_percentage);
    for (broker, _) in &brokers {
        let first = |tp: &TopicPartition| knowledge.assignment(tp).replicas.first().copied();
        let mut own = knowledge.with_leadership();
        own.retain(|tp| first(tp) == Some(broker.id()));
        let all = own.len() as u64;
        own.retain(|tp| knowledge.leader(tp) != Some(broker.id()));
        let is_over = own.len() as u64 * 100 > limit * all;
        let in_sync = |tp: &&TopicPartition| {
            let known = knowledge.leadership(tp);
            known.is_some_and(|known| known.state.isr.contains(&broker.id()))
        };
        if let Some(tp) = own.iter().find(in_sync).filter(|_| is_over) {
            return Err(format!("partition={tp} preferred={}", broker.id()));
        }
    }
    Ok(())
}

/// L6: a topic to be deleted goes, if every broker that has a replica of it lives.
pub(super) fn deleted_topics_go(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = serving(cluster);
    let Some((broker, knowledge)) = controller(&brokers) else { return Ok(()) };
    let lives = |id: &BrokerId| brokers.iter().any(|(broker, _)| broker.id() == *id);
    let reachable = |topic: &&_| knowledge.replicas_of(topic).iter().all(|(_, id)| lives(id));
    let Some(topic) = knowledge.to_delete.iter().find(reachable) else { return Ok(()) };
    let late = has_quorum(cluster) && alone_for(seen, cluster, session(broker));
    none(late.then(|| format!("topic={topic}")))
}

/// L7: a consumer whose coordinator lives has its share.
pub(super) fn members_get_their_shares(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    for (id, process) in running(cluster) {
        let Some(consumer) = process.consumer() else { continue };
        let runs = |id: ProcessId| cluster.power(id) == Power::Running;
        let unsettled = consumer.activity() == Activity::Polling
            && consumer.standing() != Standing::Stable
            && consumer.coordinator().is_some_and(runs);
        let settings = consumer.settings();
        let patience = settings.max_poll_interval + settings.session_timeout;
        if unsettled && alone_for(seen, cluster, patience) {
            let (name, group) = (cluster.name(id), &consumer.settings().group_id);
            return Err(format!("consumer={name} group={group}"));
        }
    }
    Ok(())
}

/// L8: in a group that meets in ZooKeeper every partition has its owner.
pub(super) fn old_partitions_get_owners(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let members = running(cluster).filter_map(|(_, process)| process.old_consumer());
    let longest = members.map(|member| member.settings().zookeeper_session_timeout).max();
    let Some(longest) = longest else { return Ok(()) };
    let late = has_quorum(cluster) && alone_for(seen, cluster, longest);
    if late { old_groups_own_all(cluster, Those::Nobody) } else { Ok(()) }
}

/// L9: what a producer has taken is answered, or given up.
pub(super) fn producers_get_answers(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    for (id, process) in running(cluster) {
        let Some(producer) = process.producer() else { continue };
        let settings = producer.settings();
        let waits = settings.steady.is_none() && producer.outstanding() > 0;
        // A record may wait for metadata, then for a batch, then for an answer.
        let answer = settings.delivery_timeout.max(settings.request_timeout);
        let patience = settings.max_block + settings.linger + answer;
        if waits && alone_for(seen, cluster, patience) {
            let (name, count) = (cluster.name(id), producer.outstanding());
            return Err(format!("producer={name} records={count}"));
        }
    }
    Ok(())
}

/// L10: the notes for the controller are taken away.
pub(super) fn notes_are_taken(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = serving(cluster);
    let Some((broker, _)) = controller(&brokers) else { return Ok(()) };
    let Some(database) = decided(cluster) else { return Ok(()) };
    let path = znodes::isr_change_notification();
    let count = database.tree.znode(&path).map_or(0, |znode| znode.child_count());
    let late = count > 0 && has_quorum(cluster) && alone_for(seen, cluster, session(broker));
    none(late.then(|| format!("path={path} children={count}")))
}

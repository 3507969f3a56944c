//! What the brokers and producers hold: logs with their leaders, crowns, coordinators, windows.
//!
//! Not here: the groups of consumers (`groups`).
//! What a process believes is shown as its belief; what only ZooKeeper or a newer broker knows is
//! taken from whoever has heard it last. *Invariant:* a copy of a partition begins at the same
//! offset on every broker, so that the gates stand under each other; one of which nothing would be
//! seen begins earlier, and says how much it lacks.

use super::ensemble::{self, Run};
use super::groups;
use super::stage::{Broker, Crown, Life, Office, Producer, Replica, Slot, Stand, life_key};
use crate::kafka::broker::{self, Phase};
use crate::kafka::id::{BrokerId, CONSUMER_OFFSETS, Offset, TopicPartition};
use crate::kafka::java_hash::coordinator_partition;
use crate::kafka::lone;
use crate::kafka::message::Acks;
use crate::kafka::metadata_cache::is_internal;
use crate::kafka::partition::Partition;
use crate::kafka::words::{BrokerFact, Fact};
use crate::kafka::znodes;
use crate::sim::{OrdMap, ProcessId, Span};
use crate::text::Phrase;

/// The most records that a strip shows.
const SHOWN: i64 = 13;
/// How many records a strip shows of a replica that is far behind.
const TAIL: i64 = 3;

/// Every broker process.
pub fn processes<'a>(
    run: Run<'a>,
) -> impl Iterator<Item = (ProcessId, &'a str, &'a broker::Broker)> {
    run.cluster.processes().filter_map(|(id, name, process)| Some((id, name, process.broker()?)))
}

/// What is known of every partition by the broker that heard of it last.
pub type Known<'a> = OrdMap<&'a TopicPartition, &'a Partition>;

/// What is known of every partition.
pub fn known<'a>(run: Run<'a>) -> Known<'a> {
    let mut known = Known::new();
    for (_, _, broker) in processes(run) {
        let Some(running) = broker.running() else { continue };
        for partition in running.replicas().partitions() {
            let last = known.entry(&partition.tp).or_insert(partition);
            let newer = |p: &Partition| (p.partition_epoch, p.leads());
            if newer(partition) > newer(last) {
                *last = partition;
            }
        }
    }
    known
}

/// Where the strips of each partition begin.
fn firsts(run: Run<'_>) -> OrdMap<TopicPartition, i64> {
    let mut ends: OrdMap<TopicPartition, i64> = OrdMap::new();
    for (_, _, broker) in processes(run) {
        for (tp, _, end, _) in logs(broker) {
            let longest = ends.entry(tp).or_default();
            *longest = (*longest).max(end);
        }
    }
    ends.into_iter().map(|(tp, end)| (tp, (end - SHOWN).max(0))).collect()
}

/// Every log of a broker: its partition, start, end and HW, running or not.
fn logs(broker: &broker::Broker) -> Vec<(TopicPartition, i64, i64, i64)> {
    let numbers = |start: Offset, end: Offset, hw: Offset| (start.0, end.0, hw.0);
    let mut logs = Vec::new();
    match broker.running() {
        Some(running) => {
            for partition in running.replicas().partitions() {
                let log = &partition.log;
                let (start, end, hw) = numbers(log.start(), log.end(), partition.hw);
                logs.push((partition.tp.clone(), start, end, hw));
            }
        }
        None => {
            for (tp, stored) in broker.disk().replicas.iter() {
                let hw = stored.checkpointed_hw;
                let (start, end, hw) = numbers(stored.log.start(), stored.log.end(), hw);
                logs.push((tp.clone(), start, end, hw));
            }
        }
    }
    logs
}

/// The brokers as the stage shows them.
pub fn brokers(run: Run<'_>) -> Vec<Broker> {
    let (known, firsts, committed) = (known(run), firsts(run), committed(run));
    let active = active_controller(run);
    let shown = processes(run).map(|(process, name, broker)| {
        let id = broker.id();
        let running = broker.running();
        let controls = running.filter(|running| running.controller().is_active());
        let crown = controls.map(|running| Crown {
            epoch: i64::from(running.controller().epoch().0),
            stale: active.is_some_and(|active| active != id),
        });
        let mut replicas = replicas(run, broker, &known, &firsts);
        for replica in &mut replicas {
            if matches!(replica.stand, Stand::Leading { .. }) {
                replica.committed = committed.get(&replica.partition).copied();
            }
        }
        let internal = logs(broker).iter().filter(|(tp, ..)| is_internal(&tp.topic)).count();
        Broker {
            name: name.to_string(),
            id: id.0,
            life: run.life(process),
            state: Phrase::key(state_key(run.life(process), Some(broker))),
            leads: led(&known, id),
            believes: believed(&replicas),
            crown,
            coordinates: running.map(|r| coordinates(r, id, &known)).unwrap_or_default(),
            replicas,
            received: None,
            internal: i32::try_from(internal).unwrap_or(i32::MAX),
            marked: run.is_marked(process),
        }
    });
    shown.chain(lone_brokers(run)).collect()
}

/// For how long a log that was cut is shown so, and in how many events that is looked for at most.
const CUT_SHOWN: (Span, usize) = (Span::secs(3), 3_000);

/// A log that was cut back a moment ago.
struct Cut {
    broker: String,
    partition: String,
    from: i64,
    to: i64,
}

/// Marks the logs that were cut back a moment ago.
pub fn mark_cuts(run: Run<'_>, brokers: &mut [Broker]) {
    let cuts = cuts(run);
    for broker in brokers {
        for replica in &mut broker.replicas {
            let is_it =
                |cut: &&Cut| cut.broker == broker.name && cut.partition == replica.partition;
            replica.cut = cuts.iter().find(is_it).map(|cut| (cut.to, cut.from));
        }
    }
}

/// The logs that were cut back a moment ago, the newest first.
fn cuts(run: Run<'_>) -> Vec<Cut> {
    let mut cuts = Vec::new();
    for record in run.lately(CUT_SHOWN.0).take(CUT_SHOWN.1) {
        let Some(broker) = record.process else { continue };
        for fact in record.facts() {
            if let Fact::Broker(BrokerFact::Truncated { partition, to, from }) = fact {
                let partition = partition.to_string();
                let broker = run.cluster.name(broker).to_string();
                cuts.push(Cut { broker, partition, from: from.0, to: to.0 });
            }
        }
    }
    cuts
}

/// The brokers without replicas.
fn lone_brokers(run: Run<'_>) -> Vec<Broker> {
    let mut shown = Vec::new();
    for (process, name, broker) in run.cluster.processes() {
        let Some(broker) = broker.lone_broker() else { continue };
        let running = broker.running();
        let key = lone_state_key(run.life(process), broker);
        let from =
            |(from, count): (&ProcessId, &u64)| (run.cluster.name(*from).to_string(), *count);
        let received = running.map(|running| running.received().iter().map(from).collect());
        shown.push(Broker {
            name: name.to_string(),
            id: broker.id().0,
            life: run.life(process),
            state: Phrase::key(key),
            leads: 0,
            believes: 0,
            crown: None,
            coordinates: Vec::new(),
            replicas: broker.logs().iter().map(only_replica).collect(),
            received: Some(received.unwrap_or_default()),
            internal: 0,
            marked: run.is_marked(process),
        });
    }
    shown
}

fn only_replica((tp, log): (&TopicPartition, &lone::Log)) -> Replica {
    let count = |records: usize| i64::try_from(records).unwrap_or(i64::MAX);
    let end = count(log.count());
    Replica {
        partition: tp.to_string(),
        stand: Stand::Only,
        preferred: false,
        first: (end - SHOWN).max(0),
        lacks: 0,
        end,
        cut: None,
        high_watermark: end - count(log.unflushed()),
        bytes: Some(log.end().0),
        committed: None,
    }
}

/// The controller as ZooKeeper says.
fn active_controller(run: Run<'_>) -> Option<BrokerId> {
    let (_, database) = ensemble::witness(run.cluster)?;
    let znode = database.tree.znode(&znodes::controller())?;
    Some(znodes::ControllerZnode::decode(&znode.data)?.broker)
}

/// The key of what a broker is about, the same in every figure.
pub fn state_key(life: Life, broker: Option<&broker::Broker>) -> &'static str {
    let running = broker.and_then(broker::Broker::running);
    match (life, running.map(broker::Running::phase)) {
        (Life::Running, None | Some(Phase::Starting(_))) => "page.life.starting",
        (Life::Running, Some(Phase::Stopping(_))) => "page.life.stopping",
        _ => life_key(life),
    }
}

/// The same of a broker without replicas.
pub fn lone_state_key(life: Life, broker: &lone::Broker) -> &'static str {
    match (life, broker.running().map(lone::Running::phase)) {
        (Life::Running, None | Some(lone::Phase::Starting)) => "page.life.starting",
        _ => life_key(life),
    }
}

/// How many partitions that people made a broker leads, as was heard last.
fn led(known: &Known<'_>, id: BrokerId) -> i32 {
    let led = known.values().filter(|partition| partition.leader == id);
    let led = led.filter(|partition| !is_internal(&partition.tp.topic));
    i32::try_from(led.count()).unwrap_or(i32::MAX)
}

/// How many partitions a broker leads by its own belief only.
fn believed(replicas: &[Replica]) -> i32 {
    let believing = replicas.iter().filter(|r| matches!(r.stand, Stand::Believing { .. }));
    i32::try_from(believing.count()).unwrap_or(i32::MAX)
}

/// The groups that a broker coordinates, and whether it only believes so by now: a group goes with
/// the partition that keeps it.
fn coordinates(running: &broker::Running, id: BrokerId, known: &Known<'_>) -> Vec<Office> {
    let offsets = known.keys().filter(|tp| tp.topic.as_str() == CONSUMER_OFFSETS).count();
    let offsets = i32::try_from(offsets).unwrap_or(i32::MAX).max(1);
    let groups = running.groups().groups().map(|group| {
        let partition = coordinator_partition(group.group_id.as_str(), offsets);
        let tp = TopicPartition::new(CONSUMER_OFFSETS, partition);
        let stale = known.get(&tp).is_some_and(|heard| heard.leader != id);
        Office { group: group.group_id.to_string(), stale }
    });
    groups.collect()
}

fn replicas(
    run: Run<'_>,
    broker: &broker::Broker,
    known: &Known<'_>,
    firsts: &OrdMap<TopicPartition, i64>,
) -> Vec<Replica> {
    let shown = logs(broker).into_iter().filter(|(tp, ..)| !is_internal(&tp.topic));
    let replica = |(tp, _, end, high_watermark): (TopicPartition, i64, i64, i64)| {
        let heard = known.get(&tp);
        let first = firsts.get(&tp).copied().unwrap_or(0);
        let is_far_behind = first > 0 && end < first + TAIL;
        Replica {
            partition: tp.to_string(),
            stand: stand(run, broker, &tp, heard.copied()),
            preferred: heard.is_some_and(|p| p.replicas.first() == Some(&broker.id())),
            first: if is_far_behind { (end - TAIL).max(0) } else { first },
            lacks: if is_far_behind { first + SHOWN - end } else { 0 },
            end,
            cut: None,
            high_watermark,
            bytes: None,
            committed: None,
        }
    };
    shown.map(replica).collect()
}

/// What a running broker believes, held against what was heard last; of one that is gone, the
/// others say what it is.
fn stand(
    run: Run<'_>,
    broker: &broker::Broker,
    tp: &TopicPartition,
    heard: Option<&Partition>,
) -> Stand {
    let own = broker.running().and_then(|running| running.replicas().partition(tp));
    let named = heard.is_some_and(|heard| heard.leader == broker.id());
    let leads = own.map_or(named, Partition::leads);
    match heard {
        Some(heard) if leads && !named => {
            Stand::Believing { epoch: own.map_or(heard, |own| own).leader_epoch.0 }
        }
        Some(heard) if leads => Stand::Leading { epoch: heard.leader_epoch.0 },
        Some(heard) if is_in_sync(run, heard, broker.id()) => Stand::Following,
        Some(_) => Stand::Out,
        None => Stand::Following,
    }
}

/// Only a leader knows the ISR; without one, it is what ZooKeeper keeps.
fn is_in_sync(run: Run<'_>, heard: &Partition, id: BrokerId) -> bool {
    if heard.leads() {
        return heard.isr.contains(&id);
    }
    let kept = ensemble::witness(run.cluster).and_then(|(_, database)| {
        let znode = database.tree.znode(&znodes::state(&heard.tp))?;
        znodes::StateZnode::decode(&znode.data)
    });
    kept.is_none_or(|state| state.leadership.isr.contains(&id))
}

/// How far the slowest group has committed, by partition.
fn committed(run: Run<'_>) -> OrdMap<String, i64> {
    let mut committed: OrdMap<String, i64> = OrdMap::new();
    for group in processes(run).filter_map(|(_, _, broker)| broker.running()) {
        for group in group.groups().groups() {
            let offsets = group.offsets.iter().map(|(tp, offset)| (tp, offset.offset.0));
            offsets.for_each(|(tp, offset)| note_least(&mut committed, tp, offset));
        }
    }
    for group in groups::in_zookeeper(run) {
        group.offsets.iter().for_each(|(tp, offset)| note_least(&mut committed, tp, offset.0));
    }
    committed
}

fn note_least(committed: &mut OrdMap<String, i64>, tp: &TopicPartition, offset: i64) {
    let least = committed.entry(tp.to_string()).or_insert(offset);
    *least = (*least).min(offset);
}

/// The producers as the stage shows them.
pub fn producers(run: Run<'_>) -> Vec<Producer> {
    let producers = run.cluster.processes().filter_map(|(id, name, process)| {
        let producer = process.producer()?;
        let settings = producer.settings();
        let acks = match settings.acks {
            Acks::None => "0",
            Acks::Leader => "1",
            Acks::All => "all",
        };
        let slots = settings.max_in_flight_requests_per_connection.clamp(1, 5);
        let flying = (0..producer.in_flight()).map(|_| Slot::Flying);
        let taken = flying.chain(producer.again().map(Slot::Again));
        let window = taken.chain(std::iter::repeat(Slot::Free)).take(slots as usize).collect();
        let (acked, _) = producer.outcomes();
        Some(Producer {
            name: name.to_string(),
            life: run.life(id),
            setting: format!("acks={acks}"),
            window,
            note: Phrase::key("page.producer.acked").with("n", acked),
        })
    });
    producers.chain(lone_producers(run)).collect()
}

/// The producers of brokers without replicas: one request at a time, and no answer.
fn lone_producers(run: Run<'_>) -> Vec<Producer> {
    let mut shown = Vec::new();
    for (id, name, process) in run.cluster.processes() {
        let Some(producer) = process.lone_producer() else { continue };
        let (sent, failed) = producer.outcomes();
        let waits = if producer.waiting() > 0 { Slot::Flying } else { Slot::Free };
        shown.push(Producer {
            name: name.to_string(),
            life: run.life(id),
            setting: producer.settings().way().to_string(),
            window: vec![waits],
            note: Phrase::key("page.producer.sent").with("n", sent).with("failed", failed),
        });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::script;

    /// Of a broker that leads and coordinates, after `what` has befallen it: what it leads, what it
    /// only believes to lead, and how its replica of the partition that it led is called.
    fn check(what: &str, run: &str, expected: (i32, i32, &str, &str)) {
        let begin = "setup seed=1\ntopic orders partitions=3 replicas=3\nrun 20s";
        let lab = script::play(&format!("{begin}\n{what}\n{run}")).expect("it is right").lab;
        let brokers = brokers(Run::of(&lab));
        let broker = brokers.iter().find(|broker| broker.name == "broker2").expect("it is there");
        let own = broker.replicas.iter().find(|replica| replica.preferred).expect("it has one");
        let words = super::super::drawing::broker::leads(broker);
        let crate::text::Phrase::Line(words, _) = words else { panic!("it is a line") };
        assert_eq!((broker.leads, broker.believes, own.stand.key(broker.life), words), expected);
    }

    const GROUP: &str = "setup seed=1\ntopic orders partitions=2 replicas=3\nrun 10s\n\
        add producer p1 topic=orders every=200ms keys=7\n\
        add consumer c1 group=g topics=orders\nadd consumer c2 group=g topics=orders\nrun 20s";

    #[test]
    fn a_log_that_was_cut_shows_it_for_a_while() {
        let text = "setup release=2.3.1 seed=1 zookeeper=1 brokers=3\nrun 8s\n\
            topic orders replicas=1,2\nrun 3s\n\
            add producer p1 topic=orders every=1s keys=7 acks=1\nrun 3s\n\
            freeze broker1\nrun 10s\nthaw broker1";
        let mut lab = script::play(text).expect("it is right").lab;
        let cut = |lab: &crate::lab::Lab| {
            let mut brokers = brokers(Run::of(lab));
            mark_cuts(Run::of(lab), &mut brokers);
            brokers.remove(0).replicas.remove(0).cut
        };
        assert_eq!(cut(&lab), None);
        lab.step_until(Span::secs(5), |lab, _| cut(lab).is_some()).expect("it follows again");
        assert_eq!(cut(&lab), Some((2, 14)));
        lab.advance_to(lab.moment().at + Span::secs(4));
        assert_eq!(cut(&lab), None);
    }

    #[test]
    fn a_replica_that_is_far_behind_shows_its_own_end() {
        let lab =
            script::play(&format!("{GROUP}\nkill broker3\nrun 60s")).expect("it is right").lab;
        let brokers = brokers(Run::of(&lab));
        let replica = |id: i32| {
            let broker = brokers.iter().find(|broker| broker.id == id).expect("it is there");
            broker.replicas.iter().find(|r| r.partition == "orders-0").expect("it has one").clone()
        };
        let (dead, alive) = (replica(3), replica(1));
        assert!(dead.first < dead.end && dead.end < alive.first, "{dead:?} {alive:?}");
        assert_eq!((dead.lacks, alive.lacks), (alive.end - dead.end, 0));
    }

    #[test]
    fn what_a_broker_believes_is_told_from_what_is_so() {
        check("", "run 1s", (1, 0, "page.stand.leading", "page.broker.leads"));
        let named = (1, 0, "page.stand.named", "page.broker.named");
        check("kill broker2", "run 1s", named);
        check("kill broker2", "run 60s", (0, 0, "page.stand.out", "page.broker.leads-none"));
        let believing = (0, 1, "page.stand.believing", "page.broker.believes");
        check("freeze broker2", "run 60s", believing);
    }
}

//! Players of what was recorded from real Kafka: assignors, elections, placements, groups.
//! Cases and their forms are those of the recordings; the rules under test lie in `kafka`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use serde::Deserialize;
use serde_json::Value;
use zootrope::kafka::assignor::{Assignor, PartitionCounts, Subscriber, old};
use zootrope::kafka::election::{
    Brokers, Candidates, LeaderAndIsr, LeaderRecovery, Reason, Unclean, elect,
};
use zootrope::kafka::id::{BrokerId, Generation, LeaderEpoch, TopicName, TopicPartition};
use zootrope::kafka::java_hash;
use zootrope::kafka::partitioner::{self, Choice, Partitioner, ScalaAbsolute};
use zootrope::kafka::placement::{Candidate, Deal, place};
use zootrope::kafka::release::Release;

use super::{Played, Player, Tally};

/// Each kind that is played, by its file's name.
pub const KINDS: &[(&str, Player)] = &[
    ("assignor", |recorded| each(recorded, group_assignment)),
    ("group-coordinator", |recorded| each(recorded, coordinator)),
    ("leader-election", |recorded| each(recorded, election)),
    ("old-consumer", |recorded| each(recorded, old_assignment)),
    ("old-producer", |recorded| each(recorded, scala_key)),
    ("partitioners", |recorded| each(recorded, hashes)),
    ("partitioners-mock", |recorded| each(recorded, mock_choice)),
    ("replica-placement", |recorded| each(recorded, placement)),
];

/// Plays every case of a file; a case that cannot be read makes the file unreadable.
fn each<C: for<'a> Deserialize<'a>>(recorded: &Value, check: fn(C) -> Outcome) -> Played {
    let Some(cases) = recorded.get("cases").and_then(Value::as_array) else {
        return Played::Unreadable("no cases".into());
    };
    let mut tally = Tally::default();
    for case in cases {
        let id = case.get("id").and_then(Value::as_str).unwrap_or("?");
        match C::deserialize(case) {
            Ok(read) => tally.case(check(read).map_err(|told| format!("{id}: {told}"))),
            Err(error) => return Played::Unreadable(format!("{id}: {error}")),
        }
    }
    Played::Counted(tally)
}

type Outcome = Result<(), String>;

fn same<T: PartialEq + Debug>(what: &str, expected: T, came: T) -> Outcome {
    if expected == came {
        return Ok(());
    }
    Err(format!("{what}: expected {expected:?}, came {came:?}"))
}

type Pairs = BTreeSet<(String, i32)>;

fn pairs(partitions: &[TopicPartition]) -> Pairs {
    let pair = |p: &TopicPartition| (p.topic.to_string(), p.partition);
    partitions.iter().map(pair).collect()
}

fn counts(topics: BTreeMap<String, i32>) -> PartitionCounts {
    let named = topics.into_iter();
    named.map(|(topic, count)| (TopicName::from(topic), count)).collect()
}

#[derive(Deserialize)]
struct AssignorCase {
    assignor: String,
    topics: BTreeMap<String, i32>,
    members: Vec<AssignorMember>,
    expected: BTreeMap<String, Pairs>,
    strict: bool,
    properties: Option<Properties>,
}

#[derive(Deserialize)]
struct AssignorMember {
    id: String,
    instance_id: Option<String>,
    topics: Vec<String>,
    owned: Vec<(String, i32)>,
    generation: i32,
}

#[derive(Deserialize)]
struct Properties {
    counts: Vec<u64>,
    kept: u64,
}

fn subscriber(member: &AssignorMember) -> Subscriber {
    let owned = |(topic, number): &(String, i32)| TopicPartition::new(topic.as_str(), *number);
    Subscriber {
        id: member.id.as_str().into(),
        instance_id: member.instance_id.clone(),
        topics: member.topics.iter().map(|t| t.as_str().into()).collect(),
        owned: member.owned.iter().map(owned).collect(),
        generation: Generation(member.generation),
    }
}

fn group_assignment(case: AssignorCase) -> Outcome {
    let assignor =
        Assignor::by_name(&case.assignor).ok_or(format!("no assignor {}", case.assignor))?;
    let members: Vec<Subscriber> = case.members.iter().map(subscriber).collect();
    let came: BTreeMap<String, Pairs> = assignor
        .assign(&counts(case.topics.clone()), &members, Release::V3_9_1)
        .into_iter()
        .map(|(member, given)| (member.to_string(), pairs(&given)))
        .collect();
    if case.strict {
        return same("assignment", case.expected, came);
    }
    let wanted = case.properties.as_ref().ok_or("no properties")?;
    is_fair(&case, &came)?;
    same("counts", &wanted.counts, &sizes(&came))?;
    let kept = kept(&case.members, &came);
    if kept < wanted.kept {
        return Err(format!("kept {kept} of at least {}", wanted.kept));
    }
    Ok(())
}

fn sizes(assignment: &BTreeMap<String, Pairs>) -> Vec<u64> {
    let mut sizes: Vec<u64> = assignment.values().map(|given| given.len() as u64).collect();
    sizes.sort_unstable();
    sizes
}

fn kept(members: &[AssignorMember], assignment: &BTreeMap<String, Pairs>) -> u64 {
    let of = |member: &AssignorMember| {
        let given = &assignment[&member.id];
        member.owned.iter().filter(|p| given.contains(p)).count() as u64
    };
    members.iter().map(of).sum()
}

/// Nobody has what it did not subscribe to, nobody has what another has, and as much is given out
/// as in the recording.
fn is_fair(case: &AssignorCase, came: &BTreeMap<String, Pairs>) -> Outcome {
    let mut seen = Pairs::new();
    for member in &case.members {
        for (topic, number) in &came[&member.id] {
            let known = case.topics.get(topic).is_some_and(|count| number < count);
            if !known || !member.topics.contains(topic) {
                return Err(format!("{} may not have {topic}-{number}", member.id));
            }
            if !seen.insert((topic.clone(), *number)) {
                return Err(format!("{topic}-{number} is given twice"));
            }
        }
    }
    let recorded: usize = case.expected.values().map(BTreeSet::len).sum();
    same("given out", recorded, seen.len())
}

#[derive(Deserialize)]
struct CoordinatorCase {
    group: String,
    hash: i32,
    abs: i32,
    partition: BTreeMap<i32, i32>,
}

fn coordinator(case: CoordinatorCase) -> Outcome {
    let hash = java_hash::hash(&case.group);
    same("hash", case.hash, hash)?;
    same("abs", case.abs, java_hash::absolute(hash))?;
    let of = |&count: &i32| (count, java_hash::coordinator_partition(&case.group, count));
    let came: BTreeMap<i32, i32> = case.partition.keys().map(of).collect();
    same("partition", case.partition, came)
}

#[derive(Deserialize)]
struct ElectionCase {
    kind: String,
    unclean: bool,
    assignment: Vec<i32>,
    target: Vec<i32>,
    isr: Vec<i32>,
    leader: i32,
    leader_epoch: i32,
    live_or_shutting_down: Vec<i32>,
    shutting_down: Vec<i32>,
    expected: Option<Elected>,
    leader_and_isr_recipients: Vec<i32>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Elected {
    leader: i32,
    leader_epoch: i32,
    isr: Vec<i32>,
}

fn brokers(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId).collect()
}

fn numbers(ids: &[BrokerId]) -> Vec<i32> {
    ids.iter().map(|id| id.0).collect()
}

fn election(case: ElectionCase) -> Outcome {
    let target = brokers(&case.target);
    let unclean = if case.unclean { Unclean::Allowed } else { Unclean::Refused };
    let reason = match case.kind.as_str() {
        "offline" => Reason::Offline(unclean),
        "preferred" => Reason::Preferred,
        "reassign" => Reason::Reassignment { target: &target },
        "controlled" => Reason::ControlledShutdown,
        other => return Err(format!("no election {other}")),
    };
    let now = LeaderAndIsr {
        leader: BrokerId(case.leader),
        leader_epoch: LeaderEpoch(case.leader_epoch),
        isr: brokers(&case.isr),
        recovery: LeaderRecovery::Recovered,
    };
    let seen = Brokers {
        live_or_shutting_down: &brokers(&case.live_or_shutting_down),
        shutting_down: &brokers(&case.shutting_down),
    };
    let assignment = brokers(&case.assignment);
    let outcome = elect(reason, Candidates::ByAssignment, &assignment, &now, seen);
    let elected = outcome.elected.map(|new| Elected {
        leader: new.leader.0,
        leader_epoch: new.leader_epoch.0,
        isr: numbers(&new.isr),
    });
    same("elected", case.expected, elected)?;
    let told = numbers(&outcome.recipients);
    same("recipients", case.leader_and_isr_recipients, told)
}

#[derive(Deserialize)]
struct OldAssignorCase {
    assignor: String,
    topics: BTreeMap<String, i32>,
    members: BTreeMap<String, BTreeMap<String, i32>>,
    expected: BTreeMap<String, Pairs>,
}

fn old_assignment(case: OldAssignorCase) -> Outcome {
    let streams = case.members.into_iter();
    let members: old::Registrations = streams.map(|(id, topics)| (id, counts(topics))).collect();
    let topics = counts(case.topics);
    let assignment = match case.assignor.as_str() {
        "range" => old::range(&topics, &members),
        "roundrobin" => old::round_robin(&topics, &members).map_err(|error| error.to_string())?,
        other => return Err(format!("no old assignor {other}")),
    };
    let came = assignment.into_iter().map(|(thread, given)| (thread, pairs(&given))).collect();
    same("assignment", case.expected, came)
}

#[derive(Deserialize)]
struct ScalaKeyCase {
    key: String,
    hash: i32,
    v08: BTreeMap<i32, i32>,
    v07: BTreeMap<i32, i32>,
}

fn scala_key(case: ScalaKeyCase) -> Outcome {
    let all = |counts: &BTreeMap<i32, i32>, abs: ScalaAbsolute| -> BTreeMap<i32, i32> {
        let of = |&n: &i32| (n, partitioner::scala_partition(&case.key, n, abs));
        counts.keys().map(of).collect()
    };
    same("hash", case.hash, java_hash::hash(&case.key))?;
    let v08 = all(&case.v08, ScalaAbsolute::MinimumIsZero);
    same("0.8", &case.v08, &v08)?;
    let v07 = all(&case.v07, ScalaAbsolute::KeepsMinimum);
    same("0.7", &case.v07, &v07)
}

#[derive(Deserialize)]
struct HashCase {
    key_hex: String,
    murmur2: u32,
    murmur2_signed: i32,
    murmur2_positive: i32,
    crc32: u32,
    fnv1a_raw: u32,
    fnv1a_abs: u32,
    partitions: BTreeMap<i32, Partitions>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Partitions {
    java_murmur2: i32,
    consistent: i32,
    fnv1a: i32,
}

fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    let byte = |at: usize| {
        let digits = hex.get(at..at + 2).ok_or(format!("odd hex {hex}"))?;
        u8::from_str_radix(digits, 16).map_err(|error| error.to_string())
    };
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn hashes(case: HashCase) -> Outcome {
    let key = bytes(&case.key_hex)?;
    let murmur = partitioner::murmur2(&key);
    same("murmur2", case.murmur2, murmur)?;
    same("murmur2 signed", case.murmur2_signed, murmur.cast_signed())?;
    let positive = partitioner::to_positive(murmur);
    same("murmur2 positive", case.murmur2_positive, positive)?;
    same("crc32", case.crc32, partitioner::crc32(&key))?;
    same("fnv1a", case.fnv1a_raw, partitioner::fnv1a(&key))?;
    same("fnv1a abs", case.fnv1a_abs, partitioner::fnv1a_absolute(&key))?;
    for (count, expected) in case.partitions {
        let came = Partitions {
            java_murmur2: keyed(Partitioner::Java, &key, count)?,
            consistent: keyed(Partitioner::Consistent, &key, count)?,
            fnv1a: keyed(Partitioner::Fnv1a, &key, count)?,
        };
        same(&format!("of {count}"), expected, came)?;
        let twin = keyed(Partitioner::Murmur2, &key, count)?;
        same("librdkafka", keyed(Partitioner::Java, &key, count)?, twin)?;
    }
    Ok(())
}

fn keyed(partitioner: Partitioner, key: &[u8], count: i32) -> Result<i32, String> {
    match partitioner.choose(Some(key), count) {
        Choice::Partition(number) => Ok(number),
        Choice::Free => Err(format!("{} leaves a key free", partitioner.name())),
    }
}

#[derive(Deserialize)]
struct MockCase {
    partitioner: String,
    partition_count: i32,
    key_hex: Option<String>,
    random: bool,
    partition: Option<i32>,
}

fn mock_choice(case: MockCase) -> Outcome {
    let partitioner = Partitioner::ALL
        .into_iter()
        .find(|one| one.name() == case.partitioner)
        .ok_or(format!("no partitioner {}", case.partitioner))?;
    let key = case.key_hex.as_deref().map(bytes).transpose()?;
    let expected = match case.partition {
        Some(number) if !case.random => Choice::Partition(number),
        _ => Choice::Free,
    };
    let came = partitioner.choose(key.as_deref(), case.partition_count);
    same("choice", expected, came)
}

#[derive(Deserialize)]
struct PlacementCase {
    brokers: Vec<RackedBroker>,
    partitions: i32,
    replication_factor: i32,
    start_index: u32,
    start_partition_id: i32,
    expected: BTreeMap<i32, Vec<i32>>,
}

#[derive(Deserialize)]
struct RackedBroker {
    id: i32,
    rack: Option<String>,
}

fn placement(case: PlacementCase) -> Outcome {
    let racked = case.brokers.into_iter();
    let candidates: Vec<Candidate> =
        racked.map(|broker| Candidate { id: BrokerId(broker.id), rack: broker.rack }).collect();
    let deal = Deal {
        partitions: case.partitions,
        replication_factor: case.replication_factor,
        start: case.start_index,
        shift: case.start_index,
        first_partition: case.start_partition_id,
    };
    let placed = place(&candidates, deal).map_err(|error| error.to_string())?;
    let came =
        placed.into_iter().map(|(partition, replicas)| (partition, numbers(&replicas))).collect();
    same("replicas", case.expected, came)
}

//! The consumer groups: who is a member, and what each has.
//!
//! A group coordinates through a broker or, with the old consumers, in ZooKeeper. *Invariant:* what
//! a member believes to have is told from what its coordinator or ZooKeeper says.

use super::brokers::{self, Known};
use super::ensemble::{self, Run};
use super::stage::{Cell, Group, Life, Member};
use crate::kafka::client::Partitions;
use crate::kafka::consumer::words::ConsumerFact;
use crate::kafka::consumer::{Consumer, Position};
use crate::kafka::group as coordinator;
use crate::kafka::id::{GroupId, Offset, TopicName, TopicPartition};
use crate::kafka::old_consumer::words::Wanted;
use crate::kafka::old_consumer::{Activity, OldConsumer, Standing};
use crate::kafka::words::Fact;
use crate::kafka::znodes::consumers::KeptGroup;
use crate::sim::{OrdMap, OrdSet, Power, ProcessId, Span};
use crate::text::Phrase;

/// A consumer of either kind.
#[derive(Clone, Copy)]
enum Either<'a> {
    New(&'a Consumer),
    Old(&'a OldConsumer),
}

impl<'a> Either<'a> {
    fn group(self) -> &'a GroupId {
        match self {
            Either::New(consumer) => &consumer.settings().group_id,
            Either::Old(consumer) => &consumer.settings().group_id,
        }
    }

    /// The topic whose partitions are the columns.
    fn topic(self) -> Option<TopicName> {
        match self {
            Either::New(consumer) => consumer.settings().topics.first().cloned(),
            Either::Old(consumer) => match &consumer.settings().wanted {
                Wanted::Topics(topics) => topics.first().map(|(topic, _)| topic.clone()),
                Wanted::Pattern(..) => consumer.held().keys().next().map(|tp| tp.topic.clone()),
            },
        }
    }
}

type Seats<'a> = Vec<(ProcessId, &'a str, Either<'a>)>;

/// The groups as the stage shows them: one frame a name, its members the consumers of it.
pub fn groups(run: Run<'_>) -> Vec<Group> {
    let mut by_name: OrdMap<String, Seats<'_>> = OrdMap::new();
    for (id, name, process) in run.cluster.processes() {
        let old = process.old_consumer().map(Either::Old);
        if let Some(either) = process.consumer().map(Either::New).or(old) {
            by_name.entry(either.group().to_string()).or_default().push((id, name, either));
        }
    }
    let known = brokers::known(run);
    by_name.into_iter().map(|(name, seats)| group(run, &known, name, &seats)).collect()
}

/// What ZooKeeper keeps of the groups whose members coordinate there.
pub fn in_zookeeper(run: Run<'_>) -> Vec<KeptGroup> {
    let old = run.cluster.processes().filter_map(|(_, _, process)| process.old_consumer());
    let names: OrdSet<GroupId> = old.map(|old| old.settings().group_id.clone()).collect();
    names.iter().map(|name| kept(run, name)).collect()
}

/// What ZooKeeper keeps of a group.
pub fn kept(run: Run<'_>, group: &GroupId) -> KeptGroup {
    let database = ensemble::witness(run.cluster).map(|(_, database)| database);
    database.map(|database| KeptGroup::of(&database.tree, group)).unwrap_or_default()
}

fn group(run: Run<'_>, known: &Known<'_>, name: String, seats: &Seats<'_>) -> Group {
    let topic = seats.first().and_then(|(_, _, either)| either.topic());
    let columns = topic.as_ref().map(|topic| columns(run, known, topic)).unwrap_or_default();
    let has_old = seats.iter().any(|(_, _, either)| matches!(either, Either::Old(_)));
    let coordinated_now = coordinated(run, &name);
    let kept = if has_old { kept(run, &name.as_str().into()) } else { KeptGroup::default() };
    let members = seats.iter().map(|(id, name, either)| {
        let life = run.life(*id);
        let (cells, note) = match either {
            Either::New(consumer) => {
                let share = Share::of(run, *id, consumer);
                let lag: i64 = columns.iter().map(|tp| share.lag(known, coordinated_now, tp)).sum();
                let cells = columns.iter().map(|tp| share.cell(run, known, tp)).collect();
                (cells, lags(lag))
            }
            Either::Old(consumer) => {
                let cell = |tp: &TopicPartition| old_cell(run, known, (&kept, life), consumer, tp);
                (columns.iter().map(cell).collect(), note((run, known), consumer, life, &columns))
            }
        };
        Member { name: (*name).to_string(), life, cells, note }
    });
    let mut members: Vec<Member> = members.collect();
    mark_revoked(run, seats, &columns, &mut members);
    let (state, coordination) = match seats.first() {
        Some((_, _, Either::Old(_))) => in_zookeeper_now(run, seats),
        _ => at_coordinator(run, &name, seats),
    };
    let topic = topic.map(|topic| topic.to_string()).unwrap_or_default();
    let partitions = columns.iter().map(TopicPartition::name).collect();
    let is_old = matches!(seats.first(), Some((_, _, Either::Old(_))));
    Group { members, state, coordination, is_old, topic, partitions, name }
}

/// How far back it is looked for who has let a partition go, and in how many events at most.
const REACH: (Span, usize) = (Span::secs(30), 6_000);

/// What nobody has is shown where it was last, if that member has let it go.
fn mark_revoked(
    run: Run<'_>,
    seats: &Seats<'_>,
    columns: &[TopicPartition],
    members: &mut [Member],
) {
    let is_free = |column: &usize| members.iter().all(|member| !member.cells[*column].is_held());
    let mut free: Vec<usize> = (0..columns.len()).filter(is_free).collect();
    for record in run.lately(REACH.0).take(REACH.1) {
        if free.is_empty() {
            return;
        }
        let Some(seat) = seats.iter().position(|(id, ..)| Some(*id) == record.process) else {
            continue;
        };
        for (partitions, cell) in record.facts().filter_map(handed) {
            free.retain(|column| {
                let is_told = partitions.0.contains(&columns[*column]);
                if is_told && members[seat].life == Life::Running {
                    members[seat].cells[*column] = cell;
                }
                !is_told
            });
        }
    }
}

/// What a member got or let go, and what its cells are from then on if nobody has them now.
fn handed(fact: &Fact) -> Option<(&Partitions, Cell)> {
    match fact {
        Fact::Consumer(ConsumerFact::PartitionsRevoked { partitions }) => {
            Some((partitions, Cell::Revoked))
        }
        Fact::Consumer(
            ConsumerFact::PartitionsLost { partitions }
            | ConsumerFact::PartitionsAssigned { now: partitions, .. },
        ) => Some((partitions, Cell::Empty)),
        _ => None,
    }
}

/// The partitions of a topic; where brokers are alone, those of all that have something of it.
fn columns(run: Run<'_>, known: &Known<'_>, topic: &TopicName) -> Vec<TopicPartition> {
    let known = known.keys().filter(|tp| tp.topic == *topic);
    let mut columns: Vec<TopicPartition> = known.map(|tp| (*tp).clone()).collect();
    for broker in run.cluster.processes().filter_map(|(_, _, process)| process.lone_broker()) {
        if broker.logs().keys().any(|tp| tp.topic == *topic) {
            let parts = 0..broker.settings().own_partitions(topic.as_str());
            columns.extend(
                parts.map(|part| TopicPartition::of_broker(topic.clone(), broker.id(), part)),
            );
        }
    }
    columns
}

/// A group as its coordinator keeps it.
fn coordinated<'a>(run: Run<'a>, name: &str) -> Option<&'a coordinator::Group> {
    let running = brokers::processes(run).filter_map(|(_, _, broker)| broker.running());
    let kept = running.filter_map(|running| running.groups().group(name));
    kept.max_by_key(|group| group.generation)
}

/// A group's state and generation, as its coordinator has them.
///
/// Where no broker coordinates it, its members' generation is told, if they have one.
fn at_coordinator(run: Run<'_>, name: &str, seats: &Seats<'_>) -> (Phrase, Phrase) {
    let generation = |n: i32| Phrase::key("page.group.generation").with("n", n);
    if let Some(group) = coordinated(run, name) {
        return (Phrase::raw(group.state.name()), generation(group.generation.0));
    }
    let members = seats.iter().filter_map(|(_, _, either)| match either {
        Either::New(consumer) => Some(consumer.generation().0),
        Either::Old(_) => None,
    });
    match members.max() {
        Some(last @ 1..) => (Phrase::key("page.group.no-coordinator"), generation(last)),
        _ => (Phrase::raw("Empty"), generation(0)),
    }
}

/// Of a group that has neither: whether one of its members rebalances.
fn in_zookeeper_now(run: Run<'_>, seats: &Seats<'_>) -> (Phrase, Phrase) {
    let rebalances = |(id, _, either): &(ProcessId, &str, Either<'_>)| match either {
        Either::Old(old) => {
            run.life(*id) == Life::Running && matches!(old.standing(), Standing::Rebalancing(_))
        }
        Either::New(_) => false,
    };
    let state = match seats.iter().any(rebalances) {
        true => "page.group.rebalances",
        false => "page.group.at-rest",
    };
    (Phrase::key(state), Phrase::key("page.group.in-zookeeper"))
}

fn lags(lag: i64) -> Phrase {
    Phrase::key("page.group.lag").with("n", lag)
}

/// How far an old consumer is behind, or what keeps it from reading.
fn note(
    (run, known): (Run<'_>, &Known<'_>),
    consumer: &OldConsumer,
    life: Life,
    columns: &[TopicPartition],
) -> Phrase {
    let tries = consumer.settings().rebalance_max_retries;
    match (consumer.standing(), consumer.activity()) {
        _ if life.is_gone() => Phrase::nothing(),
        (Standing::Rebalancing(attempt), _) => {
            Phrase::key("page.group.attempt").with("n", attempt + 1).with("of", tries)
        }
        (Standing::GaveUp, _) => Phrase::key("page.group.gave-up"),
        (_, Activity::Broken) => Phrase::key("page.group.unread"),
        (Standing::New, _) => Phrase::nothing(),
        (Standing::Balanced, _) => {
            let behind = |tp: &TopicPartition| {
                let consumed = consumer.held().get(tp)?.consumed;
                Some(unread(run, known, tp, consumed)).filter(|_| consumed.0 >= 0)
            };
            lags(columns.iter().filter_map(behind).sum())
        }
    }
}

/// What the owner's znode and the member's belief make of a partition.
fn old_cell(
    run: Run<'_>,
    known: &Known<'_>,
    (kept, life): (&KeptGroup, Life),
    consumer: &OldConsumer,
    tp: &TopicPartition,
) -> Cell {
    let owns = kept.owners.get(tp).is_some_and(|thread| consumer.settings().is_named_in(thread));
    match (owns, consumer.held().contains_key(tp)) {
        (true, true) if life == Life::Running && is_served(run, known, tp) => Cell::Owns,
        (true, _) => Cell::Waits,
        (false, true) => Cell::Believes,
        (false, false) => Cell::Empty,
    }
}

/// What a member has: by itself, or if it is gone, by the group that does not know yet.
enum Share<'a> {
    Own(&'a Consumer),
    Missed(&'a [TopicPartition]),
}

impl<'a> Share<'a> {
    fn of(run: Run<'a>, id: ProcessId, consumer: &'a Consumer) -> Share<'a> {
        let own = Share::Own(consumer);
        if run.cluster.power(id) != Power::Off {
            return own;
        }
        let settings = consumer.settings();
        let Some(group) = coordinated(run, &settings.group_id.to_string()) else { return own };
        let member = group.members.values().find(|member| member.client_id == settings.client_id);
        member.map_or(own, |member| Share::Missed(&member.assignment))
    }

    fn cell(&self, run: Run<'_>, known: &Known<'_>, tp: &TopicPartition) -> Cell {
        match self {
            Share::Missed(owned) if owned.contains(tp) => Cell::Waits,
            Share::Own(consumer) if consumer.partitions().contains_key(tp) => {
                if is_served(run, known, tp) { Cell::Owns } else { Cell::Waits }
            }
            _ => Cell::Empty,
        }
    }

    /// How many committed records of its partition lie behind what the group has committed as read,
    /// as `kafka-consumer-groups` counts them; where it has not, behind where it reads.
    fn lag(
        &self,
        known: &Known<'_>,
        group: Option<&coordinator::Group>,
        tp: &TopicPartition,
    ) -> i64 {
        let kept = group.and_then(|group| group.offsets.get(tp)).map(|kept| kept.offset.0);
        let read = match self {
            Share::Missed(owned) if owned.contains(tp) => kept.unwrap_or(0),
            Share::Missed(..) => return 0,
            Share::Own(consumer) => {
                match (consumer.partitions().get(tp).map(|read| &read.position), kept) {
                    (None, _) => return 0,
                    (_, Some(kept)) => kept,
                    (Some(Position::At { offset, .. }), None) => offset.0,
                    _ => return 0,
                }
            }
        };
        (high_watermark(known, tp) - read).max(0)
    }
}

/// Whether the leader of a partition runs.
fn is_served(run: Run<'_>, known: &Known<'_>, tp: &TopicPartition) -> bool {
    let leader = match tp.broker_part() {
        Some((broker, _)) => Some(broker),
        None => known.get(tp).map(|partition| partition.leader),
    };
    let leader = leader.map(|leader| format!("broker{leader}"));
    let leader = leader.and_then(|name| run.cluster.find(&name));
    leader.is_some_and(|leader| run.life(leader) == Life::Running)
}

/// How many records that can be read lie behind an offset.
fn unread(run: Run<'_>, known: &Known<'_>, tp: &TopicPartition, from: Offset) -> i64 {
    if let Some((broker, _)) = tp.broker_part() {
        let broker = run.cluster.find(&format!("broker{broker}"));
        let broker = broker.and_then(|id| run.cluster.process(id).lone_broker());
        let Some(log) = broker.and_then(|broker| broker.logs().get(tp)) else { return 0 };
        let left = log.count_before(log.flushed()).saturating_sub(log.count_before(from));
        return i64::try_from(left).unwrap_or(i64::MAX);
    }
    (high_watermark(known, tp) - from.0).max(0)
}

fn high_watermark(known: &Known<'_>, tp: &TopicPartition) -> i64 {
    known.get(tp).map_or(0, |partition| partition.hw.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, script};

    /// What two members of a group that coordinates in ZooKeeper have, after something has befallen
    /// them: the state, and for each its cells and the key of its note.
    fn check(what: &str, state: &str, expected: [(&str, &str); 2]) {
        let add = |name| format!("add consumer {name} group=g topics=t {CONNECT}\nrun 5s\n");
        let begin =
            "setup seed=1 release=0.8.2.2\nrun 9s\ntopic t partitions=3 replicas=3\nrun 5s\n";
        let text = format!("{begin}{}{}{what}", add("c1"), add("c2"));
        let lab = script::play(&text).expect("it is right").lab;
        let groups = groups(Run::of(&lab));
        let key = |phrase: &Phrase| match phrase {
            Phrase::Line(key, _) => *key,
            Phrase::Raw(_) => "",
        };
        let letter = |cell: &Cell| match cell {
            Cell::Empty => '-',
            Cell::Owns => 'o',
            Cell::Waits => 'w',
            Cell::Believes => 'b',
            Cell::Revoked => 'r',
        };
        let told = |member: &Member| -> (String, &str) {
            (member.cells.iter().map(letter).collect(), key(&member.note))
        };
        let expected = expected.map(|(cells, note)| (cells.to_owned(), note));
        assert_eq!(groups[0].members.iter().map(told).collect::<Vec<_>>(), expected, "{what}");
        assert_eq!(key(&groups[0].state), state, "{what}");
    }

    const CONNECT: &str = "zookeeper.connect=zk1:2181,zk2:2181,zk3:2181";

    #[test]
    fn what_an_old_member_owns_is_told_from_what_it_believes() {
        let (rest, lag) = ("page.group.at-rest", "page.group.lag");
        check("", rest, [("oo-", lag), ("--o", lag)]);
        check("freeze c2\nrun 1s", rest, [("oo-", lag), ("--w", lag)]);
        check("freeze c2\nrun 20s", rest, [("ooo", lag), ("--b", lag)]);
        check("kill c2\nrun 1s", rest, [("oo-", lag), ("--w", "")]);
        let tries = "page.group.attempt";
        check("kill c2\nstart c2\nrun 2s", "page.group.rebalances", [("o--", lag), ("--w", tries)]);
    }

    const GROUP: &str = "setup seed=1\ntopic orders partitions=2 replicas=3\nrun 10s\n\
        add producer p1 topic=orders every=200ms keys=7\n\
        add consumer c1 group=g topics=orders\nadd consumer c2 group=g topics=orders\nrun 20s";

    #[test]
    fn what_is_revoked_stays_where_it_was_until_somebody_has_it() {
        let text = format!("{GROUP}\nadd consumer c3 group=g topics=orders");
        let mut lab = script::play(&text).expect("it is right").lab;
        let revoked = |lab: &Lab, _: usize| {
            let members = groups(Run::of(lab)).remove(0).members;
            members.iter().any(|member| member.cells.contains(&Cell::Revoked))
        };
        lab.step_until(Span::secs(10), revoked).expect("a newcomer makes them let go");
        let shown = |lab: &Lab| -> Vec<Vec<Cell>> {
            let members = groups(Run::of(lab)).remove(0).members;
            members.into_iter().map(|member| member.cells).collect()
        };
        let (own, let_go, none) = (Cell::Owns, Cell::Revoked, Cell::Empty);
        assert_eq!(shown(&lab), [[let_go, none], [none, own], [none, none]]);
        lab.advance_to(lab.moment().at + Span::secs(10));
        assert_eq!(shown(&lab), [[own, none], [none, own], [none, none]]);
    }

    #[test]
    fn a_killed_member_owns_until_its_group_misses_it() {
        let member = |wait: &str| {
            let lab = script::play(&format!("{GROUP}\nkill c1\n{wait}")).expect("it is right").lab;
            groups(Run::of(&lab)).remove(0).members.remove(0)
        };
        let early = member("run 20s");
        assert!(early.cells.contains(&Cell::Waits), "{early:?}");
        assert_ne!(early.note, lags(0), "{early:?}");
        let late = member("run 60s");
        assert_eq!((late.cells, late.note), (vec![Cell::Empty; 2], lags(0)));
    }
}

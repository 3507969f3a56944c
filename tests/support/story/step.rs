//! What a step of a recorded story says was done, read from its `do`.
//! Not here: carrying it out (`teller`).
//! *Invariant: a form that is not known is an error that names it, never a guess.*

use zootrope::kafka::consumer::words::ConsumerRequest;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    StartBroker {
        broker: i32,
        settings: Settings,
        seat: Seat,
    },
    StopBroker(i32),
    Kill(Vec<Who>),
    /// Members die and are started again at once.
    KillAndStart {
        victims: Vec<Who>,
        start: Start,
    },
    Freeze(Who),
    Thaw(Who, Vec<ConsumerRequest>),
    Cut(Who),
    Heal(Who),
    KillZooKeeper,
    StartZooKeeper,
    Tool {
        name: String,
        args: Vec<String>,
    },
    Send(Send),
    StartConsumers(Start),
    TellConsumer(String, ConsumerRequest),
    StartProducer {
        name: String,
        transactional_id: String,
    },
    TellProducer(String, Vec<Transactional>),
    ByHand(ByHand),
    Dump {
        topic: String,
        partition: i32,
        broker: i32,
    },
    /// Nothing is done; the consumers' words are collected.
    Listen,
    /// Microseconds.
    Wait(u64),
    WaitUntil(Until),
}

pub type Settings = Vec<(String, String)>;

/// Which of the processes with one broker id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seat {
    Own,
    /// A second process with an id that is taken.
    Second,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Broker(i32),
    Client(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Send {
    pub count: u32,
    pub topic: String,
    /// The number of the first key and value.
    pub from: u32,
    pub key: Key,
    pub partition: Option<i32>,
    pub settings: Settings,
    /// A broker that is killed in between.
    pub victim: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Key {
    /// `kN`, with the number of the record.
    #[default]
    Numbered,
    Null,
    Fixed(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    pub names: Vec<String>,
    pub group: String,
    /// Topics (or patterns, with `~` before them), with the number of streams where it is given.
    pub topics: Vec<(String, Option<u32>)>,
    pub settings: Settings,
    pub polls_with_duration: bool,
    pub ends_at_first_error: bool,
    pub at_once: bool,
}

/// What a transactional producer is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transactional {
    Init,
    Begin,
    Send { topic: String, key: String, value: String },
    Offsets { group: String, topic: String, partition: i32, offset: i64 },
    Commit,
    Abort,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByHand {
    Create(String, Option<String>),
    SetData(String, Option<String>),
    Delete(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    IsrHasShrunk,
    SessionIsOver(Who),
    GroupIsEmpty,
    GroupHasNewGeneration,
    EveryReplicaInSync,
    BrokerLeads(i32),
    HasThemToo(Vec<String>),
    AllHave(u32),
    Holds(String, String),
}

/// The tools that a step may name.
const TOOLS: &[&str] = &[
    "kafka-topics",
    "kafka-configs",
    "kafka-consumer-groups",
    "kafka-reassign-partitions",
    "kafka-leader-election",
    "kafka-preferred-replica-election",
    "kafka-console-consumer",
    "ConsumerOffsetChecker",
];

/// Reads a step.
pub fn read(what: &str) -> Result<Step, String> {
    let what = what.trim();
    let (first, rest) = what.split_once(' ').unwrap_or((what, ""));
    let step = match first {
        "start" => start(rest),
        "stop" => broker(rest).map(Step::StopBroker),
        "kill" => rest.strip_prefix("-9 ").and_then(kill),
        "freeze" => who(rest).map(Step::Freeze),
        "thaw" => thaw(rest),
        "cut" => rest.strip_suffix(" from ZooKeeper").and_then(who).map(Step::Cut),
        "heal" => who(rest).map(Step::Heal),
        "send" => send(rest).map(Step::Send),
        "tell" => tell(rest),
        "consumer" => tell_consumer(rest),
        "commit" | "close" => {
            let act = ConsumerRequest::by_name(first);
            word(rest).zip(act).map(|(name, act)| Step::TellConsumer(name, act))
        }
        "by" => rest.strip_prefix("hand: ").and_then(by_hand).map(Step::ByHand),
        "dump" => dump(rest),
        "wait" => wait(rest),
        "what" => (rest == "the consumers said").then_some(Step::Listen),
        tool if TOOLS.contains(&tool) => Some(Step::Tool {
            name: tool.to_owned(),
            args: rest.split_whitespace().map(str::to_owned).collect(),
        }),
        _ => None,
    };
    step.ok_or_else(|| format!("the step is not known: {what}"))
}

fn start(rest: &str) -> Option<Step> {
    if rest == "ZooKeeper" {
        return Some(Step::StartZooKeeper);
    }
    if let Some(rest) = rest.strip_prefix("second broker ") {
        let (broker, settings) = started_broker(rest)?;
        return Some(Step::StartBroker { broker, settings, seat: Seat::Second });
    }
    if let Some(rest) = rest.strip_prefix("broker ") {
        let (broker, settings) = started_broker(rest)?;
        return Some(Step::StartBroker { broker, settings, seat: Seat::Own });
    }
    if let Some(rest) = rest.strip_prefix("transactional producer ") {
        let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if rest.is_empty() {
            let name = name.to_owned();
            return Some(Step::StartProducer { transactional_id: name.clone(), name });
        }
        let second = rest.strip_prefix("a second time (as ")?.strip_suffix(')')?;
        let transactional_id = name.to_owned();
        return Some(Step::StartProducer { name: word(second)?, transactional_id });
    }
    let rest = rest.strip_prefix("consumers ").or_else(|| rest.strip_prefix("consumer "))?;
    let (names, rest) = rest.split_once(" (")?;
    let (names, at_once) = match names.strip_suffix(" at once") {
        Some(names) => (names, true),
        None => (names, false),
    };
    let mut start = consumers(rest)?;
    start.names = list_of_names(names)?;
    start.at_once = at_once;
    Some(Step::StartConsumers(start))
}

/// `2`, `2 (k=v, …)`, `2 with k=v with …`; a remark in brackets is no setting.
fn started_broker(rest: &str) -> Option<(i32, Settings)> {
    let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let number = number.parse().ok()?;
    let mut settings = Vec::new();
    if let Some(inside) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        settings.extend(inside.split(", ").filter_map(pair));
    } else if !rest.is_empty() {
        settings.extend(
            clauses(&format!(" {rest}"))?.iter().map(|c| pair(c)).collect::<Option<Vec<_>>>()?,
        );
    }
    Some((number, settings))
}

/// What stands in the brackets after the names of members, and behind: `group g, topics a,b) with
/// …`.
fn consumers(rest: &str) -> Option<Start> {
    let (inside, behind) = rest.split_once(')')?;
    let mut start = Start::default();
    let inside = inside.strip_prefix("group ")?;
    let (group, inside) = inside.split_once(", topics ")?;
    start.group = group.to_owned();
    let mut parts = inside.split(", ");
    start.topics = topics(parts.next()?);
    for part in parts {
        start.settings.push(pair(part)?);
    }
    let mut behind = behind.to_owned();
    if let Some(rest) = behind.strip_suffix(" that ends at its first error") {
        start.ends_at_first_error = true;
        behind = rest.to_owned();
    }
    if let Some(rest) = behind.strip_suffix(" that polls with a Duration") {
        start.polls_with_duration = true;
        behind = rest.to_owned();
    }
    for clause in clauses(&behind)? {
        start.settings.push(pair(&clause)?);
    }
    Some(start)
}

fn topics(list: &str) -> Vec<(String, Option<u32>)> {
    list.split(',')
        .map(|topic| match topic.rsplit_once(':').map(|(name, n)| (name, n.parse())) {
            Some((name, Ok(streams))) => (name.to_owned(), Some(streams)),
            _ => (topic.to_owned(), None),
        })
        .collect()
}

/// ` with a=b with c=d` as its parts.
fn clauses(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let rest = text.strip_prefix(" with ")?;
    Some(rest.split(" with ").map(str::to_owned).collect())
}

fn kill(rest: &str) -> Option<Step> {
    if rest == "ZooKeeper" {
        return Some(Step::KillZooKeeper);
    }
    let again = rest.split_once(" and start it again at once (");
    let again = again.or_else(|| rest.split_once(" and start them again at once ("));
    if let Some((victims, behind)) = again {
        let victims = whole_list(victims)?;
        let mut start = consumers(behind)?;
        start.names = victims
            .iter()
            .map(|who| match who {
                Who::Client(name) => Some(name.clone()),
                Who::Broker(_) => None,
            })
            .collect::<Option<_>>()?;
        start.at_once = true;
        return Some(Step::KillAndStart { victims, start });
    }
    whole_list(rest).map(Step::Kill)
}

/// `broker 1 and broker 2`, `consumers c1 and c2`, `c2 c3`, `consumer c1`, `c1`.
fn whole_list(text: &str) -> Option<Vec<Who>> {
    if text.starts_with("broker ") {
        return text.split(" and ").map(who).collect();
    }
    let bare = text.strip_prefix("consumers ").or_else(|| text.strip_prefix("consumer "));
    let names = list_of_names(bare.unwrap_or(text))?;
    Some(names.into_iter().map(Who::Client).collect())
}

fn list_of_names(text: &str) -> Option<Vec<String>> {
    let names: Vec<_> = text.split([' ', ',']).filter(|n| !n.is_empty() && *n != "and").collect();
    if names.is_empty() {
        return None;
    }
    names.into_iter().map(word).collect()
}

fn thaw(rest: &str) -> Option<Step> {
    match rest.strip_suffix(" and commit") {
        Some(name) => Some(Step::Thaw(who(name)?, vec![ConsumerRequest::Commit])),
        None => Some(Step::Thaw(who(rest)?, Vec::new())),
    }
}

/// `N records to T`, then what is given in brackets or after `with`.
fn send(rest: &str) -> Option<Send> {
    let mut send = Send::default();
    let (rest, victim) = match rest.split_once(" and kill -9 broker ") {
        Some((rest, victim)) => (rest, Some(victim.strip_suffix(" in between")?.parse().ok()?)),
        None => (rest, None),
    };
    send.victim = victim;
    let (count, rest) = rest.split_once(" records to ")?;
    send.count = count.parse().ok()?;
    let (topic, rest) = match rest.find(' ') {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    };
    send.topic = topic.to_owned();
    let inside = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    let given: Vec<String> = match inside {
        Some(inside) => inside.split(", ").map(str::to_owned).collect(),
        None => clauses(rest)?,
    };
    for clause in given {
        let (name, value) = pair(&clause)?;
        match name.as_str() {
            "from" => send.from = value.parse().ok()?,
            "nokey" => send.key = if value == "true" { Key::Null } else { Key::Numbered },
            "key" => send.key = Key::Fixed(value),
            "partition" => send.partition = Some(value.parse().ok()?),
            _ => send.settings.push((name, value)),
        }
    }
    Some(send)
}

fn tell(rest: &str) -> Option<Step> {
    if let Some(rest) = rest.strip_prefix("consumer ") {
        return tell_consumer(rest);
    }
    let (name, acts) = rest.strip_prefix("producer ")?.split_once(": ")?;
    let acts = acts.split(", ").map(transactional).collect::<Option<_>>()?;
    Some(Step::TellProducer(word(name)?, acts))
}

fn transactional(text: &str) -> Option<Transactional> {
    let words: Vec<&str> = text.split(' ').collect();
    Some(match words[..] {
        ["init"] => Transactional::Init,
        ["begin"] => Transactional::Begin,
        ["commit"] => Transactional::Commit,
        ["abort"] => Transactional::Abort,
        ["send", topic, key, value] => Transactional::Send {
            topic: topic.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        },
        ["offsets", group, topic, partition, offset] => Transactional::Offsets {
            group: group.to_owned(),
            topic: topic.to_owned(),
            partition: partition.parse().ok()?,
            offset: offset.parse().ok()?,
        },
        _ => return None,
    })
}

fn tell_consumer(rest: &str) -> Option<Step> {
    let (name, act) = rest.split_once(": ")?;
    Some(Step::TellConsumer(word(name)?, ConsumerRequest::by_name(act)?))
}

fn by_hand(rest: &str) -> Option<ByHand> {
    let (op, rest) = rest.split_once(' ')?;
    let (path, data) = match rest.split_once(' ') {
        Some((path, data)) => (path.to_owned(), Some(data.to_owned())),
        None => (rest.to_owned(), None),
    };
    match (op, data) {
        ("create", data) => Some(ByHand::Create(path, data)),
        ("setData", data) => Some(ByHand::SetData(path, data)),
        ("delete", None) => Some(ByHand::Delete(path)),
        _ => None,
    }
}

fn dump(rest: &str) -> Option<Step> {
    let (log, of) = rest.split_once(" of ")?;
    let (topic, partition) = log.rsplit_once('-')?;
    Some(Step::Dump {
        topic: topic.to_owned(),
        partition: partition.parse().ok()?,
        broker: broker(of)?,
    })
}

fn wait(rest: &str) -> Option<Step> {
    if let Some(condition) = rest.strip_prefix("until ") {
        return until(condition).map(Step::WaitUntil);
    }
    micros(rest.strip_suffix(" s")?).map(Step::Wait)
}

/// Decimal seconds in microseconds.
fn micros(seconds: &str) -> Option<u64> {
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let part = format!("{part:0<6}");
    Some(whole.parse::<u64>().ok()? * 1_000_000 + part.get(..6)?.parse::<u64>().ok()?)
}

fn until(condition: &str) -> Option<Until> {
    if let Some(rest) = condition.strip_prefix("the session of ") {
        let rest = rest.strip_suffix(" has expired").or_else(|| rest.strip_suffix(" has ended"))?;
        return who(rest).map(Until::SessionIsOver);
    }
    if let Some(rest) = condition.strip_suffix(" leads again") {
        return broker(rest).map(Until::BrokerLeads);
    }
    if let Some(names) = condition.strip_suffix(" has them too") {
        return list_of_names(names).map(Until::HasThemToo);
    }
    if let Some(names) = condition.strip_suffix(" have them too") {
        return list_of_names(names).map(Until::HasThemToo);
    }
    if let Some(count) = condition.strip_prefix("both have ") {
        return count.parse().ok().map(Until::AllHave);
    }
    if let Some(rest) = condition.strip_suffix(" only") {
        let (name, partition) = rest.split_once(" holds ")?;
        return Some(Until::Holds(word(name)?, word(partition)?));
    }
    match condition {
        "the ISR has shrunk" => Some(Until::IsrHasShrunk),
        "the group is empty" => Some(Until::GroupIsEmpty),
        "the group has a new generation" => Some(Until::GroupHasNewGeneration),
        "every replica is in sync" => Some(Until::EveryReplicaInSync),
        _ => None,
    }
}

fn who(text: &str) -> Option<Who> {
    if text.starts_with("broker ") {
        return broker(text).map(Who::Broker);
    }
    word(text.strip_prefix("consumer ").unwrap_or(text)).map(Who::Client)
}

fn broker(text: &str) -> Option<i32> {
    text.strip_prefix("broker ")?.parse().ok()
}

fn word(text: &str) -> Option<String> {
    (!text.is_empty() && !text.contains(' ')).then(|| text.to_owned())
}

fn pair(clause: &str) -> Option<(String, String)> {
    let (name, value) = clause.split_once('=')?;
    Some((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(what: &str, expected: Step) {
        assert_eq!(read(what), Ok(expected), "{what}");
    }

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
    }

    #[test]
    fn brokers_are_started_with_settings_in_brackets_or_behind() {
        let started = |pairs: &[(&str, &str)], seat| Step::StartBroker {
            broker: 3,
            settings: settings(pairs),
            seat,
        };
        check("start broker 3", started(&[], Seat::Own));
        check("start broker 3 (broker.rack=b)", started(&[("broker.rack", "b")], Seat::Own));
        check("start broker 3 with a=b,c", started(&[("a", "b,c")], Seat::Own));
        check("start second broker 3 (an id already taken)", started(&[], Seat::Second));
    }

    #[test]
    fn sends_say_what_where_and_how() {
        let send = Send { count: 3, topic: "orders".into(), ..Send::default() };
        check("send 3 records to orders", Step::Send(send.clone()));
        let from = Send { from: 9, settings: settings(&[("acks", "1")]), ..send.clone() };
        check("send 3 records to orders (acks=1, from=9)", Step::Send(from));
        let key = Send { key: Key::Fixed("".into()), ..send.clone() };
        check("send 3 records to orders with key=", Step::Send(key));
        let idempotent =
            Send { settings: settings(&[("enable.idempotence", "true")]), victim: Some(2), ..send };
        let text =
            "send 3 records to orders with enable.idempotence=true and kill -9 broker 2 in between";
        check(text, Step::Send(idempotent));
    }

    #[test]
    fn members_are_started_alone_or_together() {
        let start = Start {
            names: vec!["c1".into()],
            group: "g".into(),
            topics: vec![("orders".into(), None), ("bills".into(), None)],
            ..Start::default()
        };
        check(
            "start consumer c1 (group g, topics orders,bills)",
            Step::StartConsumers(start.clone()),
        );
        let names = vec!["c2".into(), "c3".into()];
        let both = Start { names: names.clone(), ..start.clone() };
        check(
            "start consumers c2 and c3 (group g, topics orders,bills)",
            Step::StartConsumers(both),
        );
        let old = Start {
            names,
            topics: vec![("~ord.*".into(), Some(2))],
            settings: settings(&[("k", "v")]),
            at_once: true,
            ..start.clone()
        };
        let text = "start consumers c2 c3 at once (group g, topics ~ord.*:2, k=v)";
        check(text, Step::StartConsumers(old));
        let fragile = Start {
            settings: settings(&[("a", "b"), ("c", "d")]),
            ends_at_first_error: true,
            ..start
        };
        let text = "start consumer c1 (group g, topics orders,bills) with a=b with c=d \
                    that ends at its first error";
        check(text, Step::StartConsumers(fragile));
    }

    #[test]
    fn faults_name_their_victims() {
        check("kill -9 broker 1 and broker 2", Step::Kill(vec![Who::Broker(1), Who::Broker(2)]));
        let c = |name: &str| Who::Client(name.into());
        check("kill -9 consumers c1 and c2", Step::Kill(vec![c("c1"), c("c2")]));
        check("kill -9 c2 c3", Step::Kill(vec![c("c2"), c("c3")]));
        check("thaw c1 and commit", Step::Thaw(c("c1"), vec![ConsumerRequest::Commit]));
        check("cut broker 1 from ZooKeeper", Step::Cut(Who::Broker(1)));
    }

    #[test]
    fn waits_are_for_a_time_or_for_something() {
        check("wait 0.3 s", Step::Wait(300_000));
        check("wait 12 s", Step::Wait(12_000_000));
        let over = Until::SessionIsOver(Who::Broker(2));
        check("wait until the session of broker 2 has expired", Step::WaitUntil(over));
        let holds = Until::Holds("c1".into(), "orders-0".into());
        check("wait until c1 holds orders-0 only", Step::WaitUntil(holds));
    }

    #[test]
    fn an_unknown_form_is_named() {
        let error = read("paint broker 1 green").expect_err("nobody knows how");
        assert!(error.contains("paint broker 1 green"));
    }
}

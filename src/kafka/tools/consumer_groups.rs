//! `kafka-consumer-groups`: lists, describes, resets and deletes groups by asking their
//! coordinators.
//!
//! Not here: how its lines look (`groups_text`).
//! Source: ConsumerGroupCommand (3.9).
//!
//! *Invariant: it knows of a group what its coordinator says, and of a log what its leader says.*

use std::sync::Arc;

use super::admin::{Admin, Failure, Told, answer, ended};
use super::dialogue::Next;
use super::exception::Exception;
use super::groups_in_zookeeper;
use super::groups_text::{self as text, Detail, MemberRow, OffsetRow, StateRow};
use super::{Arguments, Printed, Usage};
use crate::kafka::error::Error;
use crate::kafka::id::{BrokerId, Generation, GroupId, MemberId, Offset, TopicPartition};
use crate::kafka::java_hash::{self, Filling};
use crate::kafka::message::{
    BrokerAddress, CommittedOffset, DeleteGroupsRequest, DescribeGroupsRequest, DescribedGroup,
    Isolation, ListGroupsRequest, ListOffsetsAt, MemberIdentity, OffsetCommitRequest,
    OffsetDeleteRequest, OffsetFetchRequest, Response,
};
use crate::kafka::release::Release;
use crate::sim::{OrdMap, SimTime, Span, sort};

/// Topics with partitions of theirs.
type Chosen = Vec<(Arc<str>, Vec<i32>)>;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerGroups {
    action: Action,
    place: Place,
    group: Option<GroupId>,
    /// Topics with the partitions chosen; none chosen means all.
    topics: Chosen,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    List(Option<Column>),
    Describe(What),
    Reset(To, Execution),
    Delete,
    DeleteOffsets(GroupId),
}

/// Which groups are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Those that brokers coordinate.
    Brokers,
    /// Those that coordinate in ZooKeeper (`--zookeeper`, to 1.1).
    Zookeeper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Column {
    State,
    Type,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Offsets,
    Members(Detail),
    State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum To {
    Earliest,
    Latest,
    Current,
    Offset(i64),
    Shift(i64),
    /// Where records are that are not older than this.
    Ago(Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Execution {
    /// Nobody said which: it is a dry run.
    Untold,
    DryRun,
    Execute,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    List,
    Describe,
    Reset,
    Delete,
    DeleteOffsets,
}

const VERBS: &[(&str, Verb)] = &[
    ("--list", Verb::List),
    ("--describe", Verb::Describe),
    ("--reset-offsets", Verb::Reset),
    ("--delete", Verb::Delete),
    ("--delete-offsets", Verb::DeleteOffsets),
];

impl ConsumerGroups {
    /// Reads the command line.
    // Source: ConsumerGroupCommandOptions.checkArgs
    pub fn read(arguments: &mut Arguments) -> Result<ConsumerGroups, Usage> {
        let in_zookeeper = arguments.switch("--zookeeper");
        let place = if in_zookeeper { Place::Zookeeper } else { Place::Brokers };
        let all = arguments.switch("--all-groups");
        let group = arguments.value("--group").map(GroupId::from);
        let topics = topics(arguments)?;
        let action = match arguments.one_of(VERBS)? {
            Verb::Reset | Verb::DeleteOffsets if in_zookeeper => {
                return Err(Usage::is_not(
                    "--zookeeper",
                    "--list, --describe or --delete with it: the old tool has no more",
                ));
            }
            Verb::List => {
                let state = arguments.switch("--state").then_some(Column::State);
                let kind = arguments.switch("--type").then_some(Column::Type);
                Action::List(state.or(kind))
            }
            Verb::Describe => Action::Describe(what(arguments)),
            Verb::Reset => {
                let to = to(arguments)?;
                let all = arguments.switch("--all-topics");
                if all != topics.is_empty() {
                    return Err(Usage::lacks("--all-topics or --topic TOPIC, and not both"));
                }
                Action::Reset(to, execution(arguments))
            }
            Verb::Delete => Action::Delete,
            Verb::DeleteOffsets => match &group {
                Some(group) if !topics.is_empty() => Action::DeleteOffsets(group.clone()),
                _ => return Err(Usage::lacks("--group and --topic")),
            },
        };
        arguments.finish()?;
        let of_topic = in_zookeeper && matches!(action, Action::Delete) && !topics.is_empty();
        if (group.is_some() == all) && !of_topic && !matches!(action, Action::List(_)) {
            return Err(Usage::lacks("--group GROUP or --all-groups, and not both"));
        }
        Ok(ConsumerGroups { action, place, group, topics })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        let mut printed = match self.place {
            Place::Brokers => text::note(admin.release()).to_owned(),
            Place::Zookeeper => groups_in_zookeeper::note(admin),
        };
        let done = match &self.action {
            _ if self.place == Place::Zookeeper => self.run_in_zookeeper(admin, &mut printed),
            Action::Describe(_) if admin.release().groups_are_shown_plainly() => {
                self.describe_plainly(admin, &mut printed)
            }
            Action::List(column) => list(admin, *column, &mut printed),
            Action::Describe(what) => self.describe(admin, *what, &mut printed),
            Action::Reset(to, execution) => self.reset(admin, *to, *execution, &mut printed),
            Action::Delete => self.delete(admin, &mut printed),
            Action::DeleteOffsets(group) => self.delete_offsets(admin, group, &mut printed),
        };
        // Source: ConsumerGroupCommand.run: what is thrown is printed, and that is all; only a bad
        // argument ends it by printUsageAndExit.
        let before = printed.clone();
        ended(done.map(|()| printed), &|why| {
            let words = before.clone() + &failed(why, admin.release());
            match why.exception {
                Exception::IllegalArgument => Printed::failed(words),
                _ => Printed::done(words),
            }
        })
    }

    /// Whether it goes to ZooKeeper.
    pub(super) fn is_in_zookeeper(&self) -> bool {
        self.place == Place::Zookeeper
    }

    /// An option that came later, or went before.
    // Source: ConsumerGroupCommand.ConsumerGroupCommandOptions (0.10.2 to 3.9)
    pub(super) fn too_new(&self, release: Release) -> Option<&'static str> {
        let (option, is_known) = match self.action {
            _ if self.is_in_zookeeper() => ("zookeeper", release.has_old_consumers()),
            Action::Reset(..) => ("reset-offsets", release.groups_tool_resets_offsets()),
            Action::Describe(What::Members(_)) => ("members", release.groups_tool_shows_members()),
            Action::Describe(What::State) => ("state", release.groups_tool_shows_members()),
            Action::DeleteOffsets(_) => ("delete-offsets", release.groups_tool_deletes_offsets()),
            Action::List(Some(Column::Type)) => ("type", release.groups_tool_knows_types()),
            _ => return None,
        };
        (!is_known).then_some(option)
    }

    fn run_in_zookeeper(&self, admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
        let topic = self.topics.first().map(|(topic, _)| &**topic);
        match (&self.action, &self.group, topic) {
            (Action::Describe(_), Some(group), _) => {
                groups_in_zookeeper::describe(group, admin, printed)
            }
            (Action::Delete, Some(group), topic) => {
                groups_in_zookeeper::delete(group, topic, admin, printed)
            }
            (Action::Delete, None, Some(topic)) => {
                groups_in_zookeeper::delete_of_all(topic, admin, printed)
            }
            _ => groups_in_zookeeper::list(admin, printed),
        }
    }

    fn describe(&self, admin: &mut Admin<'_>, what: What, printed: &mut String) -> Told<()> {
        for group in self.groups(admin)? {
            let (coordinator, described) = describe(admin, &group)?;
            let shown = match what {
                What::Offsets => {
                    let rows = offset_rows(admin, &described)?;
                    (rows.len(), text::offsets(&rows, admin.release()))
                }
                What::Members(detail) => {
                    let rows = member_rows(&described);
                    (rows.len(), text::members(&rows, detail, admin.release()))
                }
                What::State => {
                    let row = state_row(&coordinator, &described);
                    (1, text::state(&row, admin.release()))
                }
            };
            let (said, more) = text::preface(group.as_str(), described.group_state, shown.0);
            printed.push_str(&said);
            if more {
                printed.push_str(&shown.1);
            }
        }
        Ok(())
    }

    /// As it was to 1.0: those who read most come first, and without a commit nobody comes at all.
    // Source: ConsumerGroupCommand.KafkaConsumerGroupService.collectGroupAssignment (0.10.2)
    fn describe_plainly(&self, admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
        for group in self.groups(admin)? {
            let (_, described) = describe(admin, &group)?;
            let mut rows = offset_rows(admin, &described)?;
            if rows.iter().all(|row| row.current.is_none()) {
                rows.clear();
            }
            let mut members: Vec<_> = described.members.iter().collect();
            sort::by_key(&mut members, |member| std::cmp::Reverse(member.member_assignment.len()));
            let place = |row: &OffsetRow| {
                let is = |id: &str| row.reader.as_ref().is_some_and(|(reader, _, _)| reader == id);
                members.iter().position(|m| is(m.member_id.as_str())).unwrap_or(members.len())
            };
            sort::by_key(&mut rows, place);
            let (said, _) = text::preface(group.as_str(), described.group_state, rows.len());
            printed.push_str(said.trim_start_matches('\n'));
            if described.group_state != "Dead" {
                printed.push_str(&text::plain_offsets(&rows));
            }
        }
        Ok(())
    }

    fn groups(&self, admin: &mut Admin<'_>) -> Told<Vec<GroupId>> {
        match &self.group {
            Some(group) => Ok(vec![group.clone()]),
            None => {
                let mut groups: Vec<_> =
                    listed(admin)?.into_iter().map(|(group, _)| group).collect();
                sort::sort(&mut groups);
                Ok(groups)
            }
        }
    }

    fn reset(
        &self,
        admin: &mut Admin<'_>,
        to: To,
        execution: Execution,
        printed: &mut String,
    ) -> Told<()> {
        let mut rows = Vec::new();
        if execution == Execution::Untold {
            printed.push_str(UNTOLD);
        }
        for group in self.groups(admin)? {
            let (_, described) = describe(admin, &group)?;
            let state = described.group_state;
            if !matches!(state, "Empty" | "Dead") {
                printed.push_str(&text::failure(&format!(
                    "Assignments can only be reset if the group '{group}' is inactive, but the \
                     current state is {state}."
                )));
                continue;
            }
            let offsets = self.new_offsets(admin, &group, to, printed)?;
            if execution == Execution::Execute {
                commit(admin, &group, &offsets)?;
            }
            rows.extend(offsets.into_iter().map(|(partition, offset)| {
                (group.to_string(), partition.topic.to_string(), partition.partition, offset)
            }));
        }
        printed.push_str(&text::reset(&rows));
        Ok(())
    }

    /// Where the group is to stand, within what the logs hold.
    // Source: ConsumerGroupCommand.prepareOffsetsToReset, checkOffsetsRange
    fn new_offsets(
        &self,
        admin: &mut Admin<'_>,
        group: &GroupId,
        to: To,
        printed: &mut String,
    ) -> Told<Vec<(TopicPartition, i64)>> {
        let committed = committed(admin, group)?;
        let partitions = match self.topics.is_empty() {
            true => committed.keys().cloned().collect(),
            false => self.partitions(admin)?,
        };
        let since = match to {
            To::Ago(span) => {
                let since =
                    SimTime::micros(admin.now().as_micros().saturating_sub(span.as_micros()));
                admin.list_offsets(ListOffsetsAt::Time(since), &partitions)?
            }
            _ => Vec::new(),
        };
        let starts = admin.list_offsets(ListOffsetsAt::Earliest, &partitions)?;
        let ends = admin.list_offsets(ListOffsetsAt::Latest, &partitions)?;
        let mut offsets = Vec::new();
        for (place, partition) in partitions.iter().enumerate() {
            let (start, end) = (starts[place].1.unwrap_or(0), ends[place].1.unwrap_or(0));
            let current = committed.get(partition).copied();
            let wanted = match to {
                To::Earliest => start,
                To::Latest => end,
                To::Offset(offset) => offset,
                To::Current => current.unwrap_or(end),
                To::Ago(_) => match since[place].1.filter(|offset| *offset >= 0) {
                    Some(offset) => offset,
                    None => {
                        printed.push_str(&format!(
                            "\nWarn: Partition {} from topic {} is empty. Falling back to latest \
                             known offset.\n",
                            partition.partition, partition.topic
                        ));
                        end
                    }
                },
                To::Shift(by) => match current {
                    Some(current) => current.wrapping_add(by),
                    None => {
                        let message = format!(
                            "Cannot shift offset for partition {partition} since there is no \
                             current committed offset"
                        );
                        return Err(Failure::new(Exception::IllegalArgument, message).into());
                    }
                },
            };
            offsets.push((partition.clone(), wanted.min(end).max(start)));
        }
        Ok(offsets)
    }

    /// The partitions that `--topic` names.
    fn partitions(&self, admin: &mut Admin<'_>) -> Told<Vec<TopicPartition>> {
        let names = self.topics.iter().map(|(topic, _)| topic.as_ref().into()).collect();
        let known = admin.metadata(Some(names))?;
        let mut partitions = Vec::new();
        for (topic, chosen) in &self.topics {
            let of = known.iter().find(|of| of.name.as_str() == topic.as_ref());
            let all = of.iter().flat_map(|of| of.partitions.iter().map(|p| p.partition_index));
            let numbers: Vec<i32> = if chosen.is_empty() { all.collect() } else { chosen.clone() };
            partitions.extend(numbers.into_iter().map(|n| TopicPartition::new(&**topic, n)));
        }
        sort::sort(&mut partitions);
        Ok(partitions)
    }

    fn delete(&self, admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
        let (mut done, mut refused) = (Vec::new(), Vec::new());
        for group in self.groups(admin)? {
            let request = DeleteGroupsRequest { groups_names: vec![group.clone()] };
            let error_of = |answer: &Response| match answer {
                Response::DeleteGroups(answer) => answer.results.first().and_then(|(_, e)| *e),
                _ => None,
            };
            let (_, answer) =
                admin.of_group("deleteConsumerGroups", &group, request.into(), error_of)?;
            match error_of(&answer) {
                None => done.push(format!("'{group}'")),
                Some(error) => refused.push((group, Failure::refused(error, None))),
            }
        }
        if refused.is_empty() {
            let list = done.join(", ");
            printed.push_str(&format!(
                "Deletion of requested consumer groups ({list}) was successful.\n"
            ));
            return Ok(());
        }
        printed.push_str(&text::failure("Deletion of some consumer groups failed:"));
        for (group, why) in refused {
            printed.push_str(&format!(
                "* Group '{group}' could not be deleted due to: \
                 java.util.concurrent.ExecutionException: {}\n",
                why.thrown(admin.release())
            ));
        }
        if !done.is_empty() {
            let list = done.join(", ");
            printed
                .push_str(&format!("\nThese consumer groups were deleted successfully: {list}\n"));
        }
        Ok(())
    }

    // Source: ConsumerGroupCommand.deleteOffsets; all rows run on behind the header.
    fn delete_offsets(
        &self,
        admin: &mut Admin<'_>,
        group: &GroupId,
        printed: &mut String,
    ) -> Told<()> {
        let topics = self.partitions(admin)?;
        let request = OffsetDeleteRequest { group_id: group.clone(), topics: topics.clone() };
        let error_of = |answer: &Response| match answer {
            Response::OffsetDelete(answer) => answer.error,
            _ => None,
        };
        let call = "deleteConsumerGroupOffsets";
        let (_, answer) = admin.of_group(call, group, request.into(), error_of)?;
        let answer = answer!(answer, OffsetDelete);
        if let Some(error) = answer.error {
            return Err(Failure::refused(error, None).into());
        }
        if answer.topics.iter().any(|(_, error)| error.is_some()) {
            let why = "Encounter some partition level error, see the follow-up details:";
            printed.push_str(&text::failure(why));
        } else {
            let names: Vec<String> = self.topics.iter().map(topic_as_given).collect();
            let names = names.join(", ");
            printed.push_str(&format!(
                "Request succeed for deleting offsets with topic {names} group {group}\n"
            ));
        }
        let cells = |a: &str, b: &str, c: &str| format!("{a:30} {b:15} {c:15}");
        printed.push_str(&format!("\n{}", cells("TOPIC", "PARTITION", "STATUS")));
        for (partition, error) in answer.topics {
            let status = match error {
                None => "Successful".to_owned(),
                Some(error) => {
                    let why = Failure::refused(error, None);
                    format!("Error: :{}", why.thrown(admin.release()))
                }
            };
            let number = partition.partition.to_string();
            printed.push_str(&cells(partition.topic.as_str(), &number, &status));
        }
        Ok(())
    }
}

fn what(arguments: &mut Arguments) -> What {
    let verbose = arguments.switch("--verbose");
    arguments.switch("--offsets");
    if arguments.switch("--members") {
        What::Members(if verbose { Detail::Verbose } else { Detail::Brief })
    } else if arguments.switch("--state") {
        What::State
    } else {
        What::Offsets
    }
}

/// Sums of offsets stay in range.
const MOST_SHIFT: i64 = i64::MAX / 2;

/// What is said where neither `--execute` nor `--dry-run` is given.
// Source: ConsumerGroupCommandOptions.checkArgs (1.0)
const UNTOLD: &str = "WARN: No action will be performed as the --execute option is missing.In a \
    future major release, the default behavior of this command will be to prompt the user before \
    executing the reset rather than doing a dry run. You should add the --dry-run option \
    explicitly if you are scripting this command and want to keep the current default behavior \
    without prompting.\n";

fn execution(arguments: &mut Arguments) -> Execution {
    match (arguments.switch("--execute"), arguments.switch("--dry-run")) {
        (true, _) => Execution::Execute,
        (false, true) => Execution::DryRun,
        (false, false) => Execution::Untold,
    }
}

/// A duration like `P1DT2H3M4S`.
// Source: java.time.Duration.parse
fn duration(text: &str) -> Option<Span> {
    let (mut span, mut number, mut in_time) = (0u64, String::new(), false);
    for c in text.strip_prefix('P')?.chars() {
        let unit = match c {
            'T' if !in_time && number.is_empty() => {
                in_time = true;
                continue;
            }
            '0'..='9' => {
                number.push(c);
                continue;
            }
            'D' if !in_time => 86_400,
            'H' if in_time => 3600,
            'M' if in_time => 60,
            'S' if in_time => 1,
            _ => return None,
        };
        let count: u32 = number.parse().ok()?;
        span = span.checked_add(u64::from(count) * unit)?;
        number.clear();
    }
    let fits = number.is_empty() && span <= Span::LONGEST.as_ms() / 1000;
    fits.then(|| Span::secs(span))
}

fn to(arguments: &mut Arguments) -> Result<To, Usage> {
    if let Some(text) = arguments.value("--by-duration") {
        let wanted = || Usage::is_not(&text, "a duration like PT30S or P1DT2H");
        return Ok(To::Ago(duration(&text).ok_or_else(wanted)?));
    }
    if let Some(offset) = arguments.number("--to-offset", 0, i64::MAX)? {
        return Ok(To::Offset(offset));
    }
    if let Some(by) = arguments.number("--shift-by", -MOST_SHIFT, MOST_SHIFT)? {
        return Ok(To::Shift(by));
    }
    let switches = [
        ("--to-earliest", To::Earliest),
        ("--to-latest", To::Latest),
        ("--to-current", To::Current),
    ];
    arguments.one_of(&switches)
}

fn topics(arguments: &mut Arguments) -> Result<Chosen, Usage> {
    let mut topics = Vec::new();
    while let Some(topic) = arguments.value("--topic") {
        topics.push(
            topic_and_partitions(&topic)
                .ok_or_else(|| Usage::is_not(&topic, "a topic like orders or orders:0,2"))?,
        );
    }
    Ok(topics)
}

/// `orders`, `orders:0`, `orders:0,2`.
fn topic_and_partitions(text: &str) -> Option<(Arc<str>, Vec<i32>)> {
    match text.rsplit_once(':') {
        None => Some((text.into(), Vec::new())),
        Some((topic, numbers)) => {
            let numbers = numbers.split(',').map(|n| n.parse().ok().filter(|n| *n >= 0));
            let numbers = numbers.collect::<Option<_>>()?;
            Some((topic.into(), numbers))
        }
    }
}

fn topic_as_given((topic, numbers): &(Arc<str>, Vec<i32>)) -> String {
    if numbers.is_empty() {
        return topic.to_string();
    }
    let numbers: Vec<String> = numbers.iter().map(i32::to_string).collect();
    format!("{topic}:{}", numbers.join(","))
}

/// The text of a command that has failed altogether.
// Source: ConsumerGroupCommand.run, printError
// Real: behind a bad argument all options follow; here not, because the line says enough.
fn failed(why: &Failure, release: Release) -> String {
    if why.exception == Exception::IllegalArgument {
        return format!("{}\n", why.message);
    }
    let cause = why.thrown(release);
    let wrapped = format!("java.util.concurrent.ExecutionException: {cause}");
    let text = text::failure(&format!("Executing consumer group command failed due to {cause}"));
    let root = why.cause.as_ref().map(|root| format!("\nCaused by: {root}"));
    format!("{text}{wrapped}\nCaused by: {cause}{}", root.unwrap_or_default())
}

fn list(admin: &mut Admin<'_>, column: Option<Column>, printed: &mut String) -> Told<()> {
    let groups = listed(admin)?;
    match column {
        None => groups.iter().for_each(|(group, _)| printed.push_str(&format!("{group}\n"))),
        Some(Column::State) => {
            let rows: Vec<_> =
                groups.iter().map(|(group, state)| (group.to_string(), (*state).into())).collect();
            printed.push_str(&text::list("STATE", &rows));
        }
        Some(Column::Type) => {
            let rows: Vec<_> =
                groups.iter().map(|(group, _)| (group.to_string(), "Classic".into())).collect();
            printed.push_str(&text::list("TYPE", &rows));
        }
    }
    Ok(())
}

/// All groups of all brokers.
// Source: KafkaAdminClient.ListConsumerGroupsResults: a hash map of names, so its order
fn listed(admin: &mut Admin<'_>) -> Told<Vec<(GroupId, &'static str)>> {
    admin.metadata(Some(Vec::new()))?;
    let brokers: Vec<BrokerId> = admin.brokers().iter().map(|broker| broker.id).collect();
    let mut groups = Vec::new();
    for broker in brokers {
        let request = ListGroupsRequest { states_filter: Vec::new() };
        let answer = admin.broker("listConsumerGroups", broker, request.into())?;
        groups.extend(answer!(answer, ListGroups).groups);
    }
    java_hash::in_table_order(&mut groups, Filling::Full, |(group, _)| {
        java_hash::hash(group.as_str())
    });
    Ok(groups)
}

fn describe(admin: &mut Admin<'_>, group: &GroupId) -> Told<(BrokerAddress, DescribedGroup)> {
    let request = DescribeGroupsRequest { groups: vec![group.clone()] };
    let error_of = |answer: &Response| match answer {
        Response::DescribeGroups(answer) => answer.groups.first().and_then(|group| group.error),
        _ => None,
    };
    let call = "describeConsumerGroups";
    let (coordinator, answer) = admin.of_group(call, group, request.into(), error_of)?;
    let mut groups = answer!(answer, DescribeGroups).groups;
    let described = groups.pop().expect("one group was asked for");
    match described.error {
        Some(error) if error != Error::GroupIdNotFound => Err(Failure::refused(error, None).into()),
        _ => Ok((coordinator, described)),
    }
}

/// What the group has committed.
fn committed(admin: &mut Admin<'_>, group: &GroupId) -> Told<OrdMap<TopicPartition, i64>> {
    let request = OffsetFetchRequest {
        group_id: group.clone(),
        topics: None,
        require_stable: Isolation::ReadUncommitted,
    };
    let error_of = |answer: &Response| match answer {
        Response::OffsetFetch(answer) => answer.error,
        _ => None,
    };
    let call = "listConsumerGroupOffsets";
    let (_, answer) = admin.of_group(call, group, request.into(), error_of)?;
    let offsets = answer!(answer, OffsetFetch).topics.into_iter();
    Ok(offsets.filter_map(|(of, offset)| Some((of, offset?.offset.0))).collect())
}

fn commit(admin: &mut Admin<'_>, group: &GroupId, offsets: &[(TopicPartition, i64)]) -> Told<()> {
    let member = MemberIdentity {
        group_id: group.clone(),
        generation_id: Generation::NONE,
        member_id: MemberId::from(""),
        group_instance_id: None,
    };
    let offset = |offset: i64| CommittedOffset {
        committed_offset: Offset(offset),
        committed_leader_epoch: None,
        committed_metadata: "".into(),
    };
    let topics = offsets.iter().map(|(partition, of)| (partition.clone(), offset(*of))).collect();
    let error_of = |answer: &Response| match answer {
        Response::OffsetCommit(answer) => answer.topics.iter().find_map(|(_, error)| *error),
        _ => None,
    };
    let request = OffsetCommitRequest { member, topics };
    let call = "alterConsumerGroupOffsets";
    let (_, answer) = admin.of_group(call, group, request.into(), error_of)?;
    error_of(&answer).map_or(Ok(()), |error| Err(Failure::refused(error, None).into()))
}

/// One row for each partition that is read or was committed.
// Source: ConsumerGroupCommand.collectGroupsOffsets
fn offset_rows(admin: &mut Admin<'_>, group: &DescribedGroup) -> Told<Vec<OffsetRow>> {
    let committed = committed(admin, &group.group_id)?;
    let mut readers: OrdMap<TopicPartition, Option<(String, String, String)>> =
        committed.keys().map(|partition| (partition.clone(), None)).collect();
    for member in &group.members {
        let reader = [member.member_id.as_str(), &*member.client_host, member.client_id.as_str()];
        let [id, host, client] = reader.map(str::to_owned);
        for partition in member.member_assignment.iter() {
            readers.insert(partition.clone(), Some((id.clone(), host.clone(), client.clone())));
        }
    }
    let partitions: Vec<TopicPartition> = readers.keys().cloned().collect();
    let ends = admin.list_offsets(ListOffsetsAt::Latest, &partitions)?;
    let rows = readers.into_iter().zip(ends).map(|((partition, reader), (_, log_end))| OffsetRow {
        group: group.group_id.to_string(),
        topic: partition.topic.to_string(),
        partition: partition.partition,
        current: committed.get(&partition).copied(),
        log_end,
        reader,
    });
    Ok(rows.collect())
}

fn member_rows(group: &DescribedGroup) -> Vec<MemberRow> {
    let mut members: Vec<_> = group.members.iter().collect();
    sort::by(&mut members, |a, b| a.member_id.cmp(&b.member_id));
    let row = |member: &&crate::kafka::message::DescribedGroupMember| MemberRow {
        group: group.group_id.to_string(),
        member_id: member.member_id.to_string(),
        instance_id: member.group_instance_id.clone(),
        host: member.client_host.to_string(),
        client_id: member.client_id.to_string(),
        assignment: member
            .member_assignment
            .iter()
            .map(|partition| (partition.topic.to_string(), partition.partition))
            .collect(),
    };
    members.iter().map(row).collect()
}

fn state_row(coordinator: &BrokerAddress, group: &DescribedGroup) -> StateRow {
    StateRow {
        group: group.group_id.to_string(),
        coordinator: (coordinator.host.to_string(), coordinator.port, coordinator.id.0),
        strategy: group.protocol_data.to_string(),
        state: group.group_state.to_owned(),
        members: group.members.len(),
    }
}

#[cfg(test)]
mod table {
    use super::*;

    #[test]
    fn each_verb_says_which_groups_it_takes() {
        let check = |verb: &str, groups: [bool; 4]| {
            let given = ["", "--group g", "--all-groups", "--group g --all-groups"];
            for (given, expected) in given.into_iter().zip(groups) {
                let line = format!("{verb} {given}");
                let mut arguments = Arguments(line.split_whitespace().map(String::from).collect());
                assert_eq!(ConsumerGroups::read(&mut arguments).is_ok(), expected, "{line}");
            }
        };
        check("--list", [true; 4]);
        check("--describe", [false, true, true, false]);
        check("--delete", [false, true, true, false]);
        check("--reset-offsets --to-earliest --topic t", [false, true, true, false]);
        check("--delete-offsets --topic t", [false, true, false, false]);
        check("--delete-offsets", [false; 4]);
        check("--reset-offsets --to-earliest", [false; 4]);
        check("--reset-offsets --to-earliest --all-topics", [false, true, true, false]);
    }

    #[test]
    fn a_duration_is_read_as_java_writes_it() {
        let secs = |text: &str| duration(text).map(|span| span.as_ms() / 1000);
        assert_eq!(secs("PT30S"), Some(30));
        assert_eq!(secs("P1DT2H3M4S"), Some(86_400 + 7384));
        for text in ["", "30S", "P", "PT5", "P5H", "PT1D", "PTS", "P4000000000D"] {
            assert!(secs(text).is_none_or(|secs| text == "P" && secs == 0), "{text}");
        }
    }
}

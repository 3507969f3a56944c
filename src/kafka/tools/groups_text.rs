//! What `kafka-consumer-groups` prints.
//!
//! *Invariant: columns are as wide as their widest entry, and never narrower than the tool's own
//! minimum; where the real tool forgets a line break, so do we.*

use std::fmt::Write;
use std::sync::Arc;

use crate::kafka::release::Release;
use crate::sim::sort;

/// What stands where nothing is known.
pub const MISSING: &str = "-";

/// Where a group stands in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetRow {
    /// The group.
    pub group: String,
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// What is committed.
    pub current: Option<i64>,
    /// The log's end, if its leader could be asked.
    pub log_end: Option<i64>,
    /// Who reads it: member id, host, client id.
    pub reader: Option<(String, String, String)>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// The group.
    pub group: String,
    /// Its id.
    pub member_id: String,
    /// Its `group.instance.id`, if it is a static member.
    pub instance_id: Option<Arc<str>>,
    /// Its host.
    pub host: String,
    /// Its client id.
    pub client_id: String,
    /// What it reads: topic and partition.
    pub assignment: Vec<(String, i32)>,
}

/// A group as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRow {
    /// The group.
    pub group: String,
    /// Its coordinator: host, port, id.
    pub coordinator: (String, u16, i32),
    /// Its assignor, or nothing.
    pub strategy: String,
    /// Its state.
    pub state: String,
    /// How many members it has.
    pub members: usize,
}

/// What is said of a group's state before its rows; whether there are to be rows at all.
// Source: ConsumerGroupCommand.shouldPrintMemberState
pub fn preface(group: &str, state: &str, rows: usize) -> (String, bool) {
    let said = match state {
        "Dead" => failure(&format!("Consumer group '{group}' does not exist.")),
        "Empty" => format!("\nConsumer group '{group}' has no active members.\n"),
        "PreparingRebalance" | "CompletingRebalance" => {
            format!("\nWarning: Consumer group '{group}' is rebalancing.\n")
        }
        _ => String::new(),
    };
    (said, state != "Dead" && rows > 0)
}

/// The text of a failure.
pub fn failure(why: &str) -> String {
    format!("\nError: {why}\n")
}

/// `--describe`, or `--describe --offsets`. The last row has no line break.
// Source: ConsumerGroupCommand.printOffsets, printOffsetFormat
pub fn offsets(rows: &[OffsetRow], release: Release) -> String {
    let width = |least: usize, of: fn(&OffsetRow) -> usize| {
        rows.iter().map(of).max().unwrap_or(0).max(least)
    };
    let group = width(15, |row| row.group.len());
    let topic = width(15, |row| row.topic.len());
    let member = width(15, |row| row.reader.as_ref().map_or(1, |(member, _, _)| member.len()));
    let host = width(15, |row| row.reader.as_ref().map_or(1, |(_, host, _)| host.len()));
    let mut out = String::new();
    let mut line = |cells: [&str; 9]| {
        let [a, b, c, d, e, f, g, h, i] = cells;
        out.push('\n');
        if release.groups_are_named_in_rows() {
            let _ = write!(out, "{a:group$} ");
        }
        let _ = write!(out, "{b:topic$} {c:10} {d:15} {e:15} {f:15} {g:member$} {h:host$} {i}");
    };
    line([
        "GROUP",
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
    ]);
    for row in rows {
        let lag = row.log_end.zip(row.current).map(|(end, current)| end - current);
        let number = |n: Option<i64>| n.map_or(MISSING.into(), |n| n.to_string());
        let nobody = (MISSING.into(), MISSING.into(), MISSING.into());
        let (member, host, client) = row.reader.clone().unwrap_or(nobody);
        line([
            &row.group,
            &row.topic,
            &row.partition.to_string(),
            &number(row.current),
            &number(row.log_end),
            &number(lag),
            &member,
            &host,
            &client,
        ]);
    }
    out
}

/// What is said before all else, to 1.1.
// Source: ConsumerGroupCommand.main (0.10.2, 1.1)
pub fn note(release: Release) -> &'static str {
    match () {
        () if release.groups_are_shown_plainly() => {
            "Note: This will only show information about consumers that use the Java consumer API \
             (non-ZooKeeper-based consumers).\n\n"
        }
        () if release.has_old_consumers() => {
            "Note: This will not show information about old Zookeeper-based consumers.\n"
        }
        () => "",
    }
}

/// `--describe` as it was to 1.0: all columns as wide as they always are.
// Source: ConsumerGroupCommand.printAssignment (0.10.2)
pub fn plain_offsets(rows: &[OffsetRow]) -> String {
    let mut out = String::from("\n");
    let mut line = |cells: [&str; 8]| {
        let [a, b, c, d, e, f, g, h] = cells;
        let _ = writeln!(out, "{a:30} {b:10} {c:15} {d:15} {e:10} {f:50}{g:30} {h}");
    };
    let [current, end] = ["CURRENT-OFFSET", "LOG-END-OFFSET"];
    line(["TOPIC", "PARTITION", current, end, "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"]);
    for row in rows {
        let lag = row.log_end.zip(row.current).map(|(end, current)| end - current);
        let numbers = [row.current, row.log_end, lag];
        let [current, end, lag] = numbers.map(|n| n.map_or(MISSING.into(), |n| n.to_string()));
        let nobody = (MISSING.into(), MISSING.into(), MISSING.into());
        let (member, host, client) = row.reader.clone().unwrap_or(nobody);
        let partition = row.partition.to_string();
        line([&row.topic, &partition, &current, &end, &lag, &member, &host, &client]);
    }
    out
}

/// Whether members are shown with what they read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// As many columns as fit.
    Brief,
    /// `--verbose`.
    Verbose,
}

/// `--describe --members`.
// Source: ConsumerGroupCommand.printMembers
pub fn members(rows: &[MemberRow], detail: Detail, release: Release) -> String {
    let width = |least: usize, of: fn(&MemberRow) -> usize| {
        rows.iter().map(of).max().unwrap_or(0).max(least)
    };
    let instance_of = |row: &MemberRow| row.instance_id.as_ref().map_or(0, |id| id.len());
    let group = width(15, |row| row.group.len());
    let member = width(15, |row| row.member_id.len());
    let instance = width(17, instance_of);
    let host = width(15, |row| row.host.len());
    let client = width(15, |row| row.client_id.len());
    let has_static = rows.iter().any(|row| row.instance_id.is_some());
    let mut out = String::from("\n");
    let mut line = |cells: [&str; 7]| {
        let [a, b, c, d, e, f, g] = cells;
        if release.groups_are_named_in_rows() {
            let _ = write!(out, "{a:group$} ");
        }
        let _ = write!(out, "{b:member$} ");
        if has_static {
            let _ = write!(out, "{c:instance$} ");
        }
        let _ = write!(out, "{d:host$} {e:client$} {f:15} ");
        if detail == Detail::Verbose {
            out.push_str(g);
        }
        out.push('\n');
    };
    line([
        "GROUP",
        "CONSUMER-ID",
        "GROUP-INSTANCE-ID",
        "HOST",
        "CLIENT-ID",
        "#PARTITIONS",
        "ASSIGNMENT",
    ]);
    for row in rows {
        let instance = row.instance_id.as_deref().unwrap_or("");
        let count = row.assignment.len().to_string();
        let assigned = assignment(&row.assignment, release);
        let cells =
            [&row.group, &row.member_id, instance, &row.host, &row.client_id, &count, &assigned];
        line(cells);
    }
    out
}

/// `(0,1), (2)`: topic by topic, without their names; before 2.4 with them.
fn assignment(partitions: &[(String, i32)], release: Release) -> String {
    if partitions.is_empty() {
        return MISSING.into();
    }
    let mut topics: Vec<&str> = partitions.iter().map(|(topic, _)| topic.as_str()).collect();
    sort::sort(&mut topics);
    topics.dedup();
    let of = |topic: &str| {
        let own = partitions.iter().filter(|(of, _)| of == topic);
        let mut numbers: Vec<String> = own.map(|(_, number)| number.to_string()).collect();
        sort::sort(&mut numbers);
        let name = if release.members_show_no_topics() { "" } else { topic };
        format!("{name}({})", numbers.join(","))
    };
    let mut groups: Vec<String> = topics.into_iter().map(of).collect();
    sort::sort(&mut groups);
    groups.join(", ")
}

/// `--describe --state`.
// Source: ConsumerGroupCommand.printStates
pub fn state(row: &StateRow, release: Release) -> String {
    let (host, port, id) = &row.coordinator;
    let gap = if release.members_show_no_topics() { "  " } else { " " };
    let coordinator = format!("{host}:{port}{gap}({id})");
    let width = coordinator.len().max(25);
    let mut out = String::new();
    let mut line = |cells: [&str; 5]| {
        let [a, b, c, d, e] = cells;
        let _ = match release.groups_are_named_in_rows() {
            true => write!(out, "\n{a:25} {b:width$} {c:20} {d:15} {e}"),
            false => write!(out, "\n{b:width$} {c:25} {d:20} {e}"),
        };
    };
    line(["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]);
    line([&row.group, &coordinator, &row.strategy, &row.state, &row.members.to_string()]);
    out.push('\n');
    out
}

/// `--list` with a second column: `--state` or `--type`.
// Source: ConsumerGroupCommand.printGroupInfo
pub fn list(column: &str, rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(group, _)| group.len()).max().unwrap_or(0).max(25);
    let mut out = String::new();
    let header = [("GROUP".to_owned(), column.to_owned())];
    for (group, of) in header.iter().chain(rows) {
        let _ = writeln!(out, "{group:width$} {of:20}");
    }
    out
}

/// `--reset-offsets`: all rows run on behind the header.
// Source: ConsumerGroupCommand.printOffsetsToReset
pub fn reset(rows: &[(String, String, i32, i64)]) -> String {
    let cells = |a: &str, b: &str, c: &str, d: &str| format!("{a:30} {b:30} {c:10} {d:15}");
    let mut out = format!("\n{}", cells("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"));
    for (group, topic, partition, offset) in rows {
        out.push_str(&cells(group, topic, &partition.to_string(), &offset.to_string()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(partition: i32, current: Option<i64>, reader: Option<&str>) -> OffsetRow {
        let reader = reader.map(|id| (id.into(), "/127.0.0.1".into(), "c1".into()));
        let (group, topic) = ("g".into(), "orders".into());
        OffsetRow { group, topic, partition, current, log_end: Some(5), reader }
    }

    #[test]
    fn offsets_stand_in_columns_and_the_last_line_is_open() {
        let member = "c1-0123456789";
        let rows = [row(0, None, Some(member)), row(1, Some(3), None)];
        let expected = "
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             \
CONSUMER-ID     HOST            CLIENT-ID
g               orders          0          -               5               -               \
c1-0123456789   /127.0.0.1      c1
g               orders          1          3               5               2               \
-               -               -";
        assert_eq!(offsets(&rows, Release::V3_9_1), expected);
    }

    #[test]
    fn members_are_shown_with_what_they_read_topic_by_topic() {
        let reads =
            |pairs: &[(&str, i32)]| pairs.iter().map(|(t, p)| (t.to_string(), *p)).collect();
        let member = |id: &str, assignment| MemberRow {
            group: "g".into(),
            member_id: id.into(),
            instance_id: None,
            host: "/127.0.0.1".into(),
            client_id: "c1".into(),
            assignment,
        };
        let busy = reads(&[("orders", 1), ("bills", 0), ("orders", 0)]);
        let rows = [member("a", busy), member("b", Vec::new())];
        let expected = "
GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT
g               a               /127.0.0.1      c1              3               (0), (0,1)
g               b               /127.0.0.1      c1              0               -
";
        assert_eq!(members(&rows, Detail::Verbose, Release::V3_9_1), expected);
    }

    #[test]
    fn a_state_wider_than_its_column_moves_what_follows() {
        let row = StateRow {
            group: "g".into(),
            coordinator: ("127.0.0.1".into(), 19092, 2),
            strategy: "".into(),
            state: "PreparingRebalance".into(),
            members: 1,
        };
        let expected = "
GROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS
g                         127.0.0.1:19092  (2)                           PreparingRebalance 1
";
        assert_eq!(state(&row, Release::V3_9_1), expected);
    }

    #[test]
    fn a_dead_group_has_no_rows() {
        let (said, more) = preface("g", "Dead", 3);
        assert_eq!((said.as_str(), more), ("\nError: Consumer group 'g' does not exist.\n", false));
        assert_eq!(preface("g", "Stable", 1), (String::new(), true));
    }
}

//! `kafka-log-dirs`: how many bytes each replica has on each broker's disk.
//!
//! Source: LogDirsCommand (1.0, 3.9).
//!
//! *Invariant: brokers tell of all their logs; the tool picks the topics that are wanted.*

use super::admin::{Admin, Told, answer, ended};
use super::dialogue::Next;
use super::{Arguments, Printed, Usage};
use crate::kafka::admin::DescribeLogDirsRequest;
use crate::kafka::id::BrokerId;
use crate::kafka::java_hash::{self, Filling};
use crate::kafka::message::Response;
use crate::kafka::release::Release;
use crate::sim::sort;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogDirs {
    /// None means all.
    topics: Vec<String>,
    /// None means all that live.
    brokers: Vec<BrokerId>,
}

impl LogDirs {
    /// Reads the command line.
    pub fn read(arguments: &mut Arguments) -> Result<LogDirs, Usage> {
        if !arguments.switch("--describe") {
            return Err(Usage::lacks("--describe"));
        }
        let topics = arguments.value("--topic-list").unwrap_or_default();
        let list = arguments.value("--broker-list").unwrap_or_default();
        arguments.finish()?;
        let some = |list: &str| -> Vec<String> {
            list.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect()
        };
        let ids = some(&list).iter().map(|id| id.parse().ok().map(BrokerId)).collect();
        let ids: Option<Vec<BrokerId>> = ids;
        let brokers = ids.ok_or_else(|| Usage::is_not(&list, "the ids of brokers like 1,2"))?;
        Ok(LogDirs { topics: some(&topics), brokers })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        ended(self.describe(admin), &|why| {
            let thrown = why.thrown(admin.release());
            Printed::failed(format!("Exception in thread \"main\" {thrown}\n"))
        })
    }

    fn describe(&self, admin: &mut Admin<'_>) -> Told<String> {
        admin.metadata(Some(Vec::new()))?;
        let mut known: Vec<BrokerId> = admin.brokers().iter().map(|broker| broker.id).collect();
        sort::sort(&mut known);
        let strangers: Vec<String> =
            self.brokers.iter().filter(|id| !known.contains(id)).map(BrokerId::to_string).collect();
        if !strangers.is_empty() {
            return Ok(format!(
                "ERROR: The given brokers do not exist from --broker-list: {}. Current existent \
                 brokers: {}\n",
                strangers.join(","),
                joined(&known)
            ));
        }
        let ids = if self.brokers.is_empty() { &known } else { &self.brokers };
        let mut brokers = Vec::new();
        for id in ids {
            brokers.push(self.of_broker(*id, admin)?);
        }
        let brokers = brokers.join(",");
        let json = match admin.release().tools_are_in_scala() {
            true => format!("{{\"version\":1,\"brokers\":[{brokers}]}}"),
            false => format!("{{\"brokers\":[{brokers}],\"version\":1}}"),
        };
        Ok(format!(
            "Querying brokers for log directories information\nReceived log directory information \
             from brokers {}\n{json}\n",
            joined(ids)
        ))
    }

    fn of_broker(&self, id: BrokerId, admin: &mut Admin<'_>) -> Told<String> {
        let answer = admin.broker("describeLogDirs", id, DescribeLogDirsRequest.into())?;
        let mut logs = answer!(answer, DescribeLogDirs).logs;
        java_hash::in_table_order(&mut logs, Filling::Full, |(tp, _)| java_hash::of_partition(tp));
        logs.retain(|(tp, _)| {
            self.topics.is_empty() || self.topics.iter().any(|topic| topic == tp.topic.as_str())
        });
        let log = |(tp, size): &(_, u64)| {
            format!("{{\"partition\":\"{tp}\",\"size\":{size},\"offsetLag\":0,\"isFuture\":false}}")
        };
        let logs: Vec<String> = logs.iter().map(log).collect();
        Ok(format!("{{\"broker\":{id},\"logDirs\":[{}]}}", disk(id, &logs, admin.release())))
    }
}

/// A broker's one disk.
fn disk(id: BrokerId, logs: &[String], release: Release) -> String {
    let (place, error) = (format!("\"logDir\":\"/broker-{id}/data\""), "\"error\":null");
    let logs = format!("\"partitions\":[{}]", logs.join(","));
    match release.tools_are_in_scala() {
        true => format!("{{{place},{error},{logs}}}"),
        false => format!("{{{logs},{error},{place}}}"),
    }
}

fn joined(ids: &[BrokerId]) -> String {
    ids.iter().map(BrokerId::to_string).collect::<Vec<_>>().join(",")
}

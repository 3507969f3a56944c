//! `kafka-leader-election` of 3.9.1: has preferred or unclean leaders elected.
//!
//! Source: LeaderElectionCommand (3.9).
//!
//! *Invariant: of partitions that need no election nothing is said when all were meant.*

use super::admin::{Admin, Failure, answer, ended};
use super::dialogue::Next;
use super::exception::Exception;
use super::{Arguments, Printed, Usage};
use crate::kafka::admin::{ElectLeadersRequest, ElectionType, Refusal};
use crate::kafka::error::Error;
use crate::kafka::id::TopicPartition;
use crate::kafka::message::Response;
use crate::kafka::release::Release;
use crate::kafka::znodes;
use crate::sim::Span;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaderElection {
    kind: ElectionType,
    /// None means all.
    partitions: Option<Vec<TopicPartition>>,
}

/// How partitions are named; they stand in the line, not in a file.
pub(super) const PARTITIONS: &str =
    "JSON like {\"partitions\":[{\"topic\":\"orders\",\"partition\":0}]}";

impl LeaderElection {
    /// Reads the command line.
    pub fn read(arguments: &mut Arguments) -> Result<LeaderElection, Usage> {
        let kind = arguments.value("--election-type").unwrap_or_default();
        let kind = match kind.to_lowercase().as_str() {
            "preferred" => ElectionType::Preferred,
            "unclean" => ElectionType::Unclean,
            "" => return Err(Usage::lacks("--election-type preferred|unclean")),
            _ => return Err(Usage::is_not(&kind, "preferred or unclean")),
        };
        let all = arguments.switch("--all-topic-partitions");
        let topic = arguments.value("--topic");
        let number = arguments.number("--partition", 0, i32::MAX)?;
        let json = arguments.json("--path-to-json");
        arguments.finish()?;
        let one = topic.zip(number).map(|(topic, number)| vec![TopicPartition::new(topic, number)]);
        let named = match json {
            Some(json) => {
                let named = znodes::decode_partitions(&json.as_str().into());
                Some(named.ok_or_else(|| Usage::is_not(&json, PARTITIONS))?)
            }
            None => None,
        };
        let told = usize::from(all) + usize::from(one.is_some()) + usize::from(named.is_some());
        if told != 1 {
            return Err(Usage::lacks(
                "--all-topic-partitions, --topic and --partition, or --path-to-json-file, and one \
                 of them",
            ));
        }
        Ok(LeaderElection { kind, partitions: one.or(named) })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        let partitions = self.partitions.clone();
        let timeout = Span::secs(30);
        let request = ElectLeadersRequest { election_type: self.kind, partitions, timeout };
        let done = admin.controller("electLeaders", request.into()).map(|answer| {
            let answer = answer!(answer, ElectLeaders);
            self.told(answer.replica_election_results, admin.release())
        });
        ended(done, &|why| Printed::failed(thrown(why, admin.release())))
    }

    fn told(&self, results: Vec<(TopicPartition, Option<Refusal>)>, release: Release) -> Printed {
        let kind = match self.kind {
            ElectionType::Preferred => "PREFERRED",
            ElectionType::Unclean => "UNCLEAN",
        };
        let (mut done, mut needless, mut failed) = (Vec::new(), Vec::new(), String::new());
        let mut suppressed = Vec::new();
        for (partition, refusal) in results {
            match refusal {
                None => done.push(partition.to_string()),
                Some(why) if why.error == Error::ElectionNotNeeded => {
                    needless.push(partition.to_string());
                }
                Some(why) => {
                    let why = Failure::from(why).thrown(release);
                    failed.push_str(&format!(
                        "Error completing leader election ({kind}) for partition: {partition}: \
                         {why}\n"
                    ));
                    suppressed.push(format!("\tSuppressed: {why}\n"));
                }
            }
        }
        let mut out = String::new();
        if !done.is_empty() {
            let list = done.join(", ");
            out.push_str(&format!(
                "Successfully completed leader election ({kind}) for partitions {list}\n"
            ));
        }
        if !needless.is_empty() {
            let list = needless.join(", ");
            out.push_str(&format!("Valid replica already elected for partitions {list}\n"));
        }
        if suppressed.is_empty() {
            return Printed::done(out);
        }
        let words = format!("{} replica(s) could not be elected", suppressed.len());
        Printed::failed(out + &failed + &ends(&words, &suppressed.concat(), release))
    }
}

/// How it ends where no answer came.
// Source: LeaderElectionCommand.electLeaders
fn thrown(why: &Failure, release: Release) -> String {
    let cause = why.thrown(release);
    if why.exception == Exception::Refusal(Error::RequestTimedOut) {
        let words = "Timeout waiting for election results";
        return format!("{words}\n{}", ends(words, &format!("Caused by: {cause}\n"), release));
    }
    format!("{cause}\n")
}

/// How it ends with an exception of its own.
// Source: LeaderElectionCommand.main (2.8), mainNoExit (3.9)
// Real: the frames of the stack follow each line of an exception.
fn ends(words: &str, more: &str, release: Release) -> String {
    let class = Exception::AdminCommandFailed.class(release);
    match release.tools_are_in_scala() {
        true => format!("Exception in thread \"main\" {class}: {words}\n{more}"),
        false => format!("{words}\n{class}: {words}\n{more}\n"),
    }
}

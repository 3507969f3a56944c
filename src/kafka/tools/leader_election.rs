//! `kafka-leader-election` of 3.9.1: has preferred or unclean leaders elected.
//!
//! Source: LeaderElectionCommand (3.9).
//!
//! *Invariant: of partitions that need no election nothing is said when all were meant.*

use super::admin::{Admin, Failure, Halt, answer};
use super::dialogue::Next;
use super::{Arguments, Usage};
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
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<String, Next> {
        let partitions = self.partitions.clone();
        let timeout = Span::secs(30);
        let request = ElectLeadersRequest { election_type: self.kind, partitions, timeout };
        match admin.controller("electLeaders", request.into()) {
            Ok(answer) => {
                let answer = answer!(answer, ElectLeaders);
                Ok(self.told(answer.replica_election_results, admin.release()))
            }
            Err(Halt::Waits(next)) => Err(next),
            Err(Halt::Failed(why)) => Ok(format!("{}\n", why.thrown(admin.release()))),
        }
    }

    fn told(&self, results: Vec<(TopicPartition, Option<Refusal>)>, release: Release) -> String {
        let kind = match self.kind {
            ElectionType::Preferred => "PREFERRED",
            ElectionType::Unclean => "UNCLEAN",
        };
        let (mut done, mut needless, mut failed) = (Vec::new(), Vec::new(), String::new());
        for (partition, refusal) in results {
            match refusal {
                None => done.push(partition.to_string()),
                Some(why) if why.error == Error::ElectionNotNeeded => {
                    needless.push(partition.to_string());
                }
                Some(why) => {
                    let why = Failure::from(why);
                    failed.push_str(&format!(
                        "Error completing leader election ({kind}) for partition: {partition}: \
                         {}\n",
                        why.thrown(release)
                    ));
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
        out + &failed
    }
}

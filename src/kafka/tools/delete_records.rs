//! `kafka-delete-records`: has logs begin later.
//!
//! Source: DeleteRecordsCommand (1.1, 3.9).
//!
//! *Invariant: a partition whose leader refuses does not hold the others up.*

use super::admin::{Admin, Failure, Told, answer, ended};
use super::dialogue::Next;
use super::exception::Exception;
use super::{Arguments, Printed, Usage};
use crate::kafka::admin::DeleteRecordsRequest;
use crate::kafka::id::{Offset, TopicPartition};
use crate::kafka::java_hash::{self, Filling};
use crate::kafka::message::Response;
use crate::kafka::znodes;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteRecords {
    partitions: Vec<(TopicPartition, i64)>,
}

/// How its plan looks.
const PLAN: &str = "--offset-json \"{\\\"partitions\\\":[{\\\"topic\\\":\\\"orders\\\",\
                    \\\"partition\\\":0,\\\"offset\\\":5}]}\"";

impl DeleteRecords {
    /// Reads the command line; the plan stands in it, not in a file.
    pub fn read(arguments: &mut Arguments) -> Result<DeleteRecords, Usage> {
        let json = arguments.json("--offset-json").ok_or_else(|| Usage::lacks(PLAN))?;
        arguments.finish()?;
        let partitions = znodes::decode_offsets(&json).ok_or_else(|| Usage::is_not(&json, PLAN))?;
        Ok(DeleteRecords { partitions })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        ended(self.delete(admin), &|why| {
            let thrown = why.thrown(admin.release());
            Printed::failed(format!("Exception in thread \"main\" {thrown}\n"))
        })
    }

    fn delete(&self, admin: &mut Admin<'_>) -> Told<String> {
        let twice = |place: usize, tp: &TopicPartition| {
            self.partitions.iter().take(place).any(|(of, _)| of == tp)
        };
        let named = self.partitions.iter().enumerate();
        let twice: Vec<String> = named
            .filter(|(place, (tp, _))| twice(*place, tp))
            .map(|(_, (tp, _))| tp.to_string())
            .collect();
        if !twice.is_empty() {
            let words = format!(
                "Offset json file contains duplicate topic partitions: {}",
                twice.join(",")
            );
            return Err(Failure::new(Exception::AdminCommandFailed, words).into());
        }
        let mut lines = Vec::new();
        for (tp, offset) in &self.partitions {
            lines.push((tp.clone(), delete_of(tp, Offset(*offset), admin)?));
        }
        java_hash::in_table_order(&mut lines, Filling::Full, |(tp, _)| java_hash::of_partition(tp));
        let mut out =
            "Executing records delete operation\nRecords delete operation completed:\n".to_owned();
        for (tp, line) in lines {
            out.push_str(&format!("partition: {tp}\t{line}\n"));
        }
        Ok(out)
    }
}

/// What comes of one partition.
fn delete_of(tp: &TopicPartition, offset: Offset, admin: &mut Admin<'_>) -> Told<String> {
    let Some(leader) = admin.leader(tp)? else {
        let why = Failure::refused(crate::kafka::Error::UnknownTopicOrPartition, None);
        return Ok(format!("error: {}", why.thrown(admin.release())));
    };
    let request = DeleteRecordsRequest { partitions: vec![(tp.clone(), offset)] };
    let answer = admin.broker("deleteRecords(api=DELETE_RECORDS)", leader, request.into())?;
    let told = answer!(answer, DeleteRecords).partitions.into_iter().next();
    Ok(match told {
        Some((_, Ok(start))) => format!("low_watermark: {start}"),
        Some((_, Err(error))) => {
            format!("error: {}", Failure::refused(error, None).thrown(admin.release()))
        }
        None => String::new(),
    })
}

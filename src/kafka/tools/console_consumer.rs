//! `kafka-console-consumer` of 3.9.1, reading one partition from its beginning until nothing comes.
//!
//! Source: ConsoleConsumer (3.9).
//!
//! *Invariant: it prints values, one a line, and at last how many.*

use super::admin::{Admin, Halt, answer};
use super::dialogue::Next;
use super::{Arguments, Usage};
use crate::kafka::id::{BrokerId, Offset, TopicPartition};
use crate::kafka::message::{FetchPartition, FetchRequest, Isolation, ListOffsetsAt, Response};
use crate::sim::Span;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsoleConsumer {
    partition: TopicPartition,
}

impl ConsoleConsumer {
    /// Reads the command line.
    pub fn read(arguments: &mut Arguments) -> Result<ConsoleConsumer, Usage> {
        let topic = arguments.value("--topic").ok_or(Usage("it is told no topic".into()))?;
        let number = arguments.number("--partition")?;
        let number = number.ok_or(Usage("it only reads one partition yet".into()))?;
        if !arguments.switch("--from-beginning") {
            return Err(Usage("it only reads from the beginning yet".into()));
        }
        arguments.finish()?;
        Ok(ConsoleConsumer { partition: TopicPartition::new(topic, number) })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<String, Next> {
        match self.read_all(admin) {
            Ok(printed) => Ok(printed),
            Err(Halt::Waits(next)) => Err(next),
            Err(Halt::Failed(why)) => Ok(format!("{}\n", why.thrown(admin.release()))),
        }
    }

    fn read_all(&self, admin: &mut Admin<'_>) -> Result<String, Halt> {
        let partitions = [self.partition.clone()];
        let (mut printed, mut count) = (String::new(), 0);
        let starts = admin.list_offsets(ListOffsetsAt::Earliest, &partitions)?;
        let mut next = Offset(starts[0].1.unwrap_or(0));
        while let Some((values, after)) = self.fetch(admin, next)? {
            for value in values {
                printed.push_str(&value);
                printed.push('\n');
                count += 1;
            }
            next = after;
        }
        Ok(format!("{printed}Processed a total of {count} messages\n"))
    }

    /// The values from `from` on, and the offset after them; none if nothing came.
    fn fetch(
        &self,
        admin: &mut Admin<'_>,
        from: Offset,
    ) -> Result<Option<(Vec<String>, Offset)>, Halt> {
        let known = admin.metadata(Some(vec![self.partition.topic.clone()]))?;
        let of = known.iter().flat_map(|topic| &topic.partitions);
        let of = of.into_iter().find(|of| of.partition_index == self.partition.partition);
        let Some(leader) = of.map(|of| of.leader_id).filter(|id| *id != BrokerId::NONE) else {
            return Ok(None);
        };
        let partition = FetchPartition {
            partition: self.partition.clone(),
            current_leader_epoch: None,
            fetch_offset: from,
            last_fetched_epoch: None,
            log_start_offset: Offset::NONE,
            partition_max_bytes: 1 << 20,
        };
        let request = FetchRequest {
            isolation_level: Isolation::ReadUncommitted,
            replica_id: BrokerId::NONE,
            max_wait: Span::ms(500),
            min_bytes: 1,
            topics: vec![partition],
        };
        let answer = answer!(admin.broker("fetch", leader, request.into())?, Fetch);
        let records = answer.responses.iter().flat_map(|of| &of.records);
        let records = records.flat_map(|batch| batch.enumerate());
        let wanted: Vec<_> = records.filter(|(offset, _)| *offset >= from).collect();
        let Some((last, _)) = wanted.last() else { return Ok(None) };
        let value = |value: &Option<crate::kafka::record::Content>| {
            value.as_ref().map_or("null".into(), ToString::to_string)
        };
        let values = wanted.iter().map(|(_, record)| value(&record.value)).collect();
        Ok(Some((values, last.next())))
    }
}

//! The log of a lone broker's partition: messages, each at the place where its bytes begin.
//!
//! *Invariant: the next message's offset is this one's and its size; what is not flushed yet is not
//! read.*
// Source: kafka.log.Log, kafka.message.FileMessageSet (0.7.2)
// Real: segments, named by the offset of their first byte, and their deletion by age and size; here
// one list that keeps all, because nothing that is shown depends on them.

use crate::kafka::error::Error;
use crate::kafka::id::{LeaderEpoch, Offset};
use crate::kafka::record::{Record, RecordBatch};
use crate::sim::List;

/// What a message has besides what it says: its length, magic, attributes, checksum.
// Source: kafka.message.MessageSet.LogOverhead, Message.headerSize (0.7.2)
const OVERHEAD: i64 = 4 + 1 + 1 + 4;

/// How many bytes of a log a record takes; keys are not kept.
pub fn size_of(record: &Record) -> i64 {
    let value = record.value.as_ref().map_or(0, |value| value.bytes().len());
    OVERHEAD + i64::try_from(value).expect("a value is small")
}

/// A log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Log {
    messages: List<(Offset, Record)>,
    end: Offset,
    /// How many messages have been flushed, and where they end.
    flushed: (usize, Offset),
}

impl Default for Log {
    fn default() -> Log {
        Log { messages: List::new(), end: Offset(0), flushed: (0, Offset(0)) }
    }
}

impl Log {
    /// Where the next message will begin.
    pub fn end(&self) -> Offset {
        self.end
    }

    /// Where what is flushed ends.
    pub fn flushed(&self) -> Offset {
        self.flushed.1
    }

    /// How many messages there are.
    pub fn count(&self) -> usize {
        self.messages.len()
    }

    /// How many messages begin before this offset.
    pub fn count_before(&self, offset: Offset) -> usize {
        let (mut first, mut end) = (0, self.messages.len());
        while first < end {
            let middle = (first + end) / 2;
            match self.messages[middle].0 < offset {
                true => first = middle + 1,
                false => end = middle,
            }
        }
        first
    }

    /// How many messages wait to be flushed.
    pub fn unflushed(&self) -> usize {
        self.messages.len() - self.flushed.0
    }

    /// Adds a message; gives its offset.
    pub fn append(&mut self, record: Record) -> Offset {
        let offset = self.end;
        self.end = Offset(offset.0 + size_of(&record));
        self.messages.push((offset, Record { key: None, ..record }));
        offset
    }

    /// From now on all that is here can be read.
    pub fn flush(&mut self) {
        self.flushed = (self.messages.len(), self.end);
    }

    /// The messages from `from` on that are flushed, about `max_bytes` of them.
    // Source: Log.read, Log.findRange (0.7.2)
    pub fn read(&self, from: Offset, max_bytes: i32) -> Result<Vec<RecordBatch>, Error> {
        if from < Offset(0) || from > self.end {
            return Err(Error::OffsetOutOfRange);
        }
        let mut found = Vec::new();
        let until = Offset(from.0 + i64::from(max_bytes));
        for place in self.count_before(from)..self.flushed.0 {
            let (offset, record) = &self.messages[place];
            if *offset >= until && !found.is_empty() {
                break;
            }
            let batch = RecordBatch::new([record.clone()]);
            found.push(batch.appended(*offset, LeaderEpoch(-1)));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimTime;

    #[test]
    fn offsets_are_places_and_what_is_not_flushed_is_not_read() {
        let record = |text: &str| Record {
            key: Some("k".into()),
            value: Some(text.into()),
            timestamp: SimTime::ZERO,
        };
        let mut log = Log::default();
        assert_eq!([log.append(record("abc")), log.append(record(""))], [Offset(0), Offset(13)]);
        assert_eq!((log.end(), log.unflushed()), (Offset(23), 2));
        assert_eq!(log.read(Offset(0), 1000), Ok(Vec::new()));
        log.flush();
        log.append(record("d"));
        let offsets = |from, bytes| {
            let found = log.read(Offset(from), bytes)?;
            Ok(found.iter().map(|batch| batch.base_offset.0).collect::<Vec<_>>())
        };
        assert_eq!(offsets(0, 1000), Ok(vec![0, 13]));
        assert_eq!(offsets(0, 13), Ok(vec![0]));
        assert_eq!(offsets(13, 1000), Ok(vec![13]));
        assert_eq!(offsets(34, 1000), Ok(vec![]));
        assert_eq!(offsets(35, 1000), Err(Error::OffsetOutOfRange));
    }
}

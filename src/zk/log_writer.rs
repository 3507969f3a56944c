//! The writer of the txn log: gathers txns while the disk is busy and writes them together.
//!
//! *Invariant: txns reach the disk in the order in which they were given.*

use std::collections::VecDeque;
use std::sync::Arc;

use super::database::Disk;
use super::txn::Txn;
use super::words::{Words, Write};
use super::zxid::Zxid;
use crate::sim::Outbox;

/// What is not on the disk yet.
// Source: SyncRequestProcessor.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LogWriter {
    pending: VecDeque<Arc<Txn>>,
    writing: Writing,
}

/// What the disk does for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Writing {
    #[default]
    Nothing,
    /// It writes, up to this txn.
    Through(Zxid),
    /// A write has failed: no other begins.
    Failed,
}

impl LogWriter {
    /// Appends a txn to the log.
    pub fn append(&mut self, txn: Arc<Txn>, out: &mut Outbox<'_, Words>) {
        self.pending.push_back(txn);
        self.write(out);
    }

    /// Is everything on the disk?
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    fn write(&mut self, out: &mut Outbox<'_, Words>) {
        if let (Writing::Nothing, Some(last)) = (self.writing, self.pending.back()) {
            self.writing = Writing::Through(last.zxid);
            out.write(Write::Log { through: last.zxid });
        }
    }

    /// A write is done; gives the zxids that are on the disk now. The next write begins.
    pub fn written(
        &mut self,
        through: Zxid,
        disk: &mut Disk,
        out: &mut Outbox<'_, Words>,
    ) -> Vec<Zxid> {
        if self.writing != Writing::Through(through) {
            return Vec::new();
        }
        self.writing = Writing::Nothing;
        let mut done = Vec::new();
        while let Some(txn) = self.pending.pop_front_if(|txn| txn.zxid <= through) {
            done.push(txn.zxid);
            disk.append(txn);
        }
        self.write(out);
        done
    }

    /// A write has failed, and with it the log until the role ends; whether it was this one's.
    pub fn failed(&mut self, through: Zxid) -> bool {
        let ours = self.writing == Writing::Through(through);
        if ours {
            self.writing = Writing::Failed;
        }
        ours
    }

    /// Has a write failed?
    pub fn has_failed(&self) -> bool {
        self.writing == Writing::Failed
    }

    /// Another thread writes the log, and has nothing to write yet.
    pub fn begin_anew(&mut self) {
        *self = LogWriter::default();
    }

    /// Brings everything to the disk before a role ends, if it can.
    ///
    /// Real: the role's end waits for the disk; here it does not, because nobody is told that these
    /// txns are written.
    // Source: SyncRequestProcessor.shutdown.
    pub fn flush(&mut self, disk: &mut Disk) {
        if self.has_failed() {
            return self.pending.clear();
        }
        self.writing = Writing::Nothing;
        self.pending.drain(..).for_each(|txn| disk.append(txn));
    }
}

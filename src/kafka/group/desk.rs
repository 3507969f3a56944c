//! What passes between a group coordinator and the broker that houses it.
//!
//! Not here: what is decided. The broker performs wishes, and lets the coordinator know of
//! requests, timers that ran out and appends that were stored.
//!
//! *Invariant: wishes are performed in order.*

use std::ops::Range;

use crate::kafka::id::{ClientId, CorrelationId, Generation, GroupId, MemberId};
use crate::kafka::id::{Offset, ProducerEpoch, ProducerId, TopicPartition};
use crate::kafka::message::Response;
use crate::kafka::record::Record;
use crate::sim::{Draw, ProcessId, SimTime, Span};

/// Who waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The process at the other end.
    pub process: ProcessId,
    /// Its request.
    pub correlation_id: CorrelationId,
    /// What it calls itself.
    pub client_id: ClientId,
}

/// Names an append until it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppendId(pub u64);

/// A group, by a small number that a timer can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupNumber(pub u32);

/// A member, named or still to be, by a small number that a timer can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberNumber(pub u32);

/// What a coordinator waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupTimer {
    /// A group's members have had their time to join.
    Join(GroupNumber),
    /// A group's members have had their time to ask for their share.
    Sync(GroupNumber),
    /// A member has been silent for its session timeout.
    Session(MemberNumber),
}

impl GroupTimer {
    /// The short name, for traces.
    pub fn name(self) -> &'static str {
        match self {
            GroupTimer::Join(_) => "group-join",
            GroupTimer::Sync(_) => "group-sync",
            GroupTimer::Session(_) => "member-session",
        }
    }
}

/// Something for the broker to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Send a response.
    Answer {
        /// To whom.
        caller: Caller,
        /// What.
        response: Response,
    },
    /// Arm a timer, moving it if it is armed.
    Arm {
        /// Which.
        timer: GroupTimer,
        /// After how long.
        after: Span,
    },
    /// Disarm a timer.
    Disarm(GroupTimer),
    /// Append records to a partition of `__consumer_offsets` as if produced with acks=all and a
    /// timeout of `offsets.commit.timeout.ms`, and report the outcome by
    /// `GroupCoordinator::stored`.
    Append {
        /// To name in the report.
        id: AppendId,
        /// The partition's number.
        partition: i32,
        /// What to append.
        records: Vec<Record>,
        /// The transaction that it is part of, by its producer.
        producer: Option<(ProducerId, ProducerEpoch)>,
    },
    /// Tell a fact.
    Tell(GroupFact),
}

/// How a coordinator draws: as its broker's outbox does.
pub type Dice<'a> = dyn FnMut(Draw, Range<u64>) -> u64 + 'a;

/// What a coordinator may use while it handles one thing.
pub struct Desk<'a> {
    now: SimTime,
    draw: &'a mut Dice<'a>,
    wishes: Vec<Wish>,
}

impl<'a> Desk<'a> {
    /// A desk without wishes; `draw` draws as the broker's outbox does.
    pub fn new(now: SimTime, draw: &'a mut Dice<'a>) -> Desk<'a> {
        Desk { now, draw, wishes: Vec::new() }
    }

    /// What has been wished.
    pub fn into_wishes(self) -> Vec<Wish> {
        self.wishes
    }

    pub(super) fn now(&self) -> SimTime {
        self.now
    }

    pub(super) fn draw(&mut self, purpose: Draw, range: Range<u64>) -> u64 {
        (self.draw)(purpose, range)
    }

    pub(super) fn answer(&mut self, caller: Caller, response: impl Into<Response>) {
        self.wishes.push(Wish::Answer { caller, response: response.into() });
    }

    pub(super) fn arm(&mut self, timer: GroupTimer, after: Span) {
        self.wishes.push(Wish::Arm { timer, after });
    }

    pub(super) fn disarm(&mut self, timer: GroupTimer) {
        self.wishes.push(Wish::Disarm(timer));
    }

    pub(super) fn append(
        &mut self,
        id: AppendId,
        partition: i32,
        (records, producer): (Vec<Record>, Option<(ProducerId, ProducerEpoch)>),
    ) {
        self.wishes.push(Wish::Append { id, partition, records, producer });
    }

    pub(super) fn tell(&mut self, fact: GroupFact) {
        self.wishes.push(Wish::Tell(fact));
    }
}

crate::facts! {
    /// What a group coordinator tells.
    pub enum GroupFact {
        "member-named" => MemberNamed { group: GroupId, member: MemberId },
        "member-added" => MemberAdded { group: GroupId, member: MemberId },
        "member-removed" => MemberRemoved { group: GroupId, member: MemberId, reason: Removal },
        "group-preparing-rebalance" =>
            PreparingRebalance { group: GroupId, generation: Generation, reason: &'static str },
        "group-completing-rebalance" =>
            CompletingRebalance { group: GroupId, generation: Generation, members: u32 },
        "group-stable" => Stable { group: GroupId, generation: Generation, leader: MemberId },
        "group-empty" => Empty { group: GroupId, generation: Generation },
        "group-dead" => Dead { group: GroupId },
        "group-loaded" => Loaded { group: GroupId, generation: Generation, members: u32 },
        "group-unloaded" => Unloaded { group: GroupId },
        "offset-committed" =>
            OffsetCommitted { group: GroupId, partition: TopicPartition, offset: Offset },
        "offset-expired" => OffsetExpired { group: GroupId, partition: TopicPartition },
    }
}

/// Why a member was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Removal {
    /// It said so.
    Left,
    /// It was silent for its session timeout.
    SessionTimeout,
    /// It did not join in time.
    RebalanceTimeout,
    /// It did not ask for its share in time.
    SyncTimeout,
    /// Another process came with its instance id.
    Replaced,
}

impl std::fmt::Display for Removal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Removal::Left => "left",
            Removal::SessionTimeout => "session-timeout",
            Removal::RebalanceTimeout => "rebalance-timeout",
            Removal::SyncTimeout => "sync-timeout",
            Removal::Replaced => "replaced",
        })
    }
}

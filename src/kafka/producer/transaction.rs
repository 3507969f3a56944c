//! What makes a producer transactional: its coordinator, the partitions of its transaction, and how
//! that ends.
//!
//! *Invariant: one call to a coordinator is under way at a time, and nothing is sent to a partition
//! that is not in the transaction.*
// Source: org.apache.kafka.clients.producer.internals.TransactionManager (3.9)

use std::sync::Arc;

use super::words::{Act, ProducerFact};
use super::{Producer, Purpose};
use crate::kafka::error::{Error, Remedy};
use crate::kafka::id::TopicPartition;
use crate::kafka::message::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, CommittedOffset, CoordinatorKey,
    EndTxnRequest, FindCoordinatorRequest, FindCoordinatorResponse, InitProducerIdRequest, Request,
    Response, TransactionResult, TransactionalProducer, TxnOffsetCommitRequest,
};
use crate::kafka::words::Words;
use crate::sim::{OrdSet, Outbox, ProcessId};

/// Where a producer stands with its transactions.
// Source: TransactionManager.State
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Standing {
    /// It has no producer id yet.
    #[default]
    Uninitialized,
    /// It asks for one, and ends what its predecessor has left open.
    Initializing,
    /// It is between two transactions.
    Ready,
    /// It may send.
    Open,
    /// It waits until its transaction is committed.
    Committing,
    /// It waits until its transaction is aborted.
    Aborting,
    /// The transaction can only be aborted, and why.
    Spoilt(&'static str),
    /// Nothing can be done any more, and why.
    Doomed(&'static str),
}

impl Standing {
    // Source: TransactionManager.State.isTransitionValid
    fn may_follow(self, previous: Standing) -> bool {
        use Standing::*;
        match self {
            Uninitialized => false,
            Initializing => previous == Uninitialized,
            Ready => matches!(previous, Initializing | Committing | Aborting),
            Open => previous == Ready,
            Committing => previous == Open,
            Aborting => matches!(previous, Open | Spoilt(_)),
            Spoilt(_) => matches!(previous, Initializing | Open | Committing | Spoilt(_)),
            Doomed(_) => true,
        }
    }

    /// What it is in as long as the application waits for that.
    fn during(act: &Act) -> Standing {
        match act {
            Act::Init => Standing::Initializing,
            Act::Begin | Act::Offsets { .. } => Standing::Open,
            Act::Commit => Standing::Committing,
            Act::Abort => Standing::Aborting,
        }
    }

    fn error(self) -> Option<&'static str> {
        match self {
            Standing::Spoilt(error) | Standing::Doomed(error) => Some(error),
            _ => None,
        }
    }
}

/// A method is called, or a record sent, that does not fit where the producer stands.
const ILLEGAL_STATE: &str = "IllegalStateException";

/// A producer's transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Transaction {
    standing: Standing,
    coordinator: Option<ProcessId>,
    group_coordinator: Option<ProcessId>,
    /// What the application waits for.
    act: Option<Act>,
    /// The partitions that the coordinator knows of.
    added: OrdSet<TopicPartition>,
    /// It knows of a group whose offsets are committed too.
    offsets_added: bool,
}

impl Transaction {
    fn enter(&mut self, next: Standing) {
        assert!(next.may_follow(self.standing), "{next:?} after {:?}", self.standing);
        self.standing = next;
    }

    /// A method is called: whether that can be. The same one twice waits for the same end.
    // Source: TransactionManager.handleCachedTransactionRequestResult, throwIfPendingState,
    // maybeFailWithError, beginTransaction, sendOffsetsToTransaction, beginAbort
    fn call(&mut self, act: &Act) -> Result<(), &'static str> {
        if let Some(pending) = &self.act {
            return if pending == act { Ok(()) } else { Err(ILLEGAL_STATE) };
        }
        let next = Standing::during(act);
        match self.standing {
            Standing::Doomed(error) => return Err(error),
            Standing::Spoilt(error) if *act != Act::Abort => return Err(error),
            Standing::Open if matches!(act, Act::Offsets { .. }) => {}
            _ if matches!(act, Act::Offsets { .. }) => return Err(ILLEGAL_STATE),
            before if next.may_follow(before) => self.enter(next),
            _ => return Err(ILLEGAL_STATE),
        }
        self.act = Some(act.clone());
        Ok(())
    }

    /// The application goes on: it is between two transactions, or in one.
    fn done(&mut self) -> Option<Act> {
        let act = self.act.take()?;
        if matches!(act, Act::Init | Act::Commit | Act::Abort) {
            let mut next = Transaction { coordinator: self.coordinator, ..Transaction::default() };
            self.enter(Standing::Ready);
            next.standing = self.standing;
            *self = next;
        }
        Some(act)
    }
}

/// A question to a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question {
    FindCoordinator,
    FindGroupCoordinator,
    Init,
    AddPartitions(Vec<TopicPartition>),
    AddOffsets,
    CommitOffsets,
    End,
}

impl Producer {
    /// The application calls a method of the transaction, and waits until it returns.
    pub(super) fn act(&mut self, act: &Act, out: &mut Outbox<'_, Words>) {
        let called = self.transaction.as_mut().map_or(Err(ILLEGAL_STATE), |one| one.call(act));
        match called {
            Ok(()) if *act == Act::Begin => self.act_done(out),
            Ok(()) => {}
            Err(error) => out.tell(ProducerFact::TransactionFailed { act: act.name(), error }),
        }
    }

    /// Whether records may go to a partition.
    pub(super) fn may_send_to(&self, partition: &TopicPartition) -> bool {
        self.transaction.as_ref().is_none_or(|transaction| transaction.added.contains(partition))
    }

    /// Why nothing can be sent now.
    // Source: TransactionManager.maybeAddPartition
    pub(super) fn send_error(&self) -> Option<&'static str> {
        match self.transaction.as_ref()?.standing {
            Standing::Open => None,
            other => Some(other.error().unwrap_or(ILLEGAL_STATE)),
        }
    }

    /// A batch has failed: so has the transaction, unless it is being aborted anyway.
    // Source: TransactionManager.handleFailedBatch, transitionToAbortableError
    pub(super) fn spoil(&mut self, error: &'static str) {
        let Some(transaction) = &mut self.transaction else { return };
        let next = Standing::Spoilt(error);
        if transaction.standing.error().is_none() && next.may_follow(transaction.standing) {
            transaction.enter(next);
        }
    }

    /// The producer is of no use any more.
    // Source: TransactionManager.transitionToFatalError
    pub(super) fn doom(&mut self, error: &'static str) {
        if let Some(transaction) = &mut self.transaction {
            transaction.enter(Standing::Doomed(error));
        }
    }

    /// Asks the next question, if there is one.
    pub(super) fn go_on_with_transaction(&mut self, out: &mut Outbox<'_, Words>) {
        let Some(transaction) = &self.transaction else { return };
        if self.calls.any(|purpose| matches!(purpose, Purpose::Transaction(_))) {
            return;
        }
        let act = transaction.act.clone();
        let ready = self.accumulator.ready(&self.settings, out.now());
        let new = ready.into_iter().filter(|partition| !self.may_send_to(partition));
        let new: Vec<TopicPartition> = new.collect();
        match act {
            Some(act) => self.go_on_with(&act, new, out),
            None if transaction.standing == Standing::Open && !new.is_empty() => {
                self.ask(Question::AddPartitions(new), out);
            }
            None => {}
        }
    }

    fn go_on_with(&mut self, act: &Act, new: Vec<TopicPartition>, out: &mut Outbox<'_, Words>) {
        let Some(transaction) = &self.transaction else { return };
        if let Some(error) = transaction.standing.error() {
            return self.act_failed(error, out);
        }
        let question = match act {
            Act::Init => Question::Init,
            Act::Begin => unreachable!("it has begun at once"),
            Act::Offsets { .. } if !transaction.offsets_added => Question::AddOffsets,
            Act::Offsets { .. } if transaction.group_coordinator.is_none() => {
                Question::FindGroupCoordinator
            }
            Act::Offsets { .. } => Question::CommitOffsets,
            Act::Commit if !new.is_empty() => Question::AddPartitions(new),
            Act::Abort if !new.is_empty() => {
                return self.fail_unsent("TransactionAbortedException", out);
            }
            Act::Commit | Act::Abort if self.outstanding() > 0 => return,
            Act::Commit | Act::Abort => {
                match transaction.added.is_empty() && !transaction.offsets_added {
                    true => return self.act_done(out),
                    false => Question::End,
                }
            }
        };
        self.ask(question, out);
    }

    fn ask(&mut self, question: Question, out: &mut Outbox<'_, Words>) {
        let Some(transaction) = &self.transaction else { return };
        let (to, question) = match (&question, transaction.coordinator) {
            (Question::CommitOffsets, _) => (transaction.group_coordinator, question),
            (Question::FindGroupCoordinator, _) => (self.view.any_broker(out), question),
            (_, None) => (self.view.any_broker(out), Question::FindCoordinator),
            (_, coordinator) => (coordinator, question),
        };
        let Some(to) = to.filter(|to| self.view.is_ready(*to, out.now())) else {
            return self.rest(out);
        };
        let request = self.put(&question);
        let within = self.settings.request_timeout;
        self.calls.make(Purpose::Transaction(question), (to, within), request, out);
    }

    fn put(&self, question: &Question) -> Request {
        let transactional_id = self.settings.transactional_id.clone().unwrap_or_else(|| "".into());
        let by = || {
            let (producer_id, producer_epoch) = self.identity.expect("it was initialized first");
            let transactional_id = transactional_id.clone();
            TransactionalProducer { transactional_id, producer_id, producer_epoch }
        };
        let transaction = self.transaction.as_ref().expect("it is asked about");
        let act = transaction.act.clone();
        let (group_id, offsets) = match &act {
            Some(Act::Offsets { group, partition, offset }) => {
                let committed = CommittedOffset {
                    committed_offset: *offset,
                    committed_leader_epoch: None,
                    committed_metadata: "".into(),
                };
                (group.clone(), vec![(partition.clone(), committed)])
            }
            _ => ("".into(), Vec::new()),
        };
        match question {
            Question::FindCoordinator => {
                FindCoordinatorRequest { key: CoordinatorKey::Transaction(transactional_id) }.into()
            }
            Question::FindGroupCoordinator => {
                FindCoordinatorRequest { key: CoordinatorKey::Group(group_id) }.into()
            }
            Question::Init => {
                let transaction_timeout = self.settings.transaction_timeout;
                let transactional_id = Some(transactional_id);
                InitProducerIdRequest { transactional_id, transaction_timeout }.into()
            }
            Question::AddPartitions(topics) => {
                AddPartitionsToTxnRequest { producer: by(), topics: topics.clone() }.into()
            }
            Question::AddOffsets => AddOffsetsToTxnRequest { producer: by(), group_id }.into(),
            Question::CommitOffsets => {
                TxnOffsetCommitRequest { producer: by(), group_id, topics: offsets }.into()
            }
            Question::End => {
                let committed = match act {
                    Some(Act::Abort) => TransactionResult::Abort,
                    _ => TransactionResult::Commit,
                };
                EndTxnRequest { producer: by(), committed }.into()
            }
        }
    }

    pub(super) fn transaction_answered(
        &mut self,
        question: Question,
        response: Response,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some(transaction) = &mut self.transaction else { return };
        let error = match response {
            Response::FindCoordinator(FindCoordinatorResponse { coordinator }) => {
                let found = coordinator.as_ref().ok().map(|broker| broker.process);
                match question {
                    Question::FindCoordinator => transaction.coordinator = found,
                    _ => transaction.group_coordinator = found,
                }
                coordinator.err()
            }
            Response::InitProducerId(told) => {
                if told.producer.is_ok() {
                    self.accumulator.number_anew();
                    self.named(&told, out);
                }
                told.producer.err()
            }
            Response::AddPartitionsToTxn(told) => told.error,
            Response::AddOffsetsToTxn(told) => told.error,
            Response::TxnOffsetCommit(told) => told.topics.iter().find_map(|(_, error)| *error),
            Response::EndTxn(told) => told.error,
            _ => return,
        };
        match error {
            Some(error) => self.question_refused(&question, error, out),
            None => self.question_answered(question, out),
        }
    }

    fn question_answered(&mut self, question: Question, out: &mut Outbox<'_, Words>) {
        let Some(transaction) = &mut self.transaction else { return };
        self.failures = 0;
        match question {
            Question::FindCoordinator | Question::FindGroupCoordinator => {}
            Question::AddPartitions(topics) => {
                for partition in topics {
                    transaction.added.insert(partition);
                }
            }
            Question::AddOffsets => transaction.offsets_added = true,
            Question::Init | Question::End | Question::CommitOffsets => self.act_done(out),
        }
    }

    // Source: TransactionManager.{InitProducerId,AddPartitionsToTxn,EndTxn}Handler.handleResponse
    fn question_refused(&mut self, question: &Question, error: Error, out: &mut Outbox<'_, Words>) {
        let Some(transaction) = &mut self.transaction else { return };
        if matches!(error, Error::NotCoordinator | Error::CoordinatorNotAvailable) {
            transaction.coordinator = None;
            transaction.group_coordinator = None;
        }
        if error.remedy() != Remedy::Fail {
            return self.rest(out);
        }
        let error = match error {
            Error::InvalidProducerEpoch => Error::ProducerFenced,
            error => error,
        };
        let is_fatal = matches!(error, Error::ProducerFenced | Error::InvalidTxnState)
            || matches!(question, Question::Init | Question::End);
        let error = error.exception(self.settings.release);
        match is_fatal {
            true => self.doom(error),
            false => self.spoil(error),
        }
        self.fail_unsent(error, out);
        self.act_failed(error, out);
    }

    fn act_done(&mut self, out: &mut Outbox<'_, Words>) {
        let act = self.transaction.as_mut().and_then(|transaction| transaction.done());
        if let Some(act) = act {
            out.tell(ProducerFact::TransactionDone { act: act.name() });
        }
    }

    fn act_failed(&mut self, error: &'static str, out: &mut Outbox<'_, Words>) {
        let act = self.transaction.as_mut().and_then(|transaction| transaction.act.take());
        if let Some(act) = act {
            out.tell(ProducerFact::TransactionFailed { act: act.name(), error });
        }
    }

    /// A peer has hung up: it coordinates no more.
    pub(super) fn coordinator_lost(&mut self, peer: ProcessId) {
        if let Some(transaction) = &mut self.transaction {
            for of in [&mut transaction.coordinator, &mut transaction.group_coordinator] {
                *of = of.filter(|coordinator| *coordinator != peer);
            }
        }
    }
}

/// How a producer with such an id begins.
pub(super) fn of(transactional_id: Option<&Arc<str>>) -> Option<Box<Transaction>> {
    transactional_id.map(|_| Box::default())
}

#[cfg(test)]
mod table {
    use super::*;
    use Standing::*;

    const ALL: [Standing; 8] = [
        Uninitialized,
        Initializing,
        Ready,
        Open,
        Committing,
        Aborting,
        Spoilt("spoilt"),
        Doomed("doomed"),
    ];

    #[test]
    fn a_method_is_refused_where_it_does_not_fit() {
        let offsets = Act::Offsets {
            group: "g".into(),
            partition: TopicPartition::new("t", 0),
            offset: crate::kafka::id::Offset(0),
        };
        let check = |act: &Act, standing, expected| {
            let mut transaction = Transaction { standing, ..Transaction::default() };
            let called = transaction.call(act).map(|()| transaction.standing);
            assert_eq!(called, expected, "{act:?} {standing:?}");
        };
        let table = [
            (Act::Init, vec![(Uninitialized, Initializing)]),
            (Act::Begin, vec![(Ready, Open)]),
            (offsets, vec![(Open, Open)]),
            (Act::Commit, vec![(Open, Committing)]),
            (Act::Abort, vec![(Open, Aborting), (Spoilt("spoilt"), Aborting)]),
        ];
        for (act, allowed) in table {
            for standing in ALL {
                let allowed = allowed.iter().find(|(before, _)| *before == standing);
                let refused = Err(standing.error().unwrap_or(ILLEGAL_STATE));
                check(&act, standing, allowed.map_or(refused, |(_, after)| Ok(*after)));
            }
        }
    }

    #[test]
    fn a_second_call_waits_for_the_same_end_or_is_refused() {
        let mut transaction = Transaction { standing: Open, ..Transaction::default() };
        assert_eq!(transaction.call(&Act::Commit), Ok(()));
        assert_eq!(transaction.call(&Act::Commit), Ok(()));
        assert_eq!(transaction.call(&Act::Abort), Err(ILLEGAL_STATE));
        assert_eq!(transaction.done(), Some(Act::Commit));
        assert_eq!(transaction.standing, Ready);
    }
}

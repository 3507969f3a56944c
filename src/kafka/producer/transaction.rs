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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Transaction {
    coordinator: Option<ProcessId>,
    group_coordinator: Option<ProcessId>,
    /// What the application waits for.
    act: Option<Act>,
    /// The partitions that the coordinator knows of.
    added: OrdSet<TopicPartition>,
    /// It knows of a group whose offsets are committed too.
    offsets_added: bool,
    /// Why the transaction cannot be committed.
    error: Option<&'static str>,
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
    pub(super) fn act(&mut self, act: Act) {
        if let Some(transaction) = &mut self.transaction {
            transaction.act = Some(act);
        }
    }

    /// Whether records may go to a partition.
    pub(super) fn may_send_to(&self, partition: &TopicPartition) -> bool {
        self.transaction.as_ref().is_none_or(|transaction| transaction.added.contains(partition))
    }

    /// Why nothing more can be sent in this transaction.
    pub(super) fn transaction_error(&self) -> Option<&'static str> {
        self.transaction.as_ref().and_then(|transaction| transaction.error)
    }

    /// A batch has failed: so has the transaction.
    // Source: TransactionManager.handleFailedBatch
    pub(super) fn spoil(&mut self, error: &'static str) {
        if let Some(transaction) = &mut self.transaction {
            transaction.error.get_or_insert(error);
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
            None if self.transaction_error().is_none() && !new.is_empty() => {
                self.ask(Question::AddPartitions(new), out);
            }
            None => {}
        }
    }

    fn go_on_with(&mut self, act: &Act, new: Vec<TopicPartition>, out: &mut Outbox<'_, Words>) {
        let Some(transaction) = &self.transaction else { return };
        let is_fatal = |error: &str| error == Error::ProducerFenced.exception();
        if let Some(error) = transaction.error.filter(|error| *act != Act::Abort || is_fatal(error))
        {
            return self.act_failed(error, out);
        }
        let question = match act {
            Act::Init => Question::Init,
            Act::Begin => return self.act_done(out),
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
            Some(error) => self.question_refused(error, out),
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
            Question::Init | Question::End => {
                let coordinator = transaction.coordinator;
                let act = transaction.act.take();
                **transaction = Transaction { coordinator, act, ..Transaction::default() };
                self.act_done(out);
            }
            Question::CommitOffsets => self.act_done(out),
        }
    }

    fn question_refused(&mut self, error: Error, out: &mut Outbox<'_, Words>) {
        let Some(transaction) = &mut self.transaction else { return };
        if matches!(error, Error::NotCoordinator | Error::CoordinatorNotAvailable) {
            transaction.coordinator = None;
            transaction.group_coordinator = None;
        }
        if error.remedy() != Remedy::Fail {
            return self.rest(out);
        }
        let error = match error {
            Error::InvalidProducerEpoch => Error::ProducerFenced.exception(),
            error => error.exception(),
        };
        self.spoil(error);
        self.fail_unsent(error, out);
        self.act_failed(error, out);
    }

    fn act_done(&mut self, out: &mut Outbox<'_, Words>) {
        let act = self.transaction.as_mut().and_then(|transaction| transaction.act.take());
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

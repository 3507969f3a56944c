//! The ISRs that leaders ask for, and the producer ids that brokers ask for.
//!
//! *Invariant: an ISR is written only on top of the state that its leader knew.*
// Source: KafkaController.tryProcessAlterPartition, ZkProducerIdManager (3.9)

use super::knowledge::Leadership;
use super::{Controller, Fenced, Step as Any, reassignment};
use crate::kafka::Error;
use crate::kafka::broker::Turn;
use crate::kafka::control::{
    AllocateProducerIdsRequest, AllocateProducerIdsResponse, AlterPartitionEntry,
    AlterPartitionRequest, AlterPartitionResponse, AlteredPartition,
};
use crate::kafka::election::{LeaderAndIsr, LeaderRecovery};
use crate::kafka::id::{BrokerEpoch, BrokerId, TopicPartition};
use crate::kafka::wire::Caller;
use crate::kafka::znodes::{self, ProducerIdBlock};
use crate::kafka::zookeeper::{Replies, children, data, found};
use crate::zk::path::Path;
use crate::zk::reply::{Error as ZkError, OpResult};
use crate::zk::request::Op;

/// Answers so far, by partition.
type Answers = Vec<(TopicPartition, Result<AlteredPartition, Error>)>;

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Takes the outcome of the writes.
    Altered(Caller, Answers, Vec<(TopicPartition, LeaderAndIsr)>),
    /// Tells all brokers of partitions.
    Tell(Vec<TopicPartition>),
    /// Answers.
    Answer(Caller, Answers),
    /// Takes the last block of producer ids.
    BlockRead(Caller, BrokerId),
    /// Takes whether the next one is written.
    BlockWritten(Caller, ProducerIdBlock),
    /// Reads notes of ISR changes.
    ReadNotes,
    /// Reads what they say.
    NotesRead,
    /// Takes it.
    NotesTold(Vec<Path>),
    /// Reads the states of partitions.
    ReadStates(Vec<TopicPartition>),
    /// Removes the notes.
    DropNotes(Vec<Path>),
}

impl Controller {
    pub(super) fn isr(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::Altered(caller, answers, writes) => {
                self.altered(caller, answers, writes, replies, turn);
            }
            Step::Tell(tps) => {
                let registered = self.knowledge.registered();
                self.update_metadata(&registered, &tps, turn);
            }
            Step::Answer(caller, partitions) => answer(caller, None, partitions, turn),
            Step::BlockRead(caller, broker) => self.block_read(caller, broker, replies, turn),
            Step::BlockWritten(caller, block) => self.block_written(caller, block, replies, turn),
            Step::ReadNotes => {
                let read = turn.zk.get_children(znodes::isr_change_notification());
                self.ask(vec![read], Step::NotesRead, turn);
            }
            Step::NotesRead => {
                let parent = znodes::isr_change_notification();
                let notes = children(&replies[0]);
                let notes: Vec<Path> = notes.iter().map(|note| parent.child(note)).collect();
                let reads = notes.iter().map(|note| turn.zk.get_data(note.clone())).collect();
                self.ask(reads, Step::NotesTold(notes), turn);
            }
            Step::NotesTold(notes) => self.notes_told(notes, replies),
            Step::ReadStates(tps) => self.read_states(tps, turn),
            Step::DropNotes(notes) => {
                let delete = |path| self.fenced(Op::Delete { path, version: -1 });
                let deletes = notes.into_iter().map(delete).collect();
                self.ask(deletes, Any::Ignore, turn);
            }
        }
    }

    /// Takes what leaders have noted: their ISRs are read, told to all, and the notes are removed.
    // Source: KafkaController.processIsrChangeNotification
    fn notes_told(&mut self, notes: Vec<Path>, replies: &Replies) {
        let mut tps: Vec<TopicPartition> = Vec::new();
        for reply in replies {
            tps.extend(found(reply, znodes::decode_partitions).unwrap_or_default());
        }
        tps.retain(|tp| self.knowledge.partitions.contains_key(tp));
        if !tps.is_empty() {
            self.next_all([
                Step::ReadStates(tps.clone()).into(),
                Step::Tell(tps).into(),
                Step::DropNotes(notes).into(),
            ]);
        } else if !notes.is_empty() {
            self.next(Step::DropNotes(notes));
        }
    }

    pub(super) fn alter_partition(
        &mut self,
        caller: Caller,
        request: AlterPartitionRequest,
        turn: &mut Turn<'_, '_>,
    ) {
        if let Err(error) = self.speaks(request.broker_id, request.broker_epoch) {
            return answer(caller, Some(error), Vec::new(), turn);
        }
        let (mut answers, mut wanted, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        for entry in request.partitions {
            match self.judge_isr(&entry) {
                Ok(None) => {
                    let state = LeaderAndIsr {
                        leader: request.broker_id,
                        leader_epoch: entry.leader_epoch,
                        isr: entry.new_isr,
                        recovery: entry.leader_recovery_state,
                    };
                    writes.push(self.write_state(&entry.partition, &state, entry.partition_epoch));
                    wanted.push((entry.partition, state));
                }
                Ok(Some(there)) => answers.push((entry.partition, Ok(there))),
                Err(error) => answers.push((entry.partition, Err(error))),
            }
        }
        self.ask(writes, Step::Altered(caller, answers, wanted), turn);
    }

    /// Whether a broker's request comes from its present life, to the controller.
    fn speaks(&self, broker: BrokerId, epoch: BrokerEpoch) -> Result<(), Error> {
        if !self.is_active() {
            return Err(Error::NotController);
        }
        match self.knowledge.live.get(&broker) {
            Some(live) if live.epoch == epoch => Ok(()),
            _ => Err(Error::StaleBrokerEpoch),
        }
    }

    /// `None` where the ISR may be written; what is there already where nothing would change.
    fn judge_isr(&self, entry: &AlterPartitionEntry) -> Result<Option<AlteredPartition>, Error> {
        let known = self.knowledge.leadership(&entry.partition);
        let known = known.ok_or(Error::UnknownTopicOrPartition)?;
        let state = &known.state;
        let unknown_epoch = entry.partition_epoch > known.partition_epoch
            || entry.leader_epoch > state.leader_epoch;
        let same = entry.new_isr == state.isr && entry.leader_recovery_state == state.recovery;
        let recovering = entry.leader_recovery_state == LeaderRecovery::Recovering;
        let ineligible = |id: &BrokerId| !self.knowledge.is_online(*id);
        match () {
            () if unknown_epoch => Err(Error::NotController),
            () if entry.leader_epoch < state.leader_epoch => Err(Error::FencedLeaderEpoch),
            () if same => Ok(Some(answer_of(known))),
            () if entry.partition_epoch < known.partition_epoch => Err(Error::InvalidUpdateVersion),
            () if recovering && entry.new_isr.len() > 1 => Err(Error::InvalidRequest),
            () if recovering && state.recovery == LeaderRecovery::Recovered => {
                Err(Error::InvalidRequest)
            }
            () if entry.new_isr.iter().any(ineligible) => Err(Error::IneligibleReplica),
            () => Ok(None),
        }
    }

    fn altered(
        &mut self,
        caller: Caller,
        mut answers: Answers,
        wanted: Vec<(TopicPartition, LeaderAndIsr)>,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        if self.moved(replies, turn) {
            return;
        }
        let mut done = Vec::new();
        for ((tp, state), reply) in wanted.into_iter().zip(replies) {
            let outcome = match self.judge(reply) {
                Fenced::Done(OpResult::Set(stat)) => {
                    let controller_epoch = self.epoch;
                    let partition_epoch = stat.version;
                    let written = Leadership { state, controller_epoch, partition_epoch };
                    let told = answer_of(&written);
                    self.knowledge.lead(&tp, written);
                    done.push(tp.clone());
                    Ok(told)
                }
                Fenced::Refused(ZkError::BadVersion) => Err(Error::InvalidUpdateVersion),
                _ => Err(Error::UnknownTopicOrPartition),
            };
            answers.push((tp, outcome));
        }
        let mut steps: Vec<Any> = Vec::new();
        if !done.is_empty() {
            steps.push(Step::Tell(done.clone()).into());
        }
        steps.push(Step::Answer(caller, answers).into());
        let moving = done.into_iter().filter(|tp| self.knowledge.reassigning.contains(tp));
        steps.extend(moving.map(|tp| Any::from(reassignment::Step::IsrChanged(tp))));
        self.next_all(steps);
    }

    pub(super) fn allocate(
        &mut self,
        caller: Caller,
        request: AllocateProducerIdsRequest,
        turn: &mut Turn<'_, '_>,
    ) {
        if let Err(error) = self.speaks(request.broker_id, request.broker_epoch) {
            return answer_block(caller, Err(error), turn);
        }
        let read = turn.zk.get_data(znodes::producer_id_block());
        self.ask(vec![read], Step::BlockRead(caller, request.broker_id), turn);
    }

    // Source: ZkProducerIdManager.getNewProducerIdBlock
    fn block_read(
        &mut self,
        caller: Caller,
        broker: BrokerId,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        let Some((written, stat)) = data(&replies[0]) else {
            return answer_block(caller, Err(Error::NotController), turn);
        };
        let block = ProducerIdBlock::after(ProducerIdBlock::decode(written), broker);
        let path = znodes::producer_id_block();
        let write = Op::SetData { path, data: block.encode(), version: stat.version };
        self.ask(vec![write], Step::BlockWritten(caller, block), turn);
    }

    fn block_written(
        &mut self,
        caller: Caller,
        block: ProducerIdBlock,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        if replies[0].is_ok() {
            return answer_block(caller, Ok(block), turn);
        }
        let read = turn.zk.get_data(znodes::producer_id_block());
        self.ask(vec![read], Step::BlockRead(caller, block.broker), turn);
    }
}

fn answer_of(leadership: &Leadership) -> AlteredPartition {
    AlteredPartition {
        leader_id: leadership.state.leader,
        leader_epoch: leadership.state.leader_epoch,
        isr: leadership.state.isr.as_slice().into(),
        leader_recovery_state: leadership.state.recovery,
        partition_epoch: leadership.partition_epoch,
    }
}

fn answer(caller: Caller, error: Option<Error>, partitions: Answers, turn: &mut Turn<'_, '_>) {
    let response = AlterPartitionResponse { error, partitions };
    turn.answer(caller, response);
}

fn answer_block(caller: Caller, block: Result<ProducerIdBlock, Error>, turn: &mut Turn<'_, '_>) {
    let size = i32::try_from(ProducerIdBlock::SIZE).expect("a block is small");
    let block = block.map(|block| (block.start, size));
    let response = AllocateProducerIdsResponse { block };
    turn.answer(caller, response);
}

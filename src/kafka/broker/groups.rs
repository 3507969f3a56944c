//! The broker as the group coordinator's house: it brings requests, timers and outcomes of appends,
//! and performs its wishes.
//!
//! *Invariant: wishes are performed in order, and at once.*

use super::configs::Changed;
use super::{Running, Site, turn};
use crate::kafka::controller::ControllerEvent;
use crate::kafka::group::{Caller as Member, Desk, GroupTimer, Wish};
use crate::kafka::id::{CONSUMER_OFFSETS, TopicName, TopicPartition};
use crate::kafka::message::RequestMessage;
use crate::kafka::record::{ProducerStamp, RecordBatch};
use crate::kafka::record_size::batch_size;
use crate::kafka::replicas::{Note, Waiter};
use crate::kafka::settings::Settings;
use crate::kafka::wire::Caller;
use crate::kafka::words::{BrokerFact, BrokerTimer, Words};
use crate::kafka::znodes::Config;
use crate::sim::{Outbox, SimTime, Span};

impl Running {
    pub(super) fn group_request(
        &mut self,
        caller: Caller,
        message: RequestMessage,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let member = Member {
            process: caller.process,
            correlation_id: caller.correlation_id,
            client_id: message.client_id,
        };
        self.at_desk(site, out, |broker, desk| {
            let exists = |tp: &TopicPartition| broker.cache.partition(tp).is_some();
            broker.groups.request(member, message.request, &exists, desk);
        });
    }

    pub(super) fn group_timer(
        &mut self,
        timer: GroupTimer,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        self.at_desk(site, out, |broker, desk| broker.groups.timer(timer, desk));
    }

    pub(super) fn groups_deleted(
        &mut self,
        deleted: &[TopicPartition],
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        if !deleted.is_empty() {
            self.at_desk(site, out, |broker, desk| {
                broker.groups.partitions_deleted(deleted, desk);
            });
        }
    }

    /// Looks for committed offsets whose time is over.
    // Source: GroupMetadataManager.cleanupGroupMetadata
    // Real: a task of its own, counted from the broker's start; here with the look at the ISRs
    // that comes next, because nobody waits for it.
    pub(super) fn expire_offsets(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let every = site.settings.offsets_retention_check_interval.as_micros().max(1);
        let since = site.settings.isr_look().as_micros();
        let now = out.now().since(SimTime::ZERO).as_micros();
        if now / every > now.saturating_sub(since) / every {
            let (retention, release) = (site.settings.offsets_retention, site.settings.release);
            self.at_desk(site, out, |broker, desk| {
                broker.groups.expire_offsets(retention, release, desk);
            });
        }
    }

    /// Does something that needs a desk, and grants what was wished for there.
    pub(super) fn at_desk(
        &mut self,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
        act: impl FnOnce(&mut Running, &mut Desk<'_>),
    ) {
        let now = out.now();
        let mut draw = |purpose, range| out.draw(purpose, range);
        let mut desk = Desk::new(now, &mut draw);
        act(self, &mut desk);
        let wishes = desk.into_wishes();
        self.grant(wishes, site, out);
    }

    fn grant(&mut self, wishes: Vec<Wish>, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        for wish in wishes {
            match wish {
                Wish::Answer { caller, response } => {
                    let Member { process, correlation_id, .. } = caller;
                    self.answer(Caller { process, correlation_id }, response, out);
                }
                Wish::Arm { timer, after } => out.arm(timer, after),
                Wish::Disarm(timer) => out.disarm(timer),
                Wish::Tell(fact) => out.tell(fact),
                Wish::Append { id, partition, records, producer } => {
                    let tp = TopicPartition::new(CONSUMER_OFFSETS, partition);
                    let mut batch = RecordBatch::new(records);
                    batch.is_transactional = producer.is_some();
                    batch.producer = producer.map(|(producer_id, producer_epoch)| ProducerStamp {
                        producer_id,
                        producer_epoch,
                        base_sequence: 0,
                    });
                    let turn = turn!(self, site, out);
                    self.replicas.append_for(Waiter::Groups(id), tp, batch, turn);
                }
            }
        }
    }

    /// Passes on what the replicas have noted, until nothing is left.
    pub(super) fn settle(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        loop {
            let notes = self.replicas.take_notes();
            if notes.is_empty() {
                return;
            }
            notes.into_iter().for_each(|note| self.note(note, site, out));
        }
    }

    fn note(&mut self, note: Note, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        match note {
            Note::NewTopic(topic) => self.read_config(topic, site, out),
            Note::TransactionStored(id, outcome) => {
                self.transaction_stored(&id, outcome, site, out);
            }
            Note::TransactionEnded(partition, producer, result) => {
                self.transaction_ended(partition, (producer, result), site, out);
            }
            Note::LeadsTransactions(number) => self.lead_transactions(number, site, out),
            Note::LeavesTransactions(number) => self.resign_transactions(number, site),
            Note::LeadsOffsets(number) => self.lead_offsets(number, site, out),
            note => self.note_for_groups(note, site, out),
        }
    }

    fn note_for_groups(&mut self, note: Note, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        self.at_desk(site, out, |broker, desk| match note {
            Note::Stored(id, outcome) => broker.groups.stored(id, outcome, desk),
            Note::LeavesOffsets(partition) => broker.groups.resign(partition, desk),
            _ => {}
        });
    }

    /// Takes a partition of the offsets topic over, once it is read.
    fn lead_offsets(&mut self, number: i32, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let partition = TopicPartition::new(CONSUMER_OFFSETS, number);
        let log = self.replicas.partition(&partition).map(|replica| &replica.log);
        let format = site.settings.release.message_format();
        let bytes = log.map_or(0, |log| log.batches().map(|batch| batch_size(batch, format)).sum());
        let takes = site.settings.loading_takes(bytes);
        if takes == Span::ZERO {
            return self.load_groups(number, site, out);
        }
        out.tell(BrokerFact::OffsetsLoading { partition, bytes });
        out.arm(BrokerTimer::LoadOffsets(number), takes);
        self.at_desk(site, out, |broker, desk| broker.groups.load(number, desk));
    }

    /// A partition of the offsets topic has been read.
    pub(super) fn offsets_read(
        &mut self,
        number: i32,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some(since) = self.groups.loads_since(number) else { return };
        let ms = out.now().since(since).as_ms();
        let partition = TopicPartition::new(CONSUMER_OFFSETS, number);
        out.tell(BrokerFact::OffsetsLoaded { partition, ms });
        self.load_groups(number, site, out);
    }

    fn load_groups(&mut self, number: i32, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        self.at_desk(site, out, |broker, desk| {
            let tp = TopicPartition::new(CONSUMER_OFFSETS, number);
            let partition = broker.replicas.partition(&tp);
            let (records, open) =
                partition.map(|partition| partition.log.decided()).unwrap_or_default();
            broker.groups.lead(number, &records, desk);
            for (producer, records) in &open {
                broker.groups.lead_open(*producer, records, desk);
            }
        });
    }

    /// Settings were read anew.
    pub(super) fn configs_changed(
        &mut self,
        changed: Changed,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        for (entity, config) in changed {
            match entity.split_once('/') {
                Some(("topics", topic)) => self.topic_configured(topic.into(), config, site, out),
                Some(("brokers", name)) => self.broker_configured(name, config, site, out),
                _ => {}
            }
        }
    }

    fn topic_configured(
        &mut self,
        topic: TopicName,
        config: Config,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let now = self.dynamic.now().cloned();
        let site = Site { settings: now.as_deref().unwrap_or(site.file), ..site };
        let unclean = config.get("unclean.leader.election.enable").map(|value| &**value);
        let allowed = unclean == Some("true");
        if self.replicas.config(&topic).is_some() {
            self.replicas.configure(topic.clone(), config, turn!(self, site, out));
        }
        if allowed {
            let event = ControllerEvent::UncleanLeadersAllowed(Some(topic));
            self.controller.put(event, turn!(self, site, out));
        }
    }

    /// Settings were set for this broker, or for all.
    // Source: DynamicLogConfig.reconfigure, LogCleaner.reconfigure (KIP-226)
    pub(super) fn broker_configured(
        &mut self,
        name: &str,
        config: Config,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let before = self.dynamic.now().cloned();
        if !self.dynamic.take(name, config, site.file) {
            return;
        }
        let (before, now) = (before.as_deref().unwrap_or(site.file), self.dynamic.now().cloned());
        let site = Site { settings: now.as_deref().unwrap_or(site.file), ..site };
        self.replicas.reconfigured(before, turn!(self, site, out));
        let allows = |settings: &Settings| settings.unclean_leader_election_enable;
        if allows(site.settings) && !allows(before) {
            let event = ControllerEvent::UncleanLeadersAllowed(None);
            self.controller.put(event, turn!(self, site, out));
        }
    }
}

//! Requests that come, and the answers to requests that were made: who in the broker takes them.
//!
//! *Invariant: an order meant for an earlier life of this broker is refused.*
// Source: kafka.server.KafkaApis (3.9)

use super::{Phase, Running, Site, turn};
use crate::kafka::Error;
use crate::kafka::admin::DescribeLogDirsResponse;
use crate::kafka::control::{
    LeaderAndIsrResponse, Order, StopReplicaResponse, UpdateMetadataRequest, UpdateMetadataResponse,
};
use crate::kafka::controller::{Ask, ControllerEvent};
use crate::kafka::group::GroupCoordinator;
use crate::kafka::id::{CONSUMER_OFFSETS, TRANSACTION_STATE, TopicName, TopicPartition};
use crate::kafka::java_hash::coordinator_partition;
use crate::kafka::message::{
    ConsumerGroupHeartbeatResponse, CoordinatorKey, FindCoordinatorRequest,
    FindCoordinatorResponse, InitProducerIdRequest, MetadataRequest, Request, RequestMessage,
    Response, WriteTxnMarkersResponse,
};
use crate::kafka::wire::{Caller, Purpose};
use crate::kafka::words::{BrokerFact, Text, Words};
use crate::sim::{Outbox, ProcessId};

impl Running {
    pub(super) fn request(
        &mut self,
        from: ProcessId,
        message: RequestMessage,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        if matches!(self.phase, Phase::Starting(_)) {
            return self.held.push_back((from, message));
        }
        if self.has_closed_its_sockets() {
            return;
        }
        if self.is_held_up(&message.request) {
            return self.held.push_back((from, message));
        }
        let caller = self.wire.take(from, message.correlation_id);
        if GroupCoordinator::takes(&message.request) {
            return self.group_request(caller, message, site, out);
        }
        self.take(caller, message.request, site, out);
    }

    fn take(
        &mut self,
        caller: Caller,
        request: Request,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let asked = |ask| ControllerEvent::Asked(caller, ask);
        let turn = turn!(self, site, out);
        match request {
            Request::Produce(request) => self.replicas.produce(caller, request, turn),
            Request::Fetch(request) => self.replicas.fetch(caller, request, turn),
            Request::ListOffsets(request) => {
                let response = self.replicas.list_offsets(&request, turn);
                self.answer(caller, response, out);
            }
            Request::DescribeLogDirs(_) => {
                let logs = self.replicas.log_sizes(turn.settings.release);
                self.answer(caller, DescribeLogDirsResponse { logs }, out);
            }
            Request::DeleteRecords(request) => {
                let response = self.replicas.delete_records(request, turn);
                self.answer(caller, response, out);
            }
            Request::AlterPartition(request) => {
                self.controller.put(asked(Ask::AlterPartition(request)), turn);
            }
            Request::ControlledShutdown(request) => {
                self.controller.put(asked(Ask::ControlledShutdown(request)), turn);
            }
            Request::AllocateProducerIds(request) => {
                self.controller.put(asked(Ask::AllocateProducerIds(request)), turn);
            }
            Request::ElectLeaders(request) => {
                self.controller.put(asked(Ask::ElectLeaders(request)), turn);
            }
            Request::AlterPartitionReassignments(request) => {
                self.controller.put(asked(Ask::AlterReassignments(request)), turn);
            }
            Request::ListPartitionReassignments(request) => {
                self.controller.put(asked(Ask::ListReassignments(request)), turn);
            }
            Request::WriteTxnMarkers(request) => self.write_markers(caller, &request, site, out),
            Request::InitProducerId(InitProducerIdRequest { transactional_id: None, .. }) => {
                self.errand(caller, request, site, out);
            }
            Request::InitProducerId(_)
            | Request::AddPartitionsToTxn(_)
            | Request::AddOffsetsToTxn(_)
            | Request::EndTxn(_) => self.transaction_request(caller, request, site, out),
            request => self.take_more(caller, request, site, out),
        }
    }

    fn take_more(
        &mut self,
        caller: Caller,
        request: Request,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        match request {
            Request::LeaderAndIsr(request) => {
                let response = match self.refuse(request.order, "leader-and-isr", site, out) {
                    Some(error) => {
                        LeaderAndIsrResponse { error: Some(error), partition_errors: Vec::new() }
                    }
                    None => self.replicas.obey(&request, turn!(self, site, out)),
                };
                self.answer(caller, response, out);
            }
            Request::StopReplica(request) => {
                let response = match self.refuse(request.order, "stop-replica", site, out) {
                    Some(error) => {
                        StopReplicaResponse { error: Some(error), partition_errors: Vec::new() }
                    }
                    None => self.replicas.stop(&request, turn!(self, site, out)),
                };
                self.answer(caller, response, out);
            }
            Request::UpdateMetadata(request) => self.update_metadata(caller, &request, site, out),
            Request::Metadata(request) => self.metadata(caller, request, site, out),
            Request::FindCoordinator(request) => self.find_coordinator(caller, request, site, out),
            Request::DescribeProducers(request) => {
                let response = self.describe_producers(request);
                self.answer(caller, response, out);
            }
            Request::DescribeTransactions(request) => {
                let response = self.describe_transactions(request, site);
                self.answer(caller, response, out);
            }
            Request::ListTransactions(request) => {
                let response = self.list_transactions(&request, out.now(), site);
                self.answer(caller, response, out);
            }
            // Source: KafkaApis.handleConsumerGroupHeartbeat: only with KRaft
            Request::ConsumerGroupHeartbeat(_) => {
                let error = Error::UnsupportedVersion;
                self.answer(caller, ConsumerGroupHeartbeatResponse { error }, out);
            }
            request => self.errand(caller, request, site, out),
        }
    }

    pub(super) fn answer(
        &mut self,
        caller: Caller,
        response: impl Into<Response>,
        out: &mut Outbox<'_, Words>,
    ) {
        self.wire.answer(caller, response, out);
    }

    /// Why an order is not obeyed: it was meant for an earlier life of this broker.
    // Source: KafkaApis.isBrokerEpochStale (KIP-380)
    fn refuse(
        &self,
        order: Order,
        name: &'static str,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) -> Option<Error> {
        if order.broker_epoch >= self.controller.broker_epoch() {
            return None;
        }
        let error = Error::StaleBrokerEpoch;
        let name_of_error = Text::from(error.name(site.settings.release));
        let (from, words) = (order.controller_id, name_of_error);
        out.tell(BrokerFact::OrderRefused { order: name, from, error: words });
        Some(error)
    }

    // Source: KafkaApis.handleUpdateMetadataRequest, ReplicaManager.maybeUpdateMetadataCache
    fn update_metadata(
        &mut self,
        caller: Caller,
        request: &UpdateMetadataRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let stale = self.replicas.is_stale(request.order, "update-metadata", out);
        let error = match self.refuse(request.order, "update-metadata", site, out) {
            None if stale => Some(Error::StaleControllerEpoch),
            refused => refused,
        };
        if error.is_none() {
            let deleted = self.cache.update(request);
            self.groups_deleted(&deleted, site, out);
            self.errands.cache_changed(turn!(self, site, out));
        }
        self.answer(caller, UpdateMetadataResponse { error }, out);
    }

    // Source: KafkaApis.handleTopicMetadataRequest
    fn metadata(
        &mut self,
        caller: Caller,
        request: MetadataRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let known = |topic: &TopicName| self.cache.topic(topic).is_some();
        let wanted = request.topics.as_deref().unwrap_or_default();
        let missing: Vec<TopicName> = wanted.iter().filter(|t| !known(t)).cloned().collect();
        let creates = request.allow_auto_topic_creation && site.settings.auto_create_topics_enable;
        if missing.is_empty() || !creates {
            let topics = request.topics.as_deref();
            let response = self.cache.describe(topics, Error::UnknownTopicOrPartition);
            return self.answer(caller, response, out);
        }
        self.create_for_metadata(caller, request, missing, site, out);
    }

    // Source: KafkaApis.handleFindCoordinatorRequest
    fn find_coordinator(
        &mut self,
        caller: Caller,
        request: FindCoordinatorRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let (topic, id, partitions) = match &request.key {
            CoordinatorKey::Group(group) => {
                let partitions = site.settings.offsets_topic_num_partitions;
                (CONSUMER_OFFSETS, group.as_str(), partitions)
            }
            CoordinatorKey::Transaction(id) => {
                let partitions = site.settings.transaction_state_log_num_partitions;
                (TRANSACTION_STATE, &**id, partitions)
            }
        };
        if self.cache.topic(&topic.into()).is_none() {
            return self.create_for_coordinator(caller, topic, site, out);
        }
        let tp = TopicPartition::new(topic, coordinator_partition(id, partitions));
        let leader = self.cache.partition(&tp).and_then(|state| self.cache.broker(state.leader));
        let coordinator = leader.cloned().ok_or(Error::CoordinatorNotAvailable);
        self.answer(caller, FindCoordinatorResponse { coordinator }, out);
    }

    /// A call of this broker has been answered.
    pub(super) fn call_answered(
        &mut self,
        purpose: Purpose,
        response: Response,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let turn = turn!(self, site, out);
        match (purpose, response) {
            (Purpose::Order(broker), response) => self.controller.obeyed(broker, &response, turn),
            (Purpose::Fetch(leader), Response::Fetch(response)) => {
                self.replicas.fetched(leader, response, turn);
            }
            (Purpose::AlterPartition, Response::AlterPartition(response)) => {
                self.replicas.altered(response, turn);
            }
            (Purpose::ControlledShutdown, Response::ControlledShutdown(response)) => {
                self.shutdown_answered(&response, site, out);
            }
            (Purpose::AllocateProducerIds, Response::AllocateProducerIds(response)) => {
                self.errands.block_allocated(response.block, turn);
            }
            (Purpose::WriteTxnMarkers(number), Response::WriteTxnMarkers(response)) => {
                self.markers_written(number, &response, site, out);
            }
            _ => unreachable!("a question is answered by its own kind of answer"),
        }
    }

    /// Whether this order, or one before it on its connection, waits for the end of a fetcher.
    fn is_held_up(&self, request: &Request) -> bool {
        let stops = matches!(request, Request::LeaderAndIsr(_) | Request::StopReplica(_));
        let orders = stops || matches!(request, Request::UpdateMetadata(_));
        (stops && self.replicas.ends_a_fetcher()) || (orders && !self.held.is_empty())
    }

    /// A fetcher may have ended: goes on with what was held up by that.
    pub(super) fn resume_orders(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        if matches!(self.phase, Phase::Starting(_)) || self.replicas.ends_a_fetcher() {
            return;
        }
        self.fetchers_ended(site, out);
        self.take_up_held(site, out);
    }

    /// Goes on with what was held up, all at once: an order that is held up again waits behind none
    /// of these.
    pub(super) fn take_up_held(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        for (from, message) in std::mem::take(&mut self.held) {
            self.request(from, message, site, out);
        }
    }

    /// A call of this broker will not be answered.
    pub(super) fn call_lost(
        &mut self,
        purpose: Purpose,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let turn = turn!(self, site, out);
        match purpose {
            Purpose::Order(broker) => self.controller.order_lost(broker, turn),
            Purpose::Fetch(leader) => self.replicas.fetch_lost(leader, turn),
            Purpose::AlterPartition => self.replicas.wishes_lost(turn),
            Purpose::ControlledShutdown => self.try_again(site, out),
            Purpose::AllocateProducerIds => self.errands.block_lost(turn),
            Purpose::WriteTxnMarkers(number) => {
                let lost = WriteTxnMarkersResponse { topics: Vec::new() };
                self.markers_written(number, &lost, site, out);
            }
        }
    }
}

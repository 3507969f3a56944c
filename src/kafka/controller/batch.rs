//! What one event of the controller tells the brokers, gathered and sent at its end.
//!
//! *Invariant: each broker gets at most one request of each kind, first LeaderAndIsr, then
//! UpdateMetadata, then StopReplica.*
// Source: kafka.controller.AbstractControllerBrokerRequestBatch (3.9)

use std::sync::Arc;

use super::channels::Channels;
use super::knowledge::Knowledge;
use crate::kafka::broker::Turn;
use crate::kafka::control::{
    LeaderAndIsrRequest, Order, PartitionState, StopReplicaPartition, StopReplicaRequest, Stopping,
    UpdateMetadataRequest,
};
use crate::kafka::id::{BrokerId, ControllerEpoch, TopicPartition};
use crate::kafka::message::BrokerAddress;
use crate::sim::{OrdMap, OrdSet};

/// Whether a replica is new to its broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Novelty {
    /// It has never had it.
    New,
    /// It may have it.
    Known,
}

/// What has been gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Batch {
    orders: OrdMap<BrokerId, OrdMap<TopicPartition, PartitionState>>,
    stops: OrdMap<BrokerId, OrdMap<TopicPartition, StopReplicaPartition>>,
    told: OrdSet<BrokerId>,
    news: OrdMap<TopicPartition, PartitionState>,
}

impl Batch {
    /// Orders brokers to lead or follow a partition as the controller knows it.
    pub fn order(
        &mut self,
        brokers: &[BrokerId],
        tp: &TopicPartition,
        novelty: Novelty,
        knowledge: &Knowledge,
    ) {
        if let Some(state) = knowledge.told(tp) {
            for &broker in brokers.iter().filter(|id| id.0 >= 0) {
                let orders = self.orders.entry(broker).or_default();
                let was_new = orders.get(tp).is_some_and(|state| state.is_new);
                let is_new = novelty == Novelty::New || was_new;
                orders.insert(tp.clone(), PartitionState { is_new, ..state.clone() });
            }
        }
        self.tell(&knowledge.registered(), std::slice::from_ref(tp), knowledge);
    }

    /// Tells brokers of partitions.
    pub fn tell(&mut self, brokers: &[BrokerId], tps: &[TopicPartition], knowledge: &Knowledge) {
        self.told.extend(brokers.iter().filter(|id| id.0 >= 0));
        let known = tps.iter().filter_map(|tp| Some((tp.clone(), knowledge.told(tp)?)));
        self.news.extend(known);
    }

    /// Orders a broker to stop a replica.
    pub fn stop(
        &mut self,
        broker: BrokerId,
        tp: &TopicPartition,
        stopping: Stopping,
        knowledge: &Knowledge,
    ) {
        let stops = self.stops.entry(broker).or_default();
        let before = stops.get(tp).map(|stop| stop.stopping);
        let stopping = match before {
            Some(Stopping::DeleteLog) => Stopping::DeleteLog,
            _ => stopping,
        };
        let leader_epoch = knowledge.stopping_epoch(tp);
        let stop = StopReplicaPartition { partition: tp.clone(), leader_epoch, stopping };
        stops.insert(tp.clone(), stop);
    }

    /// Sends all of it to the brokers that are registered.
    pub fn send(
        self,
        (controller_id, controller_epoch): (BrokerId, ControllerEpoch),
        knowledge: &Knowledge,
        channels: &mut Channels,
        turn: &mut Turn<'_, '_>,
    ) {
        let order = |broker: BrokerId| {
            let broker_epoch = knowledge.live.get(&broker)?.epoch;
            Some(Order { controller_id, controller_epoch, broker_epoch })
        };
        for (broker, states) in self.orders {
            let Some(order) = order(broker) else { continue };
            let live_leaders = leaders_of(states.values(), knowledge);
            let partition_states = states.into_values().collect();
            let request = LeaderAndIsrRequest { order, partition_states, live_leaders };
            channels.send(broker, request.into(), turn);
        }
        let partition_states: Arc<[PartitionState]> = self.news.into_values().collect();
        let live_brokers: Arc<[BrokerAddress]> =
            knowledge.live.values().map(|broker| broker.address.clone()).collect();
        for broker in self.told {
            let Some(order) = order(broker) else { continue };
            let (partition_states, live_brokers) = (partition_states.clone(), live_brokers.clone());
            let request = UpdateMetadataRequest { order, partition_states, live_brokers };
            channels.send(broker, request.into(), turn);
        }
        for (broker, stops) in self.stops {
            let Some(order) = order(broker) else { continue };
            let partitions = stops.into_values().collect();
            channels.send(broker, StopReplicaRequest { order, partitions }.into(), turn);
        }
    }
}

fn leaders_of<'a>(
    states: impl Iterator<Item = &'a PartitionState>,
    knowledge: &Knowledge,
) -> Arc<[BrokerAddress]> {
    let leaders: OrdSet<BrokerId> = states.map(|state| state.leader).collect();
    let live = leaders.iter().filter_map(|leader| knowledge.live.get(leader));
    live.map(|broker| broker.address.clone()).collect()
}

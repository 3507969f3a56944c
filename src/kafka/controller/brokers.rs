//! Brokers that come, go, or come back before anybody saw them gone.
//!
//! *Invariant: what changed is found by comparing full lists, never told by the watch.*
// Source: KafkaController.processBrokerChange, onBrokerStartup, onBrokerFailure (3.9)

use std::sync::Arc;

use super::failover::{ids_in, live_in};
use super::knowledge::{LiveBroker, PartitionPhase, Replica, ReplicaPhase};
use super::{Controller, Step as Any, deletion, partitions, reassignment, replicas};
use crate::kafka::broker::Turn;
use crate::kafka::id::{BrokerId, TopicName};
use crate::kafka::words::{BrokerFact, Brokers};
use crate::kafka::znodes;
use crate::kafka::zookeeper::Replies;
use crate::sim::OrdMap;

/// Brokers with what they said of themselves.
type Found = OrdMap<BrokerId, LiveBroker>;

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Reads which brokers there are.
    Read,
    /// Reads what they say.
    ListRead,
    /// Takes it.
    DataRead(Vec<BrokerId>),
    /// Brokers have come.
    Started(Vec<BrokerId>),
    /// Their partitions have leaders if they can; what waited for them goes on.
    Settled(Vec<BrokerId>),
    /// Watches them.
    WatchThem(Vec<BrokerId>),
    /// Brokers are gone.
    Failed(Vec<BrokerId>),
    /// Brokers are live again.
    LiveAgain(Found),
    /// Tells everybody who lives if nothing else has told it.
    TellUnlessTold(Vec<Replica>),
    /// Reads a registration that has changed.
    Modified(BrokerId),
    /// Takes it.
    ModifiedRead(BrokerId),
}

impl Controller {
    pub(super) fn brokers(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::Read => {
                let read = turn.zk.get_children(znodes::broker_ids());
                self.ask(vec![read], Step::ListRead, turn);
            }
            Step::ListRead => {
                let ids = ids_in(&replies[0]);
                let reads = ids.iter().map(|&id| turn.zk.get_data(znodes::broker(id))).collect();
                self.ask(reads, Step::DataRead(ids), turn);
            }
            Step::DataRead(ids) => self.compare(live_in(&ids, replies, turn), turn),
            Step::Started(ids) => self.brokers_started(ids, turn),
            Step::Settled(ids) => self.brokers_settled(ids),
            Step::WatchThem(ids) => self.watch_brokers(&ids, turn),
            Step::Failed(ids) => self.brokers_failed(&ids, turn),
            Step::LiveAgain(brokers) => Arc::make_mut(&mut self.knowledge.live).extend(brokers),
            Step::TellUnlessTold(replicas) => self.tell_unless_told(&replicas, turn),
            Step::Modified(id) => {
                let read = turn.zk.get_data(znodes::broker(id));
                self.ask(vec![read], Step::ModifiedRead(id), turn);
            }
            Step::ModifiedRead(id) => self.modified(id, replies, turn),
        }
    }

    fn compare(&mut self, found: Found, turn: &mut Turn<'_, '_>) {
        let known = &self.knowledge.live;
        let (mut new, mut bounced) = (Found::new(), Found::new());
        for (id, broker) in &found {
            match known.get(id) {
                None => drop(new.insert(*id, broker.clone())),
                Some(before) if broker.epoch > before.epoch => {
                    bounced.insert(*id, broker.clone());
                }
                Some(_) => {}
            }
        }
        let dead: Vec<BrokerId> =
            known.keys().copied().filter(|id| !found.contains_key(id)).collect();
        let ids = |brokers: &Found| brokers.keys().copied().collect::<Vec<_>>();
        turn.out.tell(BrokerFact::BrokersChanged {
            added: Brokers::from(ids(&new).as_slice()),
            deleted: Brokers::from(dead.as_slice()),
            bounced: Brokers::from(ids(&bounced).as_slice()),
            live: Brokers::from(ids(&found).as_slice()),
        });
        new.values().for_each(|broker| self.channels.add(broker.address.clone()));
        for broker in bounced.values() {
            self.channels.remove(broker.address.id, turn);
            self.channels.add(broker.address.clone());
        }
        dead.iter().for_each(|&id| self.channels.remove(id, turn));
        self.plan(new, bounced, dead);
    }

    fn plan(&mut self, new: Found, bounced: Found, dead: Vec<BrokerId>) {
        let ids = |brokers: &Found| brokers.keys().copied().collect::<Vec<_>>();
        let mut steps: Vec<Any> = Vec::new();
        if !new.is_empty() {
            let started = ids(&new);
            Arc::make_mut(&mut self.knowledge.live).extend(new);
            steps.push(Step::Started(started).into());
        }
        if !bounced.is_empty() {
            let ids = ids(&bounced);
            steps.push(Step::Failed(ids.clone()).into());
            steps.push(Step::LiveAgain(bounced).into());
            steps.push(Step::Started(ids).into());
        }
        if !dead.is_empty() {
            steps.push(Step::Failed(dead).into());
        }
        self.next_all(steps);
    }

    fn brokers_started(&mut self, ids: Vec<BrokerId>, turn: &mut Turn<'_, '_>) {
        let mut existing = self.knowledge.registered();
        existing.retain(|id| !ids.contains(id));
        self.update_metadata(&existing, &[], turn);
        let partitions = self.knowledge.with_leadership();
        self.update_metadata(&ids, &partitions, turn);
        let replicas = self.knowledge.replicas_on(&ids);
        self.next_all([
            replicas::Step::To(replicas, ReplicaPhase::Online).into(),
            partitions::Step::TriggerOnline.into(),
            Step::Settled(ids.clone()).into(),
            Step::WatchThem(ids).into(),
        ]);
    }

    fn brokers_settled(&mut self, ids: Vec<BrokerId>) {
        let mut deleting: Vec<TopicName> = Vec::new();
        for (tp, _) in self.knowledge.replicas_on(&ids) {
            if self.knowledge.to_delete.contains(&tp.topic) && !deleting.contains(&tp.topic) {
                deleting.push(tp.topic);
            }
        }
        self.next_all([
            reassignment::Step::ResumeThoseOn(ids).into(),
            deletion::Step::ResumeThese(deleting).into(),
        ]);
    }

    fn brokers_failed(&mut self, ids: &[BrokerId], turn: &mut Turn<'_, '_>) {
        for id in ids {
            Arc::make_mut(&mut self.knowledge.live).remove(id);
            self.knowledge.shutting_down.remove(id);
            turn.zk.unwatch_node(&znodes::broker(*id));
        }
        let replicas = self.knowledge.replicas_on(ids);
        self.replicas_became_offline(replicas);
    }

    // Source: KafkaController.onReplicasBecomeOffline
    fn replicas_became_offline(&mut self, replicas: Vec<Replica>) {
        let (deleting, rest): (Vec<Replica>, Vec<Replica>) =
            replicas.into_iter().partition(|(tp, _)| self.knowledge.to_delete.contains(&tp.topic));
        let offline = self.knowledge.with_offline_leader();
        self.next_all([
            partitions::Step::To(offline, PartitionPhase::Offline).into(),
            partitions::Step::TriggerOnline.into(),
            Step::TellUnlessTold(rest.clone()).into(),
            replicas::Step::To(rest, ReplicaPhase::Offline).into(),
            deletion::Step::FailReplicas(deleting).into(),
        ]);
    }

    fn tell_unless_told(&mut self, replicas: &[Replica], turn: &mut Turn<'_, '_>) {
        let elected = self.work.elections.values().any(Result::is_ok);
        if replicas.is_empty() && !elected {
            let registered = self.knowledge.registered();
            self.update_metadata(&registered, &[], turn);
        }
    }

    fn modified(&mut self, id: BrokerId, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let Some(found) = live_in(&[id], replies, turn).remove(&id) else { return };
        let live = Arc::make_mut(&mut self.knowledge.live);
        let Some(known) = live.get_mut(&id) else { return };
        if known.address != found.address {
            known.address = found.address;
            let replicas = self.knowledge.replicas_on(&[id]);
            self.replicas_became_offline(replicas);
        }
    }
}

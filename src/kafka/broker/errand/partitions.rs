//! Adding partitions to topics.
//!
//! *Invariant: partitions that there are keep their replicas.*
// Source: ZkAdminManager.createPartitions, AdminZkClient.createNewPartitionsAssignment (3.9)

use super::create::{Results, refuse_placement};
use super::{Errand, Running, Site, Until, refused, turn};
use crate::kafka::Error;
use crate::kafka::admin::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, Refusal,
};
use crate::kafka::id::{BrokerId, TopicName};
use crate::kafka::placement::{Candidate, Deal, place};
use crate::kafka::wire::Caller;
use crate::kafka::words::Words;
use crate::kafka::znodes::{self, ReplicaAssignment, TopicZnode};
use crate::kafka::zookeeper::{Replies, found};
use crate::sim::{OrdMap, Outbox, Span, sort};
use crate::zk::request::Op;

/// How far the first of the topics is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Read,
    Write(usize),
}

/// Partitions that are being added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AddPartitions {
    caller: Caller,
    timeout: Span,
    topics: Vec<CreatePartitionsTopic>,
    results: Results,
    added: OrdMap<TopicName, usize>,
    step: Step,
}

impl Running {
    pub(super) fn add_partitions(
        &mut self,
        caller: Caller,
        request: CreatePartitionsRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        if !self.controller.is_active() {
            let refuse = |topic: CreatePartitionsTopic| {
                (topic.name, Some(Refusal::from(Error::NotController)))
            };
            let results = request.topics.into_iter().map(refuse).collect();
            return self.answer(caller, CreatePartitionsResponse { results }, out);
        }
        let add = AddPartitions {
            caller,
            timeout: request.timeout,
            topics: request.topics,
            results: Results::new(),
            added: OrdMap::new(),
            step: Step::Read,
        };
        self.next_partitions(add, site, out);
    }

    fn next_partitions(
        &mut self,
        mut add: AddPartitions,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some(topic) = add.topics.first() else {
            let until = Until::Added(add.added, add.results);
            let (caller, timeout) = (add.caller, add.timeout);
            return self.errands.wait(caller, timeout, until, turn!(self, site, out));
        };
        let mut reads = vec![self.zk.get_children(znodes::broker_ids())];
        let brokers = self.cache.brokers().iter();
        reads.extend(brokers.map(|broker| self.zk.get_data(znodes::broker(broker.id))));
        reads.push(self.zk.get_data(znodes::topic(&topic.name)));
        add.step = Step::Read;
        let number = self.errands.begin(Errand::Partitions(add));
        self.go(number, reads, site, out);
    }

    pub(super) fn partitions_read(
        &mut self,
        number: u32,
        mut add: AddPartitions,
        replies: &Replies,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let topic = add.topics.first().expect("partitions are being added").clone();
        if let Step::Write(count) = add.step {
            let refusal = replies[0].as_ref().err();
            let refusal = refusal.map(|_| Refusal::from(Error::UnknownTopicOrPartition));
            add.added.insert(topic.name.clone(), count);
            return self.partitions_done(add, refusal, site, out);
        }
        let znode = replies.last().and_then(|reply| found(reply, TopicZnode::decode));
        match self.enlarge(&topic, znode) {
            Err(refusal) => self.partitions_done(add, Some(refusal), site, out),
            Ok(znode) => {
                let data = znode.encode(site.settings.release);
                let write = Op::SetData { path: znodes::topic(&topic.name), data, version: -1 };
                add.step = Step::Write(znode.partitions.len());
                self.go_on(number, Errand::Partitions(add), vec![write], site, out);
            }
        }
    }

    fn partitions_done(
        &mut self,
        mut add: AddPartitions,
        refusal: Option<Refusal>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let topic = add.topics.remove(0);
        add.results.push((topic.name, refusal));
        self.next_partitions(add, site, out);
    }

    fn enlarge(
        &self,
        topic: &CreatePartitionsTopic,
        znode: Option<TopicZnode>,
    ) -> Result<TopicZnode, Refusal> {
        let name = &topic.name;
        let Some(mut znode) = znode else {
            let words = format!("The topic '{name}' does not exist.");
            return Err(refused(Error::UnknownTopicOrPartition, words));
        };
        let old = i32::try_from(znode.partitions.len()).expect("partitions are counted in i32");
        if topic.count < old {
            let count = topic.count;
            let words = format!(
                "Topic currently has {old} partitions, which is higher than the requested {count}."
            );
            return Err(refused(Error::InvalidPartitions, words));
        }
        if topic.count == old {
            let words = format!("Topic already has {old} partitions.");
            return Err(refused(Error::InvalidPartitions, words));
        }
        let first = znode.partitions.get(&0).map(|first| first.replicas.clone());
        let new = match &topic.assignments {
            Some(given) => (old..).zip(given.iter().cloned()).collect(),
            None => self.place_more(old, topic.count - old, &first.unwrap_or_default())?,
        };
        let new = new.into_iter().map(|(n, replicas)| (n, ReplicaAssignment::settled(replicas)));
        znode.partitions.extend(new);
        Ok(znode)
    }

    fn place_more(
        &self,
        first_partition: i32,
        partitions: i32,
        like: &[BrokerId],
    ) -> Result<OrdMap<i32, Vec<BrokerId>>, Refusal> {
        let mut brokers: Vec<Candidate> = self.candidates();
        sort::by_key(&mut brokers, |broker| broker.id);
        let leader = like.first().copied().unwrap_or(BrokerId::NONE);
        let start = brokers.iter().position(|broker| broker.id >= leader).unwrap_or(0);
        let start = u32::try_from(start).expect("brokers are few");
        let replication_factor = i32::try_from(like.len()).expect("replicas are few");
        let deal = Deal { partitions, replication_factor, start, shift: start, first_partition };
        place(&brokers, deal).map_err(refuse_placement)
    }
}

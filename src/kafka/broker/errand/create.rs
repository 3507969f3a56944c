//! Creating topics: for a tool, for a client that asks for metadata, or for the first group.
//!
//! *Invariant: a topic's settings are written before the topic.*
// Source: ZkAdminManager.createTopics, AdminZkClient.createTopicWithAssignment,
// AutoTopicCreationManager (3.9)

use super::alter::{Written, check_topic_configs, set_config, written};
use super::{Errand, Running, Site, Until, refused, turn};
use crate::kafka::Error;
use crate::kafka::admin::Refusal;
use crate::kafka::broker::startup::random_id;
use crate::kafka::id::{BrokerId, CONSUMER_OFFSETS, TRANSACTION_STATE, TopicName};
use crate::kafka::message::{
    CreatableTopic, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
    FindCoordinatorResponse, MetadataRequest,
};
use crate::kafka::placement::{self, Candidate, Deal, PlacementError, in_cache_order, place};
use crate::kafka::release::Release;
use crate::kafka::wire::Caller;
use crate::kafka::words::Words;
use crate::kafka::znodes::{self, Config, ConfigType, ReplicaAssignment, TopicZnode};
use crate::kafka::zookeeper::{Replies, create as make, data};
use crate::sim::{OrdMap, Outbox, Span};
use crate::zk::request::Op;

/// What each topic was answered.
pub(in crate::kafka::broker) type Results = Vec<(TopicName, Option<Refusal>)>;

/// For whom topics are created.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum For {
    /// A tool, which waits so long until they can be used.
    Tool(Caller, Span),
    /// A client that wants to know them.
    Metadata(Caller, MetadataRequest),
    /// A client that looks for a coordinator.
    Coordinator(Caller),
}

/// A topic that may be created.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Plan {
    name: TopicName,
    partitions: OrdMap<i32, Vec<BrokerId>>,
    config: Config,
}

/// How far the first of the plans is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// Whether it is there, or is being deleted; and who is controller.
    Look,
    /// Its settings, if there were some.
    SetConfig,
    /// Its settings.
    CreateConfig,
    /// The topic.
    CreateTopic,
}

/// Topics that are being created.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Create {
    whom: For,
    plans: Vec<Plan>,
    created: OrdMap<TopicName, usize>,
    results: Results,
    step: Step,
}

impl Running {
    pub(super) fn create_topics(
        &mut self,
        caller: Caller,
        request: CreateTopicsRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        if !self.controller.is_active() {
            let refuse = |topic: CreatableTopic| (topic.name, Some(Error::NotController.into()));
            let results = request.topics.into_iter().map(refuse).collect();
            return self.answer(caller, response(results), out);
        }
        let (mut plans, mut results) = (Vec::new(), Results::new());
        for topic in request.topics {
            let name = topic.name.clone();
            match self.plan(topic, site, out) {
                Ok(plan) if !request.validate_only => plans.push(plan),
                Ok(_) => results.push((name, None)),
                Err(refusal) => results.push((name, Some(refusal))),
            }
        }
        self.create(For::Tool(caller, request.timeout), plans, results, site, out);
    }

    pub(in crate::kafka::broker) fn create_for_metadata(
        &mut self,
        caller: Caller,
        request: MetadataRequest,
        missing: Vec<TopicName>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let mut plans = Vec::new();
        for name in missing {
            let topic = self.default_topic(name, site);
            plans.extend(self.plan(topic, site, out).ok());
        }
        self.create(For::Metadata(caller, request), plans, Results::new(), site, out);
    }

    pub(in crate::kafka::broker) fn create_for_coordinator(
        &mut self,
        caller: Caller,
        topic: &str,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let topic = self.default_topic(topic.into(), site);
        let plans = self.plan(topic, site, out).into_iter().collect();
        self.create(For::Coordinator(caller), plans, Results::new(), site, out);
    }

    /// What a topic is like that nobody has described.
    // Source: AutoTopicCreationManager.creatableTopic; GroupCoordinator.groupMetadataTopicConfigs,
    // TransactionStateManager.transactionTopicConfigs
    fn default_topic(&self, name: TopicName, site: Site<'_>) -> CreatableTopic {
        let settings = site.settings;
        let min_isr = settings.transaction_state_log_min_isr.to_string();
        let transactions = [
            ("compression.type", "uncompressed"),
            ("cleanup.policy", "compact"),
            ("min.insync.replicas", min_isr.as_str()),
            ("segment.bytes", "104857600"),
            ("unclean.leader.election.enable", "false"),
        ];
        let offsets = [
            ("cleanup.policy", "compact"),
            ("segment.bytes", "104857600"),
            ("compression.type", "producer"),
        ];
        // Source: OffsetManager.offsetsTopicConfig (0.8.2); KAFKA-1499 (0.9): compression.type
        let told = if settings.release.compression_is_told_of_topics() { 3 } else { 2 };
        let (num_partitions, replication_factor, configs) = match name.as_str() {
            CONSUMER_OFFSETS => (
                settings.offsets_topic_num_partitions,
                settings.offsets_topic_replication_factor,
                &offsets[..told],
            ),
            TRANSACTION_STATE => (
                settings.transaction_state_log_num_partitions,
                settings.transaction_state_log_replication_factor,
                &transactions[..],
            ),
            _ => (settings.num_partitions, settings.default_replication_factor, &[][..]),
        };
        let fewer =
            name.as_str() == CONSUMER_OFFSETS && settings.release.offsets_may_have_fewer_copies();
        let alive = i32::try_from(self.cache.brokers().len()).expect("brokers are few");
        let replication_factor = match fewer {
            true => replication_factor.min(alive.max(1)),
            false => replication_factor,
        };
        let configs = configs.iter().map(|&(name, value)| (name.into(), value.into()));
        CreatableTopic {
            name,
            num_partitions,
            replication_factor,
            assignments: Vec::new(),
            configs: configs.collect(),
        }
    }

    // Source: ZkAdminManager.createTopics
    fn plan(
        &self,
        topic: CreatableTopic,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) -> Result<Plan, Refusal> {
        let name = topic.name;
        if self.cache.topic(&name).is_some() {
            return Err(already_there(&name));
        }
        let partitions = match topic.assignments.is_empty() {
            true => {
                let count = given(topic.num_partitions, site.settings.num_partitions);
                let factor =
                    given(topic.replication_factor, site.settings.default_replication_factor);
                self.place_drawn(count, factor, out)?
            }
            false => topic.assignments.into_iter().collect(),
        };
        check_topic_name(&name, site.settings.release)
            .map_err(|words| refused(Error::InvalidTopic, words))?;
        let config: Config = topic.configs.into_iter().collect();
        check_topic_configs(&config).map_err(|words| refused(Error::InvalidConfig, words))?;
        Ok(Plan { name, partitions, config })
    }

    fn place_drawn(
        &self,
        partitions: i32,
        replication_factor: i32,
        out: &mut Outbox<'_, Words>,
    ) -> Result<OrdMap<i32, Vec<BrokerId>>, Refusal> {
        let brokers = self.candidates();
        let mut deal =
            Deal { partitions, replication_factor, start: 0, shift: 0, first_partition: 0 };
        place(&brokers, deal).map_err(refuse_placement)?;
        let count = brokers.len() as u64;
        let mut draw = |purpose| {
            let drawn = out.draw(purpose, 0..count) % count;
            u32::try_from(drawn).expect("brokers are few")
        };
        deal.start = draw(placement::START);
        deal.shift = draw(placement::SHIFT);
        place(&brokers, deal).map_err(refuse_placement)
    }

    /// The live brokers in the order in which this one lists them.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let ids: Vec<BrokerId> = self.cache.brokers().iter().map(|broker| broker.id).collect();
        let rack = |id| self.cache.broker(id).and_then(|broker| broker.rack.as_deref());
        let candidate = |id| Candidate { id, rack: rack(id).map(str::to_owned) };
        in_cache_order(&ids).into_iter().map(candidate).collect()
    }

    fn create(
        &mut self,
        whom: For,
        plans: Vec<Plan>,
        results: Results,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let (created, step) = (OrdMap::new(), Step::Look);
        let create = Create { whom, plans, created, results, step };
        self.next_topic(create, site, out);
    }

    fn next_topic(&mut self, mut create: Create, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let Some(plan) = create.plans.first() else {
            return self.topics_created(create, site, out);
        };
        let release = site.settings.release;
        let mut looks = vec![self.zk.exists(znodes::topic(&plan.name))];
        if release.creation_minds_deletion() {
            looks.insert(0, self.zk.exists(znodes::delete_topic(&plan.name)));
        }
        if release.config_writes_are_fenced() {
            looks.push(self.zk.get_data(znodes::controller()));
        }
        if release.asks_one_by_one() {
            // Source: AdminUtils.createTopic: getSortedBrokerList, getBrokerMetadatas
            looks.push(self.zk.get_children(znodes::broker_ids()));
        }
        create.step = Step::Look;
        let number = self.errands.begin(Errand::Create(create));
        self.go(number, looks, site, out);
    }

    pub(super) fn created(
        &mut self,
        number: u32,
        mut create: Create,
        replies: &Replies,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let plan = create.plans.first().expect("something is being created");
        let next = match create.step {
            Step::Look => {
                let release = site.settings.release;
                let fence = looked(plan, replies, release);
                fence.map(|fence| (Step::SetConfig, write_config(plan, fence)))
            }
            Step::SetConfig => match written(&replies[0]) {
                Written::Done => Ok((Step::CreateTopic, write_topic(plan, site, out))),
                Written::Missing => Ok((Step::CreateConfig, create_config(plan))),
                Written::Refused => Err(Refusal::from(Error::NotController)),
            },
            Step::CreateConfig => Ok((Step::CreateTopic, write_topic(plan, site, out))),
            Step::CreateTopic => {
                let refusal = replies[0].is_err().then(|| already_there(&plan.name));
                return self.topic_done(create, refusal, site, out);
            }
        };
        match next {
            Ok((step, op)) => {
                create.step = step;
                self.go_on(number, Errand::Create(create), vec![op], site, out);
            }
            Err(refusal) => self.topic_done(create, Some(refusal), site, out),
        }
    }

    fn topic_done(
        &mut self,
        mut create: Create,
        refusal: Option<Refusal>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let plan = create.plans.remove(0);
        if refusal.is_none() {
            create.created.insert(plan.name.clone(), plan.partitions.len());
        }
        create.results.push((plan.name, refusal));
        self.next_topic(create, site, out);
    }

    fn topics_created(&mut self, create: Create, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        match create.whom {
            For::Tool(caller, timeout) => {
                let until = Until::Created(create.created, create.results);
                self.errands.wait(caller, timeout, until, turn!(self, site, out));
            }
            For::Metadata(caller, request) => {
                let topics = request.topics.as_deref();
                let response = self.cache.describe(topics, Error::LeaderNotAvailable);
                self.answer(caller, response, out);
            }
            For::Coordinator(caller) => {
                let coordinator = Err(Error::CoordinatorNotAvailable);
                self.answer(caller, FindCoordinatorResponse { coordinator }, out);
            }
        }
    }
}

/// A number, or the broker's own where none is given.
fn given(number: i32, default: i32) -> i32 {
    if number == -1 { default } else { number }
}

/// Whether a topic may be made: the data version of `/controller` if that is asked for.
// Source: AdminZkClient.validateTopicCreate
fn looked(plan: &Plan, replies: &Replies, release: Release) -> Result<Option<i32>, Refusal> {
    let name = &plan.name;
    let mut replies = replies.iter();
    let mut next = || replies.next().expect("as many were asked for");
    if release.creation_minds_deletion() && next().is_ok() {
        let words = format!("Topic '{name}' is marked for deletion.");
        return Err(refused(Error::TopicAlreadyExists, words));
    }
    if next().is_ok() {
        return Err(already_there(name));
    }
    let fence = || data(next()).map_or(-1, |(_, stat)| stat.version);
    Ok(release.config_writes_are_fenced().then(fence))
}

fn already_there(name: &TopicName) -> Refusal {
    refused(Error::TopicAlreadyExists, format!("Topic '{name}' already exists."))
}

fn write_config(plan: &Plan, controller: Option<i32>) -> Op {
    let path = ConfigType::Topics.entity(plan.name.as_str());
    set_config(path, &plan.config, controller)
}

fn create_config(plan: &Plan) -> Op {
    let path = ConfigType::Topics.entity(plan.name.as_str());
    make(path, znodes::encode_config(&plan.config))
}

fn write_topic(plan: &Plan, site: Site<'_>, out: &mut Outbox<'_, Words>) -> Op {
    let partitions = plan.partitions.iter();
    let partitions = partitions
        .map(|(&number, replicas)| (number, ReplicaAssignment::settled(replicas.clone())))
        .collect();
    let topic_id = Some(random_id(out));
    let data = TopicZnode { topic_id, partitions }.encode(site.settings.release);
    make(znodes::topic(&plan.name), data)
}

/// Why replicas cannot be placed, in Kafka's words.
pub(super) fn refuse_placement(error: PlacementError) -> Refusal {
    match error {
        PlacementError::TooFewBrokers { wanted, available } => refused(
            Error::InvalidReplicationFactor,
            format!("Replication factor: {wanted} larger than available brokers: {available}."),
        ),
        PlacementError::Nothing => refused(
            Error::InvalidPartitions,
            "Number of partitions must be larger than 0.".to_owned(),
        ),
        PlacementError::RacksMissing => refused(
            Error::InvalidRequest,
            "Not all brokers have rack information for replica rack aware assignment.".to_owned(),
        ),
    }
}

/// The response to a tool.
pub(super) fn response(results: Results) -> CreateTopicsResponse {
    let one = |(name, refusal): (TopicName, Option<Refusal>)| CreatableTopicResult {
        name,
        error: refusal.as_ref().map(|refusal| refusal.error),
        error_message: refusal.and_then(|refusal| refusal.error_message),
    };
    CreateTopicsResponse { topics: results.into_iter().map(one).collect() }
}

/// The longest name of a topic.
// Source: org.apache.kafka.common.internals.Topic
const MAX_NAME: usize = 249;

/// Refuses a bad name, in the words of the release.
// Source: org.apache.kafka.common.internals.Topic.validate
pub fn check_topic_name(name: &TopicName, release: Release) -> Result<(), String> {
    let text = name.as_str();
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let (now, before_3_0) = match text {
        "" => {
            ("the empty string is not allowed".to_owned(), " is illegal, it can't be empty".into())
        }
        "." | ".." => {
            ("'.' or '..' is not allowed".to_owned(), " cannot be \".\" or \"..\"".to_owned())
        }
        _ if text.len() > MAX_NAME => (
            format!("the length of '{text}' is longer than the max allowed length {MAX_NAME}"),
            format!(
                " is illegal, it can't be longer than {MAX_NAME} characters, topic name: {text}"
            ),
        ),
        _ if !text.chars().all(legal) => (
            format!("'{text}' contains one or more characters other than {LEGAL}"),
            format!(" \"{text}\" is illegal, it contains a character other than {LEGAL}"),
        ),
        _ => return Ok(()),
    };
    Err(match release.bad_names_are_invalid() {
        true => format!("Topic name is invalid: {now}"),
        false if release.tools_spell_capitals() => format!("Topic name{before_3_0}"),
        false => format!("topic name{before_3_0}").replace('"', "").replace(", it ", ", "),
    })
}

/// What a topic's name may have in it, as brokers tell it.
const LEGAL: &str = "ASCII alphanumerics, '.', '_' and '-'";

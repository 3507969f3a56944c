//! The admin client: finds the broker that can answer, asks it, and tries again where that helps.
//!
//! Not here: what the answers mean to a tool, and how a tool tells them.
//! Source: KafkaAdminClient, AdminMetadataManager (3.9).
//!
//! *Invariant: nothing is asked after the deadline of its call.*

use super::dialogue::{Asking, Next, Outcome};
use super::exception::Exception;
use super::{Bootstrap, Printed};
use crate::kafka::admin::Refusal;
use crate::kafka::client::BROKER_TO_ASK;
use crate::kafka::error::{Error, Remedy};
use crate::kafka::id::{BrokerId, GroupId, TopicName, TopicPartition};
use crate::kafka::message::{
    BrokerAddress, CoordinatorKey, FindCoordinatorRequest, Isolation, ListOffsetsAt,
    ListOffsetsRequest, MetadataRequest, MetadataResponse, Request, Response, TopicMetadata,
};
use crate::kafka::release::Release;
use crate::kafka::zookeeper::Replies;
use crate::sim::{Draw, ProcessId, SimTime, Span};
use crate::zk::request::Op;

const RETRY_BACKOFF: Span = Span::ms(100);
const RECONNECT_BACKOFF: Span = Span::ms(50);

/// Why a tool does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It waits.
    Waits(Next),
    /// It has failed.
    Failed(Failure),
}

/// An exception, as the tool shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its class.
    pub exception: Exception,
    /// What it says.
    pub message: String,
    /// What had caused it, if that is another exception.
    pub cause: Option<String>,
    /// Whether it comes in an ExecutionException.
    pub is_wrapped: bool,
}

impl From<Next> for Halt {
    fn from(next: Next) -> Halt {
        Halt::Waits(next)
    }
}

impl Failure {
    /// What a broker has refused, in its words or in the protocol's.
    pub fn refused(error: Error, message: Option<&str>) -> Failure {
        let message = message.unwrap_or_else(|| default_message(error)).to_owned();
        Failure::new(Exception::Refusal(error), message)
    }

    /// An exception without a cause.
    pub fn new(exception: Exception, message: String) -> Failure {
        Failure { exception, message, cause: None, is_wrapped: false }
    }

    /// The same, as what a future throws.
    pub fn wrapped(self) -> Failure {
        Failure { is_wrapped: true, ..self }
    }

    /// The class and what it says, as Java prints an exception.
    pub fn thrown(&self, release: Release) -> String {
        format!("{}: {}", self.exception.class(release), self.message)
    }
}

impl From<Refusal> for Failure {
    fn from(why: Refusal) -> Failure {
        Failure::refused(why.error, why.error_message.as_deref())
    }
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Halt {
        Halt::Failed(failure)
    }
}

/// What the protocol says of an error where a broker says nothing.
// Source: org.apache.kafka.common.protocol.Errors (3.9)
fn default_message(error: Error) -> &'static str {
    match error {
        Error::NonEmptyGroup => "The group is not empty.",
        Error::OffsetOutOfRange => {
            "The requested offset is not within the range of offsets maintained by the server."
        }
        Error::PolicyViolation => "Request parameters do not satisfy the configured policy.",
        Error::GroupIdNotFound => "The group id does not exist.",
        Error::GroupSubscribedToTopic => {
            "Deleting offsets of a topic is forbidden while the consumer group is actively \
             subscribed to it."
        }
        Error::UnknownTopicOrPartition => "This server does not host this topic-partition.",
        Error::CoordinatorNotAvailable => "The coordinator is not available.",
        Error::NotCoordinator => "This is not the correct coordinator.",
        Error::CoordinatorLoadInProgress => {
            "The coordinator is loading and hence can't process requests."
        }
        Error::RequestTimedOut => "The request timed out.",
        Error::NotController => "This is not the correct controller for this cluster.",
        Error::UnknownMemberId => "The coordinator is not aware of this member.",
        Error::ElectionNotNeeded => "Leader election not needed for topic partition.",
        Error::PreferredLeaderNotAvailable => "The preferred leader was not available.",
        Error::UnsupportedVersion => "The version of API is not supported.",
        Error::NoReassignmentInProgress => "No partition reassignment is in progress.",
        Error::ReassignmentInProgress => "A partition reassignment is in progress.",
        Error::EligibleLeadersNotAvailable => "Eligible topic partition leaders are not available.",
        Error::TopicDeletionDisabled => "Topic deletion is disabled.",
        Error::TopicAlreadyExists => "Topic with this name already exists.",
        Error::InvalidTopic => "The request attempted to perform an operation on an invalid topic.",
        Error::LeaderNotAvailable => {
            "There is no leader for this topic-partition as we are in the middle of a leadership \
             election."
        }
        Error::RebalanceInProgress => "The group is rebalancing, so a rejoin is needed.",
        Error::InvalidGroupId => "The configured groupId is invalid.",
        Error::InvalidReplicaAssignment => "Replica assignment is invalid.",
        Error::InvalidConfig => "Configuration is invalid.",
        Error::BrokerNotAvailable => "The broker is not available.",
        Error::UnstableOffsetCommit => "There are unstable offsets that need to be cleared.",
        Error::KafkaStorage => "Disk error when trying to access log file on the disk.",
        other => other.name(Release::V3_9_1),
    }
}

/// An admin client in the middle of a tool's dialogue.
pub struct Admin<'a> {
    asking: Asking<'a>,
    bootstrap: &'a Bootstrap,
    brokers: Vec<BrokerAddress>,
    controller: Option<BrokerId>,
    connected: Vec<ProcessId>,
    last_asked: Option<ProcessId>,
    tries: u32,
    /// `default.api.timeout.ms`.
    patience: Span,
}

/// What a step of a tool has come to.
pub(super) type Told<T> = Result<T, Halt>;

/// What a tool leaves in the end: what it has found out, or this of what it failed by.
pub(super) fn ended(
    told: Told<impl Into<Printed>>,
    failed: &dyn Fn(&Failure) -> Printed,
) -> Result<Printed, Next> {
    match told {
        Ok(printed) => Ok(printed.into()),
        Err(Halt::Waits(next)) => Err(next),
        Err(Halt::Failed(why)) => Ok(failed(&why)),
    }
}

/// What a broker says to a question of this kind; it says nothing else.
macro_rules! answer {
    ($answer:expr, $kind:ident) => {
        match $answer {
            Response::$kind(answer) => answer,
            other => panic!(concat!(stringify!($kind), " was answered by {}"), other.name()),
        }
    };
}
pub(super) use answer;

/// Goes on if nothing was refused.
pub(super) fn accepted(refusal: Option<Refusal>) -> Told<()> {
    refusal.map_or(Ok(()), |why| Err(Failure::from(why).into()))
}

impl<'a> Admin<'a> {
    /// A client that knows these brokers' addresses and nothing else.
    pub fn new(asking: Asking<'a>, bootstrap: &'a Bootstrap, patience: Span) -> Admin<'a> {
        Admin {
            asking,
            bootstrap,
            brokers: Vec::new(),
            controller: None,
            connected: Vec::new(),
            last_asked: None,
            tries: 0,
            patience,
        }
    }

    /// Of which release the tool is.
    pub fn release(&self) -> Release {
        self.bootstrap.release
    }

    /// The brokers, as the command line names them.
    pub fn bootstrap_shown(&self) -> &str {
        &self.bootstrap.shown
    }

    /// The ensemble, as the command line names it.
    pub fn zookeeper_connect(&self) -> &str {
        &self.bootstrap.zookeeper_connect
    }

    /// Asks ZooKeeper, where the tool has a session.
    pub fn in_zookeeper(&mut self, ops: Vec<Op>) -> Told<Replies> {
        Ok(self.asking.read(ops)?)
    }

    /// Waits.
    pub fn pause(&mut self, span: Span) -> Told<()> {
        Ok(self.asking.pause(span)?)
    }

    /// Draws.
    pub fn draw(&mut self, draw: Draw, range: std::ops::Range<u64>) -> Told<u64> {
        Ok(self.asking.draw(draw, range)?)
    }

    /// The time of what was heard last.
    pub fn now(&self) -> SimTime {
        self.asking.now()
    }

    /// When a call that begins now has failed.
    pub fn deadline(&self) -> SimTime {
        self.now() + self.patience
    }

    /// The live brokers that are known.
    pub fn brokers(&self) -> &[BrokerAddress] {
        &self.brokers
    }

    /// All topics that brokers know, or these.
    pub fn metadata(&mut self, topics: Option<Vec<TopicName>>) -> Told<Vec<TopicMetadata>> {
        self.ready()?;
        let request = MetadataRequest { topics, allow_auto_topic_creation: false };
        let answer = answer!(self.any("metadata", request.into())?, Metadata);
        Ok(self.learn(answer))
    }

    /// Who leads a partition, if it is known and has a leader.
    pub fn leader(&mut self, tp: &TopicPartition) -> Told<Option<BrokerId>> {
        let known = self.metadata(Some(vec![tp.topic.clone()]))?;
        Ok(leader_of(&known, tp))
    }

    /// Asks whichever broker is at hand, once it is known who there is.
    pub fn some(&mut self, call: &str, request: Request) -> Told<Response> {
        self.ready()?;
        self.any(call, request)
    }

    /// Asks whichever broker is at hand.
    pub fn any(&mut self, call: &str, request: Request) -> Told<Response> {
        let deadline = self.deadline();
        loop {
            let broker = self.least_loaded()?;
            if let Some(answer) = self.try_one(broker, request.clone())? {
                return Ok(answer);
            }
            self.backoff(call, deadline, RECONNECT_BACKOFF)?;
        }
    }

    /// Asks the controller, whoever that is by then.
    pub fn controller(&mut self, call: &str, request: Request) -> Told<Response> {
        self.ready()?;
        let deadline = self.deadline();
        loop {
            let id = self.controller;
            let broker = self
                .brokers
                .iter()
                .find(|broker| Some(broker.id) == id)
                .map(|broker| broker.process);
            if let Some(broker) = broker
                && let Some(answer) = self.try_one(broker, request.clone())?
                && !is_not_controller(&answer)
            {
                return Ok(answer);
            }
            self.backoff(call, deadline, RETRY_BACKOFF)?;
            self.refresh(call, deadline)?;
        }
    }

    /// Asks this broker, once it is there.
    pub fn broker(&mut self, call: &str, id: BrokerId, request: Request) -> Told<Response> {
        self.ready()?;
        let deadline = self.deadline();
        loop {
            let broker =
                self.brokers.iter().find(|broker| broker.id == id).map(|broker| broker.process);
            match broker {
                None => self.retry(call, deadline)?,
                Some(broker) => match self.try_one(broker, request.clone())? {
                    Some(answer) => return Ok(answer),
                    None => self.backoff(call, deadline, RETRY_BACKOFF)?,
                },
            }
            self.refresh(call, deadline)?;
        }
    }

    /// A coordinator; the question makes the topic that it keeps if there is none.
    pub fn coordinator(&mut self, call: &str, key: &CoordinatorKey) -> Told<BrokerAddress> {
        self.ready()?;
        let deadline = self.deadline();
        let call = format!("{call}(api=FIND_COORDINATOR)");
        loop {
            let request = FindCoordinatorRequest { key: key.clone() };
            match answer!(self.any(&call, request.into())?, FindCoordinator).coordinator {
                Ok(address) => return Ok(address),
                Err(error) if error.remedy() == Remedy::Fail => {
                    return Err(Failure::refused(error, None).into());
                }
                Err(_) => self.backoff(&call, deadline, RETRY_BACKOFF)?,
            }
        }
    }

    /// Asks the coordinator of a group, and whoever it is next if it no longer is.
    pub fn of_group(
        &mut self,
        call: &str,
        group: &GroupId,
        request: Request,
        error_of: impl Fn(&Response) -> Option<Error>,
    ) -> Told<(BrokerAddress, Response)> {
        self.of_coordinator(call, &CoordinatorKey::Group(group.clone()), request, error_of)
    }

    /// Asks a coordinator, and whoever it is next if it no longer is.
    pub fn of_coordinator(
        &mut self,
        call: &str,
        key: &CoordinatorKey,
        request: Request,
        error_of: impl Fn(&Response) -> Option<Error>,
    ) -> Told<(BrokerAddress, Response)> {
        let deadline = self.deadline();
        loop {
            let address = self.coordinator(call, key)?;
            if let Some(answer) = self.try_one(address.process, request.clone())? {
                match error_of(&answer) {
                    Some(error) if error.remedy() != Remedy::Fail => {}
                    _ => return Ok((address, answer)),
                }
            }
            self.backoff(call, deadline, RETRY_BACKOFF)?;
        }
    }

    /// The offsets of these partitions, each from its leader; none where it has none or does not
    /// answer.
    pub fn list_offsets(
        &mut self,
        at: ListOffsetsAt,
        partitions: &[TopicPartition],
    ) -> Told<Vec<(TopicPartition, Option<i64>)>> {
        let mut found = Vec::new();
        for (leader, own) in self.by_leader(partitions)? {
            let topics = own.into_iter().map(|partition| (partition, at)).collect();
            let isolation_level = Isolation::ReadUncommitted;
            let request =
                ListOffsetsRequest { replica_id: BrokerId::NONE, isolation_level, topics };
            let answer = self.broker("listOffsets(api=LIST_OFFSETS)", leader, request.into())?;
            found.extend(answer!(answer, ListOffsets).topics);
        }
        let offset = |partition: &TopicPartition| {
            let answer = found.iter().find(|(of, _)| of == partition);
            answer.and_then(|(_, offset)| offset.as_ref().ok()).map(|offset| offset.0)
        };
        Ok(partitions.iter().map(|partition| (partition.clone(), offset(partition))).collect())
    }

    /// These partitions by who leads them; those that nobody leads are left out.
    pub fn by_leader(
        &mut self,
        partitions: &[TopicPartition],
    ) -> Told<Vec<(BrokerId, Vec<TopicPartition>)>> {
        let mut topics: Vec<TopicName> = partitions.iter().map(|p| p.topic.clone()).collect();
        topics.dedup();
        let known = self.metadata(Some(topics))?;
        let mut led: Vec<(BrokerId, Vec<TopicPartition>)> = Vec::new();
        for partition in partitions {
            let Some(leader) = leader_of(&known, partition) else { continue };
            match led.iter_mut().find(|(of, _)| *of == leader) {
                Some((_, own)) => own.push(partition.clone()),
                None => led.push((leader, vec![partition.clone()])),
            }
        }
        Ok(led)
    }

    /// Waits before a call that helped nobody is tried again, unless its time is over.
    // Source: KafkaAdminClient.TimeoutProcessor: it waits to be sent once more by then
    pub fn retry(&mut self, call: &str, deadline: SimTime) -> Told<()> {
        if self.now() >= deadline {
            return Err(timed_out(call).into());
        }
        self.pause(RETRY_BACKOFF)
    }

    /// Before the first call: who is there.
    fn ready(&mut self) -> Told<()> {
        if self.brokers.is_empty() {
            self.refresh("fetchMetadata", self.deadline())
        } else {
            Ok(())
        }
    }

    fn refresh(&mut self, call: &str, deadline: SimTime) -> Told<()> {
        loop {
            let broker = self.least_loaded()?;
            let topics = Some(Vec::new());
            let request = MetadataRequest { topics, allow_auto_topic_creation: false };
            match self.try_one(broker, request.into())? {
                Some(Response::Metadata(answer)) if !answer.brokers.is_empty() => {
                    self.learn(answer);
                    return Ok(());
                }
                _ => self.backoff(call, deadline, RECONNECT_BACKOFF)?,
            }
        }
    }

    fn learn(&mut self, answer: MetadataResponse) -> Vec<TopicMetadata> {
        self.brokers = answer.brokers;
        self.controller = (answer.controller_id != BrokerId::NONE).then_some(answer.controller_id);
        answer.topics
    }

    fn candidates(&self) -> Vec<ProcessId> {
        if self.brokers.is_empty() {
            return self.bootstrap.processes.to_vec();
        }
        self.brokers.iter().map(|broker| broker.process).collect()
    }

    /// The first connected broker from a drawn place on; the broker at that place if none is.
    // Source: NetworkClient.leastLoadedNode
    fn least_loaded(&mut self) -> Told<ProcessId> {
        let mut candidates = self.candidates();
        let place = self.asking.draw(BROKER_TO_ASK, 0..candidates.len() as u64)?;
        let count = candidates.len();
        candidates.rotate_left(usize::try_from(place).unwrap_or(0) % count);
        let open = candidates.iter().find(|broker| self.connected.contains(broker));
        Ok(open.copied().unwrap_or(candidates[0]))
    }

    fn try_one(&mut self, broker: ProcessId, request: Request) -> Told<Option<Response>> {
        let outcome = self.asking.ask(vec![(broker, request)])?.pop().expect("one was asked");
        self.last_asked = Some(broker);
        self.tries += 1;
        self.connected.retain(|open| *open != broker);
        match outcome {
            Outcome::Answered(answer) => {
                self.connected.push(broker);
                Ok(Some(answer))
            }
            Outcome::Disconnected | Outcome::TimedOut => Ok(None),
        }
    }

    fn backoff(&mut self, call: &str, deadline: SimTime, span: Span) -> Told<()> {
        if self.now() >= deadline {
            let asked = self.last_asked;
            let broker = self.brokers.iter().find(|broker| asked == Some(broker.process));
            return Err(match broker {
                Some(broker) => self.gave_up(call, deadline, broker.id).into(),
                None => timed_out(call).into(),
            });
        }
        self.pause(span)
    }

    /// A call that was tried until its time was over.
    // Source: KafkaAdminClient.Call.fail, handleTimeoutFailure;
    // NetworkClient.cancelInFlightRequests
    fn gave_up(&self, call: &str, deadline: SimTime, broker: BrokerId) -> Failure {
        let (now, tries) = (self.now().as_ms(), self.tries);
        let message = format!(
            "Call(callName={call}, deadlineMs={}, tries={tries}, nextAllowedTryMs={now}) timed out \
             at {now} after {tries} attempt(s)",
            deadline.as_ms()
        );
        let cause = format!(
            "org.apache.kafka.common.errors.DisconnectException: Cancelled {call} request with \
             correlation id {tries} due to node {broker} being disconnected"
        );
        Failure { cause: Some(cause), ..Failure::new(TIMEOUT, message) }
    }
}

fn leader_of(known: &[TopicMetadata], partition: &TopicPartition) -> Option<BrokerId> {
    let topic = known.iter().find(|topic| topic.name == partition.topic)?;
    let of = topic.partitions.iter().find(|p| p.partition_index == partition.partition)?;
    (of.leader_id != BrokerId::NONE).then_some(of.leader_id)
}

const TIMEOUT: Exception = Exception::Refusal(Error::RequestTimedOut);

/// A call that nobody could be found for.
fn timed_out(call: &str) -> Failure {
    let message = format!("Timed out waiting for a node assignment. Call: {call}");
    Failure::new(TIMEOUT, message)
}

fn is_not_controller(answer: &Response) -> bool {
    let error = match answer {
        Response::CreateTopics(answer) => answer.topics.first().and_then(|topic| topic.error),
        Response::CreatePartitions(answer) => {
            answer.results.first().and_then(|(_, refusal)| refusal.as_ref().map(|r| r.error))
        }
        Response::DeleteTopics(answer) => {
            answer.responses.first().and_then(|(_, refusal)| refusal.as_ref().map(|r| r.error))
        }
        Response::ElectLeaders(answer) => answer.error,
        Response::AlterPartitionReassignments(answer) => answer.error,
        Response::ListPartitionReassignments(answer) => answer.error,
        _ => None,
    };
    error == Some(Error::NotController)
}

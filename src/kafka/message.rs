//! What Kafka's processes say to each other: requests and responses, with their real field names.
//!
//! Not here: what is said to ZooKeeper, and what anybody makes of a message.
//!
//! *Invariant: every request gets exactly one response with its correlation id, except a produce
//! request with acks 0, which gets none.*
// Real: a connection begins with ApiVersions, and each message has a version; here all speak the
// newest version of their release, because negotiation changes nothing that follows.

use std::sync::Arc;

use super::admin::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
    CreatePartitionsRequest, CreatePartitionsResponse, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, DescribeConfigsRequest, DescribeConfigsResponse,
    DescribeLogDirsRequest, DescribeLogDirsResponse, DescribeProducersRequest,
    DescribeProducersResponse, DescribeTransactionsRequest, DescribeTransactionsResponse,
    ElectLeadersRequest, ElectLeadersResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse, ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse, ListTransactionsRequest, ListTransactionsResponse,
};
use super::control::{
    AllocateProducerIdsRequest, AllocateProducerIdsResponse, AlterPartitionRequest,
    AlterPartitionResponse, ControlledShutdownRequest, ControlledShutdownResponse,
    LeaderAndIsrRequest, LeaderAndIsrResponse, StopReplicaRequest, StopReplicaResponse,
    UpdateMetadataRequest, UpdateMetadataResponse,
};
use super::error::Error;
use super::group_record::{Assignment, Assignments, OffsetAndMetadata, Subscription};
use super::id::{BrokerId, ClientId, CorrelationId, Generation, GroupId, LeaderEpoch, MemberId};
use super::id::{Offset, ProducerEpoch, ProducerId, TopicName, TopicPartition};
use super::record::RecordBatch;
use crate::sim::{ProcessId, SimTime, Span};

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestMessage {
    /// Which request of this connection it is.
    pub correlation_id: CorrelationId,
    /// What the sender calls itself.
    pub client_id: ClientId,
    /// What is asked.
    pub request: Request,
}

/// A response on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResponseMessage {
    /// Which request of this connection it answers.
    pub correlation_id: CorrelationId,
    /// The answer.
    pub response: Response,
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($request:ty) -> $response:ty, $short:literal;)*) => {
        /// Everything that can be asked.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Request { $($(#[$doc])* $name($request)),* }

        /// Everything that can be answered.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Response { $($(#[$doc])* $name($response)),* }

        impl Request {
            /// The short name, for traces.
            pub fn name(&self) -> &'static str {
                match self { $(Request::$name(_) => $short),* }
            }
        }

        impl Response {
            /// The short name, for traces.
            pub fn name(&self) -> &'static str {
                match self { $(Response::$name(_) => concat!($short, "-response")),* }
            }
        }

        $(
            impl From<$request> for Request {
                fn from(request: $request) -> Self { Request::$name(request) }
            }

            impl From<$response> for Response {
                fn from(response: $response) -> Self { Response::$name(response) }
            }
        )*
    };
}

calls! {
    /// Who leads what.
    Metadata(MetadataRequest) -> MetadataResponse, "metadata";
    /// Who coordinates a group.
    FindCoordinator(FindCoordinatorRequest) -> FindCoordinatorResponse, "find-coordinator";
    /// Records for a log.
    Produce(ProduceRequest) -> ProduceResponse, "produce";
    /// Records from a log.
    Fetch(FetchRequest) -> FetchResponse, "fetch";
    /// Offsets by time.
    ListOffsets(ListOffsetsRequest) -> ListOffsetsResponse, "list-offsets";
    /// A producer id.
    InitProducerId(InitProducerIdRequest) -> InitProducerIdResponse, "init-producer-id";
    /// Partitions for a transaction.
    AddPartitionsToTxn(AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse, "add-partitions-to-txn";
    /// A group's offsets for a transaction.
    AddOffsetsToTxn(AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse, "add-offsets-to-txn";
    /// How far a group has come, by a transaction.
    TxnOffsetCommit(TxnOffsetCommitRequest) -> TxnOffsetCommitResponse, "txn-offset-commit";
    /// The end of a transaction.
    EndTxn(EndTxnRequest) -> EndTxnResponse, "end-txn";
    /// The coordinator's marks at the end of a transaction.
    WriteTxnMarkers(WriteTxnMarkersRequest) -> WriteTxnMarkersResponse, "write-txn-markers";
    /// Who has written with a producer id.
    DescribeProducers(DescribeProducersRequest) -> DescribeProducersResponse, "describe-producers";
    /// Where transactions stand.
    DescribeTransactions(DescribeTransactionsRequest) -> DescribeTransactionsResponse, "describe-transactions";
    /// Which transactional producers there are.
    ListTransactions(ListTransactionsRequest) -> ListTransactionsResponse, "list-transactions";
    /// To be a member.
    JoinGroup(JoinGroupRequest) -> JoinGroupResponse, "join-group";
    /// To give or get the assignment.
    SyncGroup(SyncGroupRequest) -> SyncGroupResponse, "sync-group";
    /// To stay a member.
    Heartbeat(HeartbeatRequest) -> HeartbeatResponse, "heartbeat";
    /// To be a member no more.
    LeaveGroup(LeaveGroupRequest) -> LeaveGroupResponse, "leave-group";
    /// To store how far one has come.
    OffsetCommit(OffsetCommitRequest) -> OffsetCommitResponse, "offset-commit";
    /// To learn how far one had come.
    OffsetFetch(OffsetFetchRequest) -> OffsetFetchResponse, "offset-fetch";
    /// To forget how far a group had come.
    OffsetDelete(OffsetDeleteRequest) -> OffsetDeleteResponse, "offset-delete";
    /// What a group is like.
    DescribeGroups(DescribeGroupsRequest) -> DescribeGroupsResponse, "describe-groups";
    /// Which groups there are.
    ListGroups(ListGroupsRequest) -> ListGroupsResponse, "list-groups";
    /// To forget groups.
    DeleteGroups(DeleteGroupsRequest) -> DeleteGroupsResponse, "delete-groups";
    /// New topics.
    CreateTopics(CreateTopicsRequest) -> CreateTopicsResponse, "create-topics";
    /// More partitions.
    CreatePartitions(CreatePartitionsRequest) -> CreatePartitionsResponse, "create-partitions";
    /// Topics to be deleted.
    DeleteTopics(DeleteTopicsRequest) -> DeleteTopicsResponse, "delete-topics";
    /// Settings.
    DescribeConfigs(DescribeConfigsRequest) -> DescribeConfigsResponse, "describe-configs";
    /// How large logs are.
    DescribeLogDirs(DescribeLogDirsRequest) -> DescribeLogDirsResponse, "describe-log-dirs";
    /// Logs that are to begin later.
    DeleteRecords(DeleteRecordsRequest) -> DeleteRecordsResponse, "delete-records";
    /// Changes of settings.
    IncrementalAlterConfigs(IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse, "incremental-alter-configs";
    /// Elections wanted.
    ElectLeaders(ElectLeadersRequest) -> ElectLeadersResponse, "elect-leaders";
    /// Replicas to be moved.
    AlterPartitionReassignments(AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse, "alter-partition-reassignments";
    /// Replicas that move.
    ListPartitionReassignments(ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse, "list-partition-reassignments";
    /// The controller's order to lead and to follow.
    LeaderAndIsr(LeaderAndIsrRequest) -> LeaderAndIsrResponse, "leader-and-isr";
    /// What the controller tells of the cluster.
    UpdateMetadata(UpdateMetadataRequest) -> UpdateMetadataResponse, "update-metadata";
    /// The controller's order to stop replicas.
    StopReplica(StopReplicaRequest) -> StopReplicaResponse, "stop-replica";
    /// A broker's wish to stop.
    ControlledShutdown(ControlledShutdownRequest) -> ControlledShutdownResponse, "controlled-shutdown";
    /// A leader's wish for another ISR.
    AlterPartition(AlterPartitionRequest) -> AlterPartitionResponse, "alter-partition";
    /// A broker's wish for producer ids.
    AllocateProducerIds(AllocateProducerIdsRequest) -> AllocateProducerIdsResponse, "allocate-producer-ids";
    /// To be connected, and nothing more (0.7).
    Connect(ConnectRequest) -> ConnectResponse, "connect";
    /// To be a member of a group by the protocol of KIP-848.
    ConsumerGroupHeartbeat(ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse, "consumer-group-heartbeat";
}

/// The beginning of a connection on which the broker will never say anything.
// Real: TCP's handshake, below Kafka; here two messages, because a producer of 0.7 hears nothing
// else from its broker, and yet knows whether somebody is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectRequest;

/// Somebody is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectResponse;

/// Where a broker can be reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BrokerAddress {
    /// Its id.
    pub id: BrokerId,
    /// The process behind its host and port.
    pub process: ProcessId,
    /// Its host.
    pub host: Arc<str>,
    /// Its port.
    pub port: u16,
    /// Its rack.
    pub rack: Option<Arc<str>>,
}

/// Asks any broker for what it knows of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MetadataRequest {
    /// Which topics; `None` asks for all.
    pub topics: Option<Vec<TopicName>>,
    /// Whether the broker may create those that are missing.
    pub allow_auto_topic_creation: bool,
}

/// What a broker knows of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MetadataResponse {
    /// The live brokers.
    pub brokers: Vec<BrokerAddress>,
    /// The controller, or `BrokerId::NONE`.
    pub controller_id: BrokerId,
    /// The topics asked for.
    pub topics: Vec<TopicMetadata>,
}

/// One topic as a broker knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicMetadata {
    /// Why it says nothing more.
    pub error: Option<Error>,
    /// The topic.
    pub name: TopicName,
    /// Its id (2.8+).
    pub topic_id: Option<Arc<str>>,
    /// Whether Kafka keeps it for itself.
    pub is_internal: bool,
    /// Its partitions, by number.
    pub partitions: Vec<PartitionMetadata>,
}

/// One partition as a broker knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionMetadata {
    /// Why it has no leader.
    pub error: Option<Error>,
    /// Its number.
    pub partition_index: i32,
    /// Its leader, or `BrokerId::NONE`.
    pub leader_id: BrokerId,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// Its replicas.
    pub replica_nodes: Vec<BrokerId>,
    /// Those in sync.
    pub isr_nodes: Vec<BrokerId>,
    /// Those that are not alive.
    pub offline_replicas: Vec<BrokerId>,
}

/// Asks any broker who coordinates a group or a transactional producer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FindCoordinatorRequest {
    /// Whom.
    pub key: CoordinatorKey,
}

/// Who has a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CoordinatorKey {
    /// A group.
    Group(GroupId),
    /// A producer, by its `transactional.id`.
    Transaction(Arc<str>),
}

/// Who coordinates the group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FindCoordinatorResponse {
    /// The coordinator, or why there is none.
    pub coordinator: Result<BrokerAddress, Error>,
}

/// How many replicas must have a batch before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Acks {
    /// Nobody answers (0).
    None,
    /// The leader (1).
    Leader,
    /// All in sync (-1, `all`).
    All,
}

impl Acks {
    /// The setting's value.
    pub fn by_name(name: &str) -> Option<Acks> {
        match name {
            "0" => Some(Acks::None),
            "1" => Some(Acks::Leader),
            "all" | "-1" => Some(Acks::All),
            _ => None,
        }
    }
}

/// Brings records to the leaders of their partitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProduceRequest {
    /// When it is to be acknowledged.
    pub acks: Acks,
    /// How long the broker may wait for the others.
    pub timeout: Span,
    /// One batch a partition.
    pub topic_data: Vec<(TopicPartition, RecordBatch)>,
}

/// What became of the batches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProduceResponse {
    /// One answer a partition.
    pub responses: Vec<PartitionProduceResponse>,
}

/// What became of one batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionProduceResponse {
    /// Its partition.
    pub partition: TopicPartition,
    /// The offset of its first record, or why it was refused.
    pub base_offset: Result<Offset, Error>,
    /// Where the log begins.
    pub log_start_offset: Offset,
}

/// Asks for records; followers and consumers ask alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FetchRequest {
    /// Of which session it is, if any.
    pub mark: FetchMark,
    /// The follower that asks, or `BrokerId::NONE` for a consumer.
    pub replica_id: BrokerId,
    /// How long the leader may wait for records.
    pub max_wait: Span,
    /// How many bytes are worth an answer at once.
    pub min_bytes: i32,
    /// Whether open transactions hide what comes after.
    pub isolation_level: Isolation,
    /// From where; in a session only what has changed.
    pub topics: Vec<FetchPartition>,
    /// What is no more fetched in the session.
    pub forgotten: Vec<TopicPartition>,
}

/// The number of a fetch session, and which of its fetches it is (`fetch_session`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FetchMark {
    /// The session; 0 if there is none.
    pub session: i32,
    /// 0 with the first fetch, -1 if no session is wanted.
    pub epoch: i32,
}

/// `isolation.level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Everything below the HW.
    ReadUncommitted,
    /// Nothing of open or aborted transactions, nor what comes after open ones.
    ReadCommitted,
}

/// One partition that is fetched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FetchPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// From where.
    pub from: FetchFrom,
}

/// From where a partition is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FetchFrom {
    /// The leader epoch that the asker believes in, if any.
    pub current_leader_epoch: Option<LeaderEpoch>,
    /// The first offset wanted.
    pub fetch_offset: Offset,
    /// The epoch of the last record that a follower has (2.7+).
    pub last_fetched_epoch: Option<LeaderEpoch>,
    /// Where a follower's log begins.
    pub log_start_offset: Offset,
    /// How many bytes at most.
    pub partition_max_bytes: i32,
}

/// The records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FetchResponse {
    /// Why it is about no partition at all.
    pub error: Option<Error>,
    /// The session that it is of; 0 if there is none.
    pub session_id: i32,
    /// One answer a partition; in a session only where there is something to tell.
    pub responses: Vec<PartitionFetchResponse>,
}

impl FetchResponse {
    /// The answer to a fetch that is of no session.
    pub fn alone(responses: Vec<PartitionFetchResponse>) -> FetchResponse {
        FetchResponse { error: None, session_id: 0, responses }
    }

    /// The answer to a fetch that does not go with its session.
    pub fn refused(error: Error) -> FetchResponse {
        FetchResponse { error: Some(error), session_id: 0, responses: Vec::new() }
    }
}

/// The records of one partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionFetchResponse {
    /// The partition.
    pub partition: TopicPartition,
    /// Why there are none.
    pub error: Option<Error>,
    /// The leader's HW.
    pub high_watermark: Offset,
    /// Where the log begins.
    pub log_start_offset: Offset,
    /// Where a follower's log must be cut: the end of this epoch (2.7+).
    pub diverging_epoch: Option<EpochEndOffset>,
    /// Aborted transactions among the records, by producer and first offset, for readers of what
    /// is committed.
    pub aborted_transactions: Vec<(ProducerId, Offset)>,
    /// The batches; the first may begin before the offset asked for.
    pub records: Vec<RecordBatch>,
}

/// Where a leader epoch ends in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EpochEndOffset {
    /// The epoch.
    pub leader_epoch: LeaderEpoch,
    /// The offset after its last record.
    pub end_offset: Offset,
}

/// Asks for offsets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListOffsetsRequest {
    /// The follower that asks, or `BrokerId::NONE` for a client.
    pub replica_id: BrokerId,
    /// Whether open transactions hide what comes after.
    pub isolation_level: Isolation,
    /// For each partition which offset is wanted.
    pub topics: Vec<(TopicPartition, ListOffsetsAt)>,
}

/// Which offset is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListOffsetsAt {
    /// The first in the log (-2).
    Earliest,
    /// The next to be read (-1): for a client the HW.
    Latest,
    /// The first record not older than this.
    Time(SimTime),
}

/// The offsets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListOffsetsResponse {
    /// One answer a partition; `Offset::NONE` where no record is new enough.
    pub topics: Vec<(TopicPartition, Result<Offset, Error>)>,
}

/// Asks for a producer id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InitProducerIdRequest {
    /// `transactional.id`, of a transactional producer.
    pub transactional_id: Option<Arc<str>>,
    /// How long its transactions may take.
    pub transaction_timeout: Span,
}

/// A producer id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InitProducerIdResponse {
    /// The id and its epoch.
    pub producer: Result<(ProducerId, ProducerEpoch), Error>,
}

/// Who speaks: a transactional producer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TransactionalProducer {
    /// Its `transactional.id`.
    pub transactional_id: Arc<str>,
    /// Its producer id.
    pub producer_id: ProducerId,
    /// The epoch of that.
    pub producer_epoch: ProducerEpoch,
}

/// Says to which partitions a transaction will write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddPartitionsToTxnRequest {
    /// Who says so.
    pub producer: TransactionalProducer,
    /// The partitions.
    pub topics: Vec<TopicPartition>,
}

/// Whether it may.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddPartitionsToTxnResponse {
    /// Why it may not.
    pub error: Option<Error>,
}

/// Says that a transaction will commit offsets of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddOffsetsToTxnRequest {
    /// Who says so.
    pub producer: TransactionalProducer,
    /// The group.
    pub group_id: GroupId,
}

/// Whether it may.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddOffsetsToTxnResponse {
    /// Why it may not.
    pub error: Option<Error>,
}

/// Stores how far a group has come, if the transaction is committed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TxnOffsetCommitRequest {
    /// Who commits.
    pub producer: TransactionalProducer,
    /// The group.
    pub group_id: GroupId,
    /// The next offset to read of each partition.
    pub topics: Vec<(TopicPartition, CommittedOffset)>,
}

/// Whether it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TxnOffsetCommitResponse {
    /// For each partition why it is not.
    pub topics: Vec<(TopicPartition, Option<Error>)>,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionResult {
    /// Nothing of it counts.
    Abort,
    /// All of it counts.
    Commit,
}

/// Ends a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndTxnRequest {
    /// Whose.
    pub producer: TransactionalProducer,
    /// How.
    pub committed: TransactionResult,
}

/// Whether it is decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndTxnResponse {
    /// Why it is not.
    pub error: Option<Error>,
}

/// Tells leaders that a transaction has ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteTxnMarkersRequest {
    /// Whose.
    pub producer_id: ProducerId,
    /// The epoch of that.
    pub producer_epoch: ProducerEpoch,
    /// How.
    pub transaction_result: TransactionResult,
    /// The partitions that it wrote to.
    pub topics: Vec<TopicPartition>,
    /// The leader epoch of the coordinator's partition.
    pub coordinator_epoch: LeaderEpoch,
}

/// Whether it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteTxnMarkersResponse {
    /// For each partition why it is not.
    pub topics: Vec<(TopicPartition, Option<Error>)>,
}

/// Asks to be a member, and waits until all have asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JoinGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// How long the member may be silent.
    pub session_timeout: Span,
    /// How long it may take to rejoin.
    pub rebalance_timeout: Span,
    /// Its id; empty if it has none yet.
    pub member_id: MemberId,
    /// Its `group.instance.id`, if it is a static member.
    pub group_instance_id: Option<Arc<str>>,
    /// The assignors it supports, the best first, with what each is to know.
    pub protocols: Vec<(Arc<str>, Arc<Subscription>)>,
    /// Why it joins.
    pub reason: Arc<str>,
}

/// The generation that the joining made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JoinGroupResponse {
    /// Why there is none.
    pub error: Option<Error>,
    /// The generation, or `Generation::NONE`.
    pub generation_id: Generation,
    /// The assignor chosen.
    pub protocol_name: Option<Arc<str>>,
    /// Who computes the assignment; empty with an error.
    pub leader: MemberId,
    /// The member's own id.
    pub member_id: MemberId,
    /// All members, for the leader only.
    pub members: Vec<JoinGroupResponseMember>,
    /// The leader need not compute: the group has its assignment (static members, 3.2+).
    pub skip_assignment: bool,
}

/// One member, as the group's leader gets to know it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JoinGroupResponseMember {
    /// Its id.
    pub member_id: MemberId,
    /// Its `group.instance.id`, if it is a static member.
    pub group_instance_id: Option<Arc<str>>,
    /// What it told for the chosen assignor.
    pub metadata: Arc<Subscription>,
}

/// Who speaks: a member in a generation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberIdentity {
    /// The group.
    pub group_id: GroupId,
    /// Its generation, or `Generation::NONE` from somebody who is in no group.
    pub generation_id: Generation,
    /// The member's id.
    pub member_id: MemberId,
    /// Its `group.instance.id`, if it is a static member.
    pub group_instance_id: Option<Arc<str>>,
}

impl MemberIdentity {
    /// Whether it is nobody's: who only commits, and is in no group.
    pub fn is_simple(&self) -> bool {
        self.generation_id.0 < 0
    }
}

/// Asks for the own share; the leader's brings everybody's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SyncGroupRequest {
    /// Who asks.
    pub member: MemberIdentity,
    /// The assignor that it believes chosen.
    pub protocol_name: Option<Arc<str>>,
    /// Everybody's share, from the leader; else empty.
    pub assignments: Assignments,
}

/// The own share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SyncGroupResponse {
    /// The share, or why there is none.
    pub assignment: Result<Assignment, Error>,
}

/// Says that the member is alive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeartbeatRequest {
    /// Who says so.
    pub member: MemberIdentity,
}

/// Whether all is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeartbeatResponse {
    /// What is not.
    pub error: Option<Error>,
}

/// Takes members out of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaveGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// Who leaves.
    pub members: Vec<LeavingMember>,
}

/// One member that leaves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeavingMember {
    /// Its id.
    pub member_id: MemberId,
    /// Its `group.instance.id`, if it is a static member.
    pub group_instance_id: Option<Arc<str>>,
    /// Why.
    pub reason: Arc<str>,
}

/// Whether they have left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaveGroupResponse {
    /// Why nobody has.
    pub error: Option<Error>,
    /// What each was told, in the order asked.
    pub members: Vec<(MemberId, Option<Error>)>,
}

/// Stores how far a group has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetCommitRequest {
    /// Who commits.
    pub member: MemberIdentity,
    /// The next offset to read of each partition.
    pub topics: Vec<(TopicPartition, CommittedOffset)>,
}

/// How far a group has come in one partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommittedOffset {
    /// The next offset to read.
    pub committed_offset: Offset,
    /// The leader epoch of the last record read, if known.
    pub committed_leader_epoch: Option<LeaderEpoch>,
    /// A note.
    pub committed_metadata: Arc<str>,
}

/// Whether it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetCommitResponse {
    /// For each partition why it is not.
    pub topics: Vec<(TopicPartition, Option<Error>)>,
}

/// Asks how far a group had come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetFetchRequest {
    /// The group.
    pub group_id: GroupId,
    /// Which partitions; `None` asks for all that it has committed.
    pub topics: Option<Vec<TopicPartition>>,
    /// Whether to refuse where a transaction may still commit another offset.
    pub require_stable: Isolation,
}

/// How far it had come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetFetchResponse {
    /// Why nothing is known.
    pub error: Option<Error>,
    /// For each partition what was committed, if anything.
    pub topics: Vec<(TopicPartition, Option<OffsetAndMetadata>)>,
}

/// Takes back what a group has committed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetDeleteRequest {
    /// The group.
    pub group_id: GroupId,
    /// Of which partitions.
    pub topics: Vec<TopicPartition>,
}

/// Whether it is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetDeleteResponse {
    /// Why nothing is.
    pub error: Option<Error>,
    /// For each partition why it is not.
    pub topics: Vec<(TopicPartition, Option<Error>)>,
}

/// Asks what groups are like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribeGroupsRequest {
    /// Which.
    pub groups: Vec<GroupId>,
}

/// What they are like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribeGroupsResponse {
    /// One answer a group.
    pub groups: Vec<DescribedGroup>,
}

/// What one group is like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribedGroup {
    /// Why nothing is known.
    pub error: Option<Error>,
    /// The group.
    pub group_id: GroupId,
    /// Its state, as tools print it.
    pub group_state: &'static str,
    /// Its assignor, empty while there is none.
    pub protocol_data: Arc<str>,
    /// Its members.
    pub members: Vec<DescribedGroupMember>,
}

/// What one member is like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribedGroupMember {
    /// Its id.
    pub member_id: MemberId,
    /// Its `group.instance.id`, if it is a static member.
    pub group_instance_id: Option<Arc<str>>,
    /// What its client calls itself.
    pub client_id: ClientId,
    /// From where it connected.
    pub client_host: Arc<str>,
    /// What it wants.
    pub member_metadata: Arc<Subscription>,
    /// What it has.
    pub member_assignment: Assignment,
}

/// Asks a broker which groups it coordinates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListGroupsRequest {
    /// In which states; empty for any.
    pub states_filter: Vec<Arc<str>>,
}

/// Which groups there are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListGroupsResponse {
    /// Why that is not known.
    pub error: Option<Error>,
    /// The groups with their states.
    pub groups: Vec<(GroupId, &'static str)>,
}

/// Says that a member is there, and which partitions it has, by the protocol of KIP-848.
// Source: ConsumerGroupHeartbeatRequest.json (3.9); here of a member that is about to join.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerGroupHeartbeatRequest {
    /// Which group.
    pub group_id: GroupId,
    /// What the member wants to read.
    pub subscribed_topic_names: Vec<TopicName>,
}

/// Which partitions a member is to have.
// Real: a broker of KRaft answers with an assignment; here there is none, because no broker with
// ZooKeeper has this protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerGroupHeartbeatResponse {
    /// Why it has none.
    pub error: Error,
}

/// Removes groups that have no members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteGroupsRequest {
    /// Which.
    pub groups_names: Vec<GroupId>,
}

/// Whether they are removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteGroupsResponse {
    /// For each group why it is not.
    pub results: Vec<(GroupId, Option<Error>)>,
}

/// Asks the controller for new topics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateTopicsRequest {
    /// Which.
    pub topics: Vec<CreatableTopic>,
    /// How long the broker may wait until they can be used.
    pub timeout: Span,
    /// Only check.
    pub validate_only: bool,
}

/// A topic to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreatableTopic {
    /// Its name.
    pub name: TopicName,
    /// How many partitions; -1 for the broker's default or where replicas are given.
    pub num_partitions: i32,
    /// How many replicas of each; -1 likewise.
    pub replication_factor: i32,
    /// The replicas of each partition, if the asker has chosen them.
    pub assignments: Vec<(i32, Vec<BrokerId>)>,
    /// Its own settings.
    pub configs: Vec<(Arc<str>, Arc<str>)>,
}

/// What became of the topics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateTopicsResponse {
    /// One answer a topic.
    pub topics: Vec<CreatableTopicResult>,
}

/// What became of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreatableTopicResult {
    /// The topic.
    pub name: TopicName,
    /// Why it was refused.
    pub error: Option<Error>,
    /// The same in words.
    pub error_message: Option<Arc<str>>,
}

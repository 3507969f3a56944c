//! What brokers answer instead of what was asked: Kafka's error codes, by their names.
//!
//! Not here: what a person gets wrong (scripts have errors of their own).
//!
//! *Invariant: an answer without an error says `Ok`; there is no error called "none".*

use super::release::Release;

macro_rules! errors {
    ($(
        $(#[$doc:meta])*
        $name:ident = $code:literal, $text:literal, $class:literal, $kind:ident;
    )*) => {
        /// An answer that refuses.
        // Source: org.apache.kafka.common.protocol.Errors (3.9)
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Error { $($(#[$doc])* $name),* }

        impl Error {
            /// The number on the wire.
            pub fn code(self) -> i16 {
                match self { $(Error::$name => $code),* }
            }

            /// The newest name in the protocol, and the Java exception that a client throws.
            fn newest(self) -> (&'static str, &'static str) {
                match self { $(Error::$name => ($text, $class)),* }
            }

            /// What a client does about it.
            pub fn remedy(self) -> Remedy {
                match self { $(Error::$name => Remedy::$kind),* }
            }
        }
    };
}

/// What a client does when it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// Tells its application.
    Fail,
    /// Tries again later.
    Retry,
    /// Asks for metadata, then tries again.
    Refresh,
}

errors! {
    /// The record is too old or not there yet.
    OffsetOutOfRange = 1, "OFFSET_OUT_OF_RANGE", "OffsetOutOfRangeException", Fail;
    /// The broker knows no such topic or partition.
    UnknownTopicOrPartition = 3, "UNKNOWN_TOPIC_OR_PARTITION", "UnknownTopicOrPartitionException", Refresh;
    /// The partition has no leader at the moment.
    LeaderNotAvailable = 5, "LEADER_NOT_AVAILABLE", "LeaderNotAvailableException", Refresh;
    /// The broker asked does not lead the partition.
    NotLeaderOrFollower = 6, "NOT_LEADER_OR_FOLLOWER", "NotLeaderOrFollowerException", Refresh;
    /// Not enough replicas answered in time.
    RequestTimedOut = 7, "REQUEST_TIMED_OUT", "TimeoutException", Retry;
    /// The broker asked for is not alive.
    BrokerNotAvailable = 8, "BROKER_NOT_AVAILABLE", "BrokerNotAvailableException", Fail;
    /// The replica asked for is not there.
    ReplicaNotAvailable = 9, "REPLICA_NOT_AVAILABLE", "ReplicaNotAvailableException", Refresh;
    /// The sender's controller epoch is an old one.
    StaleControllerEpoch = 11, "STALE_CONTROLLER_EPOCH", "ControllerMovedException", Fail;
    /// The broker hung up before it answered; no broker says so, a client does.
    NetworkException = 13, "NETWORK_EXCEPTION", "NetworkException", Refresh;
    /// The coordinator is still reading its partition.
    CoordinatorLoadInProgress = 14, "COORDINATOR_LOAD_IN_PROGRESS", "CoordinatorLoadInProgressException", Retry;
    /// There is no coordinator at the moment.
    CoordinatorNotAvailable = 15, "COORDINATOR_NOT_AVAILABLE", "CoordinatorNotAvailableException", Retry;
    /// The broker asked does not coordinate the group.
    NotCoordinator = 16, "NOT_COORDINATOR", "NotCoordinatorException", Retry;
    /// The topic's name is not allowed.
    InvalidTopic = 17, "INVALID_TOPIC_EXCEPTION", "InvalidTopicException", Fail;
    /// Too few replicas in sync; nothing was written.
    NotEnoughReplicas = 19, "NOT_ENOUGH_REPLICAS", "NotEnoughReplicasException", Retry;
    /// Too few replicas in sync, found after writing.
    NotEnoughReplicasAfterAppend = 20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NotEnoughReplicasAfterAppendException", Retry;
    /// `acks` is neither -1, 0 nor 1.
    InvalidRequiredAcks = 21, "INVALID_REQUIRED_ACKS", "InvalidRequiredAcksException", Fail;
    /// The member speaks of another generation.
    IllegalGeneration = 22, "ILLEGAL_GENERATION", "IllegalGenerationException", Fail;
    /// No assignor that all members support.
    InconsistentGroupProtocol = 23, "INCONSISTENT_GROUP_PROTOCOL", "InconsistentGroupProtocolException", Fail;
    /// The group's name is not allowed.
    InvalidGroupId = 24, "INVALID_GROUP_ID", "InvalidGroupIdException", Fail;
    /// The coordinator does not know the member.
    UnknownMemberId = 25, "UNKNOWN_MEMBER_ID", "UnknownMemberIdException", Fail;
    /// The session timeout is outside the broker's limits.
    InvalidSessionTimeout = 26, "INVALID_SESSION_TIMEOUT", "InvalidSessionTimeoutException", Fail;
    /// The group is forming anew.
    RebalanceInProgress = 27, "REBALANCE_IN_PROGRESS", "RebalanceInProgressException", Fail;
    /// A topic of that name exists.
    TopicAlreadyExists = 36, "TOPIC_ALREADY_EXISTS", "TopicExistsException", Fail;
    /// The number of partitions makes no sense.
    InvalidPartitions = 37, "INVALID_PARTITIONS", "InvalidPartitionsException", Fail;
    /// More replicas than brokers, or none.
    InvalidReplicationFactor = 38, "INVALID_REPLICATION_FACTOR", "InvalidReplicationFactorException", Fail;
    /// The placement given makes no sense.
    InvalidReplicaAssignment = 39, "INVALID_REPLICA_ASSIGNMENT", "InvalidReplicaAssignmentException", Fail;
    /// A setting makes no sense.
    InvalidConfig = 40, "INVALID_CONFIG", "InvalidConfigurationException", Fail;
    /// The broker asked is not the controller.
    NotController = 41, "NOT_CONTROLLER", "NotControllerException", Refresh;
    /// The request makes no sense.
    InvalidRequest = 42, "INVALID_REQUEST", "InvalidRequestException", Fail;
    /// A policy forbids it.
    PolicyViolation = 44, "POLICY_VIOLATION", "PolicyViolationException", Fail;
    /// The release of the broker does not know this.
    UnsupportedVersion = 35, "UNSUPPORTED_VERSION", "UnsupportedVersionException", Fail;
    /// A batch is missing before this one.
    OutOfOrderSequenceNumber = 45, "OUT_OF_ORDER_SEQUENCE_NUMBER", "OutOfOrderSequenceException", Fail;
    /// The batch is older than the last five.
    DuplicateSequenceNumber = 46, "DUPLICATE_SEQUENCE_NUMBER", "DuplicateSequenceException", Fail;
    /// Another producer has taken over the id.
    InvalidProducerEpoch = 47, "INVALID_PRODUCER_EPOCH", "InvalidProducerEpochException", Fail;
    /// The transaction is in no state for that.
    InvalidTxnState = 48, "INVALID_TXN_STATE", "InvalidTxnStateException", Fail;
    /// The transactional id belongs to another producer id.
    InvalidProducerIdMapping = 49, "INVALID_PRODUCER_ID_MAPPING", "InvalidPidMappingException", Fail;
    /// The last transaction has not ended yet.
    ConcurrentTransactions = 51, "CONCURRENT_TRANSACTIONS", "ConcurrentTransactionsException", Retry;
    /// A newer coordinator has ended a transaction of this producer.
    TransactionCoordinatorFenced = 52, "TRANSACTION_COORDINATOR_FENCED", "TransactionCoordinatorFencedException", Fail;
    /// No producer has that transactional id.
    TransactionalIdNotFound = 105, "TRANSACTIONAL_ID_NOT_FOUND", "TransactionalIdNotFoundException", Fail;
    /// A newer producer has the transactional id.
    ProducerFenced = 90, "PRODUCER_FENCED", "ProducerFencedException", Fail;
    /// A reassignment runs already.
    ReassignmentInProgress = 60, "REASSIGNMENT_IN_PROGRESS", "ReassignmentInProgressException", Fail;
    /// The disk failed.
    KafkaStorage = 56, "KAFKA_STORAGE_ERROR", "KafkaStorageException", Refresh;
    /// The broker knows nothing of this producer.
    UnknownProducerId = 59, "UNKNOWN_PRODUCER_ID", "UnknownProducerIdException", Fail;
    /// The group has members.
    NonEmptyGroup = 68, "NON_EMPTY_GROUP", "GroupNotEmptyException", Fail;
    /// There is no such group.
    GroupIdNotFound = 69, "GROUP_ID_NOT_FOUND", "GroupIdNotFoundException", Fail;
    /// The broker keeps no fetch session of that number.
    FetchSessionIdNotFound = 70, "FETCH_SESSION_ID_NOT_FOUND", "FetchSessionIdNotFoundException", Retry;
    /// It is not the next fetch of its session.
    InvalidFetchSessionEpoch = 71, "INVALID_FETCH_SESSION_EPOCH", "InvalidFetchSessionEpochException", Retry;
    /// The sender's leader epoch is an old one.
    FencedLeaderEpoch = 74, "FENCED_LEADER_EPOCH", "FencedLeaderEpochException", Refresh;
    /// The sender's leader epoch is newer than the broker's.
    UnknownLeaderEpoch = 75, "UNKNOWN_LEADER_EPOCH", "UnknownLeaderEpochException", Refresh;
    /// The broker has been restarted meanwhile.
    StaleBrokerEpoch = 77, "STALE_BROKER_EPOCH", "StaleBrokerEpochException", Fail;
    /// The new member has now been named and must come back with its name.
    MemberIdRequired = 79, "MEMBER_ID_REQUIRED", "MemberIdRequiredException", Fail;
    /// The preferred replica cannot lead.
    PreferredLeaderNotAvailable = 80, "PREFERRED_LEADER_NOT_AVAILABLE", "PreferredLeaderNotAvailableException", Refresh;
    /// The group is full.
    GroupMaxSizeReached = 81, "GROUP_MAX_SIZE_REACHED", "GroupMaxSizeReachedException", Fail;
    /// Another process has the same `group.instance.id`.
    FencedInstanceId = 82, "FENCED_INSTANCE_ID", "FencedInstanceIdException", Fail;
    /// Nobody can lead.
    EligibleLeadersNotAvailable = 83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", "EligibleLeadersNotAvailableException", Refresh;
    /// There is nothing to elect.
    ElectionNotNeeded = 84, "ELECTION_NOT_NEEDED", "ElectionNotNeededException", Refresh;
    /// No reassignment runs.
    NoReassignmentInProgress = 85, "NO_REASSIGNMENT_IN_PROGRESS", "NoReassignmentInProgressException", Fail;
    /// A member is subscribed to the topic.
    GroupSubscribedToTopic = 86, "GROUP_SUBSCRIBED_TO_TOPIC", "GroupSubscribedToTopicException", Fail;
    /// A replica that is to be in sync is not alive.
    IneligibleReplica = 107, "INELIGIBLE_REPLICA", "IneligibleReplicaException", Fail;
    /// Topics may not be deleted.
    TopicDeletionDisabled = 73, "TOPIC_DELETION_DISABLED", "TopicDeletionDisabledException", Fail;
    /// The ISR was changed by somebody else meanwhile.
    InvalidUpdateVersion = 95, "INVALID_UPDATE_VERSION", "InvalidUpdateVersionException", Fail;
    /// The topic's id is not the one that the log has.
    InconsistentTopicId = 103, "INCONSISTENT_TOPIC_ID", "InconsistentTopicIdException", Refresh;
    /// Offsets are still being committed by a transaction.
    UnstableOffsetCommit = 88, "UNSTABLE_OFFSET_COMMIT", "UnstableOffsetCommitException", Retry;
}

impl Error {
    /// The name that the protocol of that release has for it.
    pub fn name(self, release: Release) -> &'static str {
        self.former(release).unwrap_or(self.newest()).0
    }

    /// The Java exception that a client of that release throws.
    pub fn exception(self, release: Release) -> &'static str {
        self.former(release).unwrap_or(self.newest()).1
    }

    /// Both, where that release has others than the newest. The number has never changed.
    fn former(self, release: Release) -> Option<(&'static str, &'static str)> {
        let of_groups = release.errors_speak_of_groups();
        match self {
            Error::NotLeaderOrFollower if !release.errors_speak_of_followers() => {
                Some(("NOT_LEADER_FOR_PARTITION", "NotLeaderForPartitionException"))
            }
            Error::CoordinatorLoadInProgress if of_groups => {
                Some(("GROUP_LOAD_IN_PROGRESS", "GroupLoadInProgressException"))
            }
            Error::CoordinatorNotAvailable if of_groups => {
                Some(("GROUP_COORDINATOR_NOT_AVAILABLE", "GroupCoordinatorNotAvailableException"))
            }
            Error::NotCoordinator if of_groups => {
                Some(("NOT_COORDINATOR_FOR_GROUP", "NotCoordinatorForGroupException"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests of other files print the newest name.
    impl std::fmt::Display for Error {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.newest().0)
        }
    }

    #[test]
    fn an_error_has_its_name_its_exception_and_its_remedy() {
        let error = Error::NotLeaderOrFollower;
        assert_eq!((error.code(), error.remedy()), (6, Remedy::Refresh));
        let check = |error: Error, release, name, exception| {
            assert_eq!((error.name(release), error.exception(release)), (name, exception));
        };
        use Release::{V0_10_2_2, V1_1_1, V2_3_1, V2_8_2};
        check(error, V2_8_2, "NOT_LEADER_OR_FOLLOWER", "NotLeaderOrFollowerException");
        check(error, V2_3_1, "NOT_LEADER_FOR_PARTITION", "NotLeaderForPartitionException");
        let error = Error::NotCoordinator;
        check(error, V1_1_1, "NOT_COORDINATOR", "NotCoordinatorException");
        check(error, V0_10_2_2, "NOT_COORDINATOR_FOR_GROUP", "NotCoordinatorForGroupException");
        let error = Error::StaleControllerEpoch;
        check(error, V0_10_2_2, "STALE_CONTROLLER_EPOCH", "ControllerMovedException");
    }
}

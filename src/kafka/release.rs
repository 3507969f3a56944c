//! The releases of Kafka that a cluster can run, and what each of them does differently.
//!
//! *Invariant: a behaviour is a named function of the release; nobody else compares releases.*

use std::fmt;
use std::str::FromStr;

use super::error::Error;
use super::message::Acks;
use super::producer::words::Keyless;
use super::record_size::MessageFormat;
use crate::zk;

macro_rules! releases {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A release, in the order of their age.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Release { $($(#[$doc])* $name),* }

        impl Release {
            /// All of them, the oldest first.
            pub const ALL: &'static [Release] = &[$(Release::$name),*];

            /// Its number, as people write it.
            pub fn name(self) -> &'static str {
                match self { $(Release::$name => $text),* }
            }
        }
    };
}

releases! {
    /// Without replication and controller.
    V0_7_2 = "0.7.2";
    /// The first controller.
    V0_8_2_2 = "0.8.2.2";
    /// The new consumer.
    V0_10_2_2 = "0.10.2.2";
    /// The pipelined ZooKeeper client.
    V1_1_1 = "1.1.1";
    /// Broker epochs, static members.
    V2_3_1 = "2.3.1";
    /// ISR changes through the controller.
    V2_8_2 = "2.8.2";
    /// The last line with ZooKeeper.
    V3_9_1 = "3.9.1";
}

/// How a dump of a log shows the records of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpedOffsets {
    /// `offset::g:orders:0`.
    Plain,
    /// `offset_commit::group=g,partition=orders-0`.
    Named,
    /// As JSON of their schemas.
    Schemas,
}

/// What changed from one release to another, by name.
impl Release {
    /// The ZooKeeper that it runs with: the one with which it was recorded.
    // Source: the recorded stories; Kafka 0.7 shipped with 3.3.4, and 2.3 with 3.4.14
    pub fn zookeeper(self) -> zk::release::Release {
        match self {
            Release::V0_7_2 => zk::release::Release::V3_3_4,
            Release::V0_8_2_2 => zk::release::Release::V3_4_6,
            Release::V0_10_2_2 => zk::release::Release::V3_4_9,
            Release::V1_1_1 | Release::V2_3_1 => zk::release::Release::V3_4_10,
            Release::V2_8_2 => zk::release::Release::V3_5_9,
            Release::V3_9_1 => zk::release::Release::V3_8_4,
        }
    }

    /// Whether a broker is alone with its partitions: there is no replica, no leader and no
    /// controller, and who wants to know where partitions are reads it in ZooKeeper.
    // Source: KAFKA-50, KAFKA-506 (0.8)
    pub fn brokers_are_alone(self) -> bool {
        self < Release::V0_8_2_2
    }

    /// Whether a consumer that meets others in ZooKeeper writes there what it wants, and nothing
    /// more.
    // Source: kafka.consumer.TopicCount.dbString (0.7.2)
    pub fn subscriptions_are_plain(self) -> bool {
        self < Release::V0_8_2_2
    }

    /// Whether an offset is the place of a message in its file, and not its number.
    // Source: KAFKA-506 (0.8)
    pub fn offsets_are_bytes(self) -> bool {
        self < Release::V0_8_2_2
    }

    /// How brokers write records.
    // Source: KIP-32 (0.10), KIP-98 (0.11)
    pub fn message_format(self) -> MessageFormat {
        match self {
            Release::V0_7_2 | Release::V0_8_2_2 => MessageFormat::V0,
            Release::V0_10_2_2 => MessageFormat::V1,
            _ => MessageFormat::V2,
        }
    }

    /// Whether ZooKeeper is asked through ZkClient: one request after the other, a parent made
    /// where it is missing, and what a watch has told read before anybody hears of it.
    // Source: KAFKA-5642 (1.1)
    pub fn asks_one_by_one(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether a starting broker runs for controller before it is registered.
    // Source: KafkaServer.startup (0.8.2 to 1.0)
    pub fn elects_before_registering(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether a broker that finds its own registration there waits until that session is over.
    // Source: ZkUtils.createEphemeralPathExpectConflictHandleZKBug (to 0.8.2)
    pub fn brokers_wait_for_their_ids(self) -> bool {
        self <= Release::V0_8_2_2
    }

    /// Whether a cluster has an id.
    // Source: KIP-78 (0.10.1)
    pub fn clusters_have_ids(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether leaders note in ZooKeeper that they have changed an ISR.
    // Source: KAFKA-1367 (0.9)
    pub fn isr_changes_are_noted(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether brokers note in ZooKeeper that a disk has failed.
    // Source: KIP-112 (1.0)
    pub fn failed_disks_are_noted(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether the controller watches what brokers say of themselves.
    // Source: KIP-226 (1.1), BrokerModificationsHandler
    pub fn registrations_are_watched(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether a registration counts by the transaction that made it.
    // Source: KIP-380 (2.2)
    pub fn brokers_have_epochs(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether a controller's writes, its own election among them, are refused once there is
    /// another controller.
    // Source: KAFKA-6082 (2.1)
    pub fn controller_writes_are_fenced(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether a new controller whose epoch is refused goes on with the one that it has read.
    // Source: KafkaController.incrementControllerEpoch: to 1.0 "Error while incrementing controller
    // epoch" is only logged; 1.1 throws, and gives /controller up (KAFKA-5642)
    pub fn refused_controller_epochs_are_kept(self) -> bool {
        self < Release::V1_1_1
    }

    /// Whether a new controller takes the replicas of dead brokers out of the ISRs.
    // Source: KAFKA-3143 (2.3), ReplicaStateMachine.startup
    pub fn failover_removes_dead_replicas(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether `kafka-topics` tells the class of what was thrown, and speaks and writes as it did
    /// first.
    // Source: kafka.admin.TopicCommand, AdminUtils (0.8.2)
    pub fn topics_tool_is_the_first(self) -> bool {
        self <= Release::V0_8_2_2
    }

    /// Whether one partition is read by `SimpleConsumerShell`, which tells each offset.
    // Source: kafka.tools.SimpleConsumerShell; kafka-console-consumer --partition (0.10.1)
    pub fn one_partition_is_read_by_a_shell(self) -> bool {
        self <= Release::V0_8_2_2
    }

    /// Whether the last replica leaves the ISR too where unclean leaders may be elected.
    // Source: KafkaController.removeReplicaFromIsr (0.8.2 to 1.0)
    pub fn isrs_may_be_empty(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether it is noted that an unclean leader has yet to be confirmed.
    // Source: KIP-704 (3.2)
    pub fn unclean_leaders_are_noted(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether topics have a `compression.type`.
    // Source: KAFKA-1499 (0.9)
    pub fn compression_is_told_of_topics(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether the offsets topic is made with fewer replicas where there are not enough brokers.
    // Source: KafkaApis.createGroupMetadataTopic, before KIP-115 (0.11)
    pub fn offsets_may_have_fewer_copies(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether a topic may be deleted unless the settings say otherwise.
    // Source: KAFKA-5384 (1.0)
    pub fn deletes_topics_by_default(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether a replica that is not in sync may lead unless the settings say otherwise.
    // Source: KIP-106 (0.11)
    pub fn elects_unclean_leaders_by_default(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether offsets stay for a week by default, and not for a day.
    // Source: KIP-186 (2.0)
    pub fn keeps_offsets_for_a_week(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether a member may ask for a session of up to half an hour by default, and not only of
    /// five minutes.
    // Source: GroupMaxSessionTimeoutMs (KAFKA-7730, 2.3)
    pub fn lets_members_be_silent_for_long(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether consumers wait half a minute for an answer, as for a join alone before.
    // Source: KIP-266 (2.0): request.timeout.ms was 305 s
    pub fn consumers_are_impatient(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether brokers wait long by default before they give up a session or a follower.
    // Source: KIP-537 (2.5)
    pub fn is_patient_by_default(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether a broker keeps the id of its cluster on disk, and joins no other.
    // Source: KafkaServer.startup, KAFKA-7335 (2.4)
    pub fn cluster_ids_are_compared(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether what is in all `meta.properties` is verified at once.
    // Source: MetaPropertiesEnsemble.verify, KAFKA-15650 (3.7)
    pub fn has_metadata_ensemble(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether the features of the cluster are in ZooKeeper.
    // Source: KIP-584 (2.7)
    pub fn features_are_finalized(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether a broker that does not lead a partition is told from one that does not follow it
    /// either by no error.
    // Source: Errors.NOT_LEADER_OR_FOLLOWER, KAFKA-10223 (2.6)
    pub fn errors_speak_of_followers(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether coordinators are those of groups, by the names of errors.
    // Source: Errors.NOT_COORDINATOR_FOR_GROUP …, before KIP-98 (0.11)
    pub fn errors_speak_of_groups(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether a sticky assignor minds what a member of an older generation still holds: nobody
    /// else gets it before that member has given it up.
    // Source: KAFKA-14639 (3.5), AbstractStickyAssignor.allSubscriptionsEqual
    pub fn old_claims_are_minded(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether what a member holds travels with the generation of the group that it was last in,
    /// and not with that in which it got it.
    // Source: KIP-792 (3.4); before, CooperativeStickyAssignor.onAssignment (KAFKA-12984)
    pub fn subscriptions_name_generations(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether a broker whose id is taken dies with words of advice, rather than ZooKeeper's.
    // Source: ZkUtils.registerBrokerInZk (0.8 to 1.0); KafkaZkClient.registerBroker (1.1)
    pub fn registering_throws_advice(self) -> bool {
        self < Release::V1_1_1
    }

    /// Whether a broker that registers makes what is above first, with an empty text in it.
    // Source: ZKCheckedEphemeral (0.9 to 1.0)
    pub fn registering_makes_parents(self) -> bool {
        self == Release::V0_10_2_2
    }

    /// Whether an old consumer that registers does the same.
    // Source: ZookeeperConsumerConnector.registerConsumerInZK (0.9 to 1.1: ZKCheckedEphemeral)
    pub fn members_make_parents(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether a controller that must not delete topics takes wishes for it back.
    // Source: KAFKA-4474 (0.10.2), KafkaController.DeleteTopicsListener
    pub fn deletions_may_be_dropped(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether an empty group waits for further members before its first generation.
    // Source: KIP-134 (0.11)
    pub fn groups_wait_for_members(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether the tool that dumps a log prints a batch, and below it its records; before it is one
    /// or the other.
    // Source: DumpLogSegments (1.1), (2.3)
    pub fn dumps_have_records_below_batches(self) -> bool {
        self >= Release::V2_3_1
    }

    /// How that tool prints what groups have in their topic.
    // Source: DumpLogSegments.OffsetsMessageParser (2.3), (3.9);
    // GroupMetadataManager.formatRecordKeyAndValue (2.8)
    pub fn dumped_offsets(self) -> DumpedOffsets {
        match self {
            Release::V3_9_1 => DumpedOffsets::Schemas,
            Release::V2_8_2 => DumpedOffsets::Named,
            _ => DumpedOffsets::Plain,
        }
    }

    /// Whether each broker takes its blocks of producer ids in ZooKeeper itself, the first one at
    /// its start. Later it asks the controller.
    // Source: ProducerIdManager (0.11), KAFKA-12620 (3.0); start-three-brokers.2.3.1, 1 to 3
    pub fn brokers_take_producer_ids(self) -> bool {
        self >= Release::V1_1_1 && self <= Release::V2_8_2
    }

    /// Whether brokers tell how large logs are, and delete records from their beginning on.
    // Source: KIP-107 (0.11), KIP-113 (1.0)
    pub fn tools_reach_logs(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether a fetch says what has changed since the one before, and its answer too.
    // Source: KIP-227 (1.1)
    pub fn fetches_are_in_sessions(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether brokers take old values of keys out of compacted logs unless told not to.
    // Source: KAFKA-2655 (0.9.0.1): log.cleaner.enable=true
    pub fn cleans_logs_by_default(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether a segment has an index by time, too.
    // Source: KIP-33 (0.10.1)
    pub fn logs_are_indexed_by_time(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether a follower cuts its log to its HW before it fetches, since logs know no epochs.
    // Source: before KIP-101 (0.11)
    pub fn followers_cut_to_their_hw(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether a leader that is asked where an epoch ends says, too, which one it is that ends
    /// there, since it may never have had the one asked for. Before that a follower cannot see how
    /// far it has gone astray.
    // Source: KIP-279 (2.0)
    pub fn leaders_tell_which_epoch_ends(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether leaders write their ISRs to ZooKeeper themselves, and note there that they did.
    // Source: ReplicationUtils.updateLeaderAndIsr, before KIP-497 (2.7)
    pub fn leaders_write_isrs(self) -> bool {
        self <= Release::V2_3_1
    }

    /// Whether only registered brokers may be in ISRs.
    // Source: KAFKA-13916, KIP-841 (3.3)
    pub fn isrs_want_live_brokers(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether a leader ignores a follower that has not heard of its epoch. To 2.3 it takes such a
    /// one back into the ISR.
    // Source: delete-a-broker-registration.2.3.1, 5; freeze-the-controller.2.3.1, 8
    pub fn followers_name_their_leaders_epoch(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether a stopping broker asks ZooKeeper who is controller.
    // Source: KafkaServer.controlledShutdown (2.3)
    pub fn controllers_are_found_in_zookeeper(self) -> bool {
        self <= Release::V2_3_1
    }

    /// Whether replicas that change together do so broker by broker in the order of a mutable Scala
    /// map.
    // Source: ReplicaStateMachine.handleStateChanges (Scala 2.12); delete-a-topic.2.3.1, 6
    pub fn brokers_come_in_hash_order(self) -> bool {
        self <= Release::V2_3_1
    }

    /// Whether replicas change one after the other, each with a write of its own, and partitions
    /// too when a broker wants to stop.
    // Source: ReplicaStateMachine.handleStateChanges, KafkaController.shutdownBroker (0.8.2 to 1.0)
    pub fn replicas_change_one_by_one(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether a fetcher that has nothing left to fetch holds up orders to stop further ones until
    /// its last fetch is answered.
    // Source: ReplicaFetcherManager.shutdownIdleFetcherThreads, before KAFKA-6051 (1.1)
    pub fn idle_fetchers_hold_up_stops(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether the HW stays where it is while there are too few replicas in sync.
    // Source: KIP-966 (3.7)
    pub fn hw_waits_for_min_isr(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether a follower that has all records lags once it has been silent for too long.
    // Source: Partition.getOutOfSyncReplicas, before KAFKA-7152 (2.1)
    pub fn silence_is_lag(self) -> bool {
        self <= Release::V1_1_1
    }

    /// Whether a broker ends rather than cut off what its leader lacks, where unclean elections are
    /// not allowed.
    // Source: ReplicaFetcherThread.handleOffsetOutOfRange, before KAFKA-7414 (2.1)
    pub fn brokers_end_rather_than_truncate(self) -> bool {
        self <= Release::V1_1_1
    }

    /// Whether leaders look for lagging followers only as often as these may lag, and not twice.
    // Source: ReplicaManager.startup, before 0.10
    pub fn followers_are_looked_at_rarely(self) -> bool {
        self <= Release::V0_8_2_2
    }

    /// Whether a follower that is too many records behind lags, however briefly.
    // Source: Partition.getOutOfSyncReplicas, before KAFKA-1546 (0.9)
    pub fn lag_is_counted_in_messages(self) -> bool {
        self <= Release::V0_8_2_2
    }

    /// Whether offsets go when their time is over though their group reads on, and is not only
    /// empty.
    // Source: GroupMetadata.removeExpiredOffsets, before KIP-211 (2.1)
    pub fn offsets_expire_while_in_use(self) -> bool {
        self <= Release::V1_1_1
    }

    /// Whether `kafka-topics` writes topics to ZooKeeper itself, and reads them there.
    // Source: KIP-377 (2.2)
    pub fn topics_are_made_in_zookeeper(self) -> bool {
        self <= Release::V1_1_1
    }

    /// Whether tools can be sent to ZooKeeper.
    // Source: KIP-500 (removed in 3.0)
    pub fn tools_know_zookeeper(self) -> bool {
        self <= Release::V2_8_2
    }

    /// Whether tools are the ones written in Scala, with packages and line breaks of their own.
    // Source: KAFKA-14525 (3.5 to 3.7)
    pub fn tools_are_in_scala(self) -> bool {
        self <= Release::V2_8_2
    }

    /// Whether the shell that shows offsets asks each leader itself, once brokers have told it of
    /// the topic, or made it.
    // Source: GetOffsetShell, ClientUtils.fetchTopicMetadata (to 1.1)
    pub fn offsets_shell_asks_leaders_itself(self) -> bool {
        self <= Release::V1_1_1
    }

    /// Whether records carry the time at which they were made.
    // Source: KIP-32 (0.10)
    pub fn records_have_times(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether the console consumer can show partitions, offsets and headers.
    // Source: KIP-431 (2.7)
    pub fn console_shows_where_records_are(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether the console producer is sent to brokers as other tools are.
    // Source: KIP-499 (2.5)
    pub fn console_producer_knows_bootstrap_server(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether `kafka-topics` shows which partitions have few in sync.
    // Source: KIP-351 (2.3)
    pub fn topics_tool_knows_min_isr(self) -> bool {
        self >= Release::V2_3_1
    }

    /// What is said to a member that asks for its share of a group that is being read: at first
    /// nobody looked whether it is, and a group that is not there yet has no members.
    // Source: GroupCoordinator.handleSyncGroup (0.10; with validateGroupStatus 2.0)
    pub fn sync_while_loading(self) -> Error {
        match self >= Release::V1_1_1 {
            true => Error::RebalanceInProgress,
            false => Error::UnknownMemberId,
        }
    }

    /// Whether `kafka-reassign-partitions` refuses a partition that is to have no replica.
    // Source: ReassignPartitionsCommand.parseAndValidate (0.11)
    pub fn plans_want_replicas(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether there is `kafka-leader-election`.
    // Source: KIP-460 (2.4)
    pub fn has_leader_election_tool(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether there is `kafka-transactions`.
    // Source: KIP-664 (3.0)
    pub fn has_transactions_tool(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether there is `kafka-configs`.
    // Source: ConfigCommand (0.9)
    pub fn has_configs_tool(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether `kafka-configs` is meant to be sent to brokers: it warns of ZooKeeper, tells of all
    /// brokers at once, and words what it tells accordingly.
    // Source: KIP-543 (2.5)
    pub fn configs_tool_is_sent_to_brokers(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether `kafka-configs` says plainly what is wrong with its options.
    // Source: ConfigCommand.main (1.1)
    pub fn configs_tool_says_what_is_wrong(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether console producer and consumer do.
    // Source: CommandLineUtils.tryParse (2.0)
    pub fn console_tools_say_what_is_wrong(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether `kafka-configs` writes the settings of topics to ZooKeeper itself.
    // Source: KAFKA-7904 (2.5)
    pub fn topics_are_configured_in_zookeeper(self) -> bool {
        self <= Release::V2_3_1
    }

    /// Whether a broker says of a setting of its own that is refused no more than why.
    // Source: ConfigAdminManager (3.1)
    pub fn brokers_refuse_settings_plainly(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether brokers take new settings through `kafka-configs`.
    // Source: KIP-226 (1.1)
    pub fn brokers_are_configured_by_themselves(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether moves are wished for in `/admin/reassign_partitions`, and told nowhere else.
    // Source: KIP-455 (2.4; its tool 2.6)
    pub fn moves_are_wished_in_zookeeper(self) -> bool {
        self <= Release::V2_3_1
    }

    /// Whether tools name partitions as `[orders,0]`, and the one that moves them tells the plan.
    // Source: kafka.common.TopicAndPartition.toString, ReassignPartitionsCommand (0.8 to 0.11)
    pub fn partitions_are_named_in_brackets(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether a controller that has taken wishes for moves writes down again those that are left.
    // Source: KafkaController.removePartitionsFromReassignedPartitions (2.1)
    pub fn wishes_are_written_again(self) -> bool {
        self == Release::V2_3_1
    }

    /// Whether `kafka-topics` says what it has created where brokers did it, and unwraps what they
    /// threw.
    // Source: TopicCommand (2.4)
    pub fn tools_tell_what_is_created(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether refusals of topics begin with a capital, quote the name and end with a full stop.
    // Source: org.apache.kafka.common.internals.Topic, AdminUtils (0.11)
    pub fn tools_spell_capitals(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether `kafka-topics` shows an Optional as it is.
    // Source: TopicCommand.ensureTopicExists
    pub fn tools_show_optionals(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether clients have the defaults that are safe: acks=all and idempotence, sessions of 45 s,
    /// and assignors that can do without stopping everybody.
    // Source: KIP-679, KIP-735, KAFKA-12487 (3.0)
    pub fn clients_are_careful(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether producers send again what has failed until their delivery timeout.
    // Source: KIP-91, KIP-571 (2.1)
    pub fn producers_try_again(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether producers wait longer after each failure.
    // Source: KIP-580 (3.7)
    pub fn backoffs_grow(self) -> bool {
        self >= Release::V3_9_1
    }

    /// How producers find a partition for records without a key.
    // Source: KIP-480 (2.4), KIP-794 (3.3)
    pub fn keyless(self) -> Keyless {
        match self {
            Release::V3_9_1 => Keyless::StickyBytes,
            Release::V2_8_2 => Keyless::StickyBatch,
            _ => Keyless::RoundRobin,
        }
    }

    /// Whether a member that joins says what it gives up even if that is nothing, and one that
    /// closes says nothing of it.
    // Source: ConsumerCoordinator.onJoinPrepare, before KIP-429 (2.4)
    pub fn joining_revokes(self) -> bool {
        self <= Release::V2_3_1
    }

    /// Whether `kafka-consumer-groups` shows a member's partitions without their topics, and two
    /// spaces behind a coordinator's address.
    // Source: ConsumerGroupCommand (2.4 on: KAFKA-8730 …)
    pub fn members_show_no_topics(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether `kafka-consumer-groups` names the group in each row.
    // Source: ConsumerGroupCommand, KAFKA-7471 (2.2)
    pub fn groups_are_named_in_rows(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether there are consumers that meet in ZooKeeper still.
    // Source: KAFKA-2983 (removed in 2.0)
    pub fn has_old_consumers(self) -> bool {
        self <= Release::V1_1_1
    }

    /// How many acknowledgements the console producer waits for unless told otherwise.
    // Source: ConsoleProducer (--request-required-acks: 0 in 0.8, 1 to 2.8, -1 from 3.0 on)
    pub fn console_producer_acks(self) -> Acks {
        match self {
            Release::V0_7_2 | Release::V0_8_2_2 => Acks::None,
            _ if self.clients_are_careful() => Acks::All,
            _ => Acks::Leader,
        }
    }

    /// How long a controller waits before it sends a request again, in milliseconds.
    // Source: RequestSendThread.doWork
    pub fn controllers_send_again_after_ms(self) -> u64 {
        if self <= Release::V0_8_2_2 { 300 } else { 100 }
    }

    /// Whether there are consumers whose groups a broker coordinates.
    // Source: KafkaConsumer (0.9)
    pub fn has_new_consumers(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether a member may have a place in its group that stays its own.
    // Source: KIP-345 (2.3)
    pub fn has_static_members(self) -> bool {
        self >= Release::V2_3_1
    }

    /// Whether producers may send to several partitions in one transaction.
    // Source: KIP-98 (0.11)
    pub fn has_transactions(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether `kafka-consumer-groups` has columns of one width, and shows nothing of members while
    /// nothing is committed.
    // Source: ConsumerGroupCommand (0.10.2)
    pub fn groups_are_shown_plainly(self) -> bool {
        self <= Release::V0_10_2_2
    }

    /// Whether `kafka-consumer-groups` sets offsets of groups back.
    // Source: KIP-122 (0.11)
    pub fn groups_tool_resets_offsets(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether `kafka-consumer-groups --describe` can be asked for members or the state.
    // Source: KIP-175 (1.1)
    pub fn groups_tool_shows_members(self) -> bool {
        self >= Release::V1_1_1
    }

    /// Whether `kafka-consumer-groups` deletes single offsets.
    // Source: KIP-496 (2.4)
    pub fn groups_tool_deletes_offsets(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether `kafka-consumer-groups --list` tells of what protocol groups are.
    // Source: KIP-848, KAFKA-15460 (3.7)
    pub fn groups_tool_knows_types(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether a note of changed settings says whose by its path, and not by the topic alone.
    // Source: KIP-21 (0.9)
    pub fn config_changes_name_paths(self) -> bool {
        self >= Release::V0_10_2_2
    }

    /// Whether the controller's leader balance passes over preferred replicas that it does not know
    /// to be in sync.
    // Source: KafkaController.checkAndTriggerAutoLeaderRebalance (2.6)
    pub fn balance_minds_isrs(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether a topic has an id.
    // Source: KIP-516 (2.8)
    pub fn topics_have_ids(self) -> bool {
        self >= Release::V2_8_2
    }

    /// Whether clients fetch by the ids of topics.
    // Source: KIP-516, FetchRequest 13 (3.1)
    pub fn fetches_name_topic_ids(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether `/controller` tells the epoch of a controller outside of ZooKeeper, if there is one.
    // Source: KIP-866 (3.4)
    pub fn controller_may_be_elsewhere(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether settings are written only while `/controller` is as it was read.
    // Source: KIP-866 (3.4); KafkaZkClient.setOrCreateEntityConfigs
    pub fn config_writes_are_fenced(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether a topic is refused that is marked for deletion.
    // Source: AdminZkClient.validateTopicCreate (3.1)
    pub fn creation_minds_deletion(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether a leader looks for a higher HW once an ISR is written. In 2.7 and 2.8 it did not: a
    /// waiting produce request could run out though all in sync had what it brought.
    // Source: KAFKA-13091 (3.0), Partition.submitAlterPartition
    pub fn isr_changes_raise_the_hw(self) -> bool {
        self.leaders_write_isrs() || self >= Release::V3_9_1
    }

    /// The version of the JSON in `/feature`.
    // Source: FeatureZNode, KIP-778 (3.3)
    pub fn feature_version(self) -> u8 {
        if self >= Release::V3_9_1 { 2 } else { 1 }
    }

    /// Whether `kafka-topics --describe` has columns for leaders that would be eligible.
    // Source: KIP-966 (3.7)
    pub fn tools_show_eligible_leaders(self) -> bool {
        self >= Release::V3_9_1
    }

    /// Whether a topic's bad name is called invalid, and not illegal.
    // Source: org.apache.kafka.common.internals.Topic.validate (3.0)
    pub fn bad_names_are_invalid(self) -> bool {
        self >= Release::V3_9_1
    }
}

/// A text that names no release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no release {0:?} here; there are 0.7.2, 0.8.2.2, 0.10.2.2, 1.1.1, 2.3.1, 2.8.2, 3.9.1")]
pub struct UnknownRelease(String);

impl FromStr for Release {
    type Err = UnknownRelease;

    fn from_str(text: &str) -> Result<Release, UnknownRelease> {
        let found = Release::ALL.iter().find(|release| release.name() == text);
        found.copied().ok_or_else(|| UnknownRelease(text.into()))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_what_its_number_says() {
        for &release in Release::ALL {
            assert_eq!(release.to_string().parse(), Ok(release));
        }
        assert!("3.9".parse::<Release>().is_err());
    }
}

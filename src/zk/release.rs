//! The releases of ZooKeeper that an ensemble can run, and what each of them does differently.
//!
//! Real: in 3.3 there are no epoch files and no discovery; here it founds epochs as 3.4 does,
//! because nobody runs it any more to see how it went without.
//!
//! Real: up to 3.5 a closeSession txn does not list the ephemerals, and each server deletes those
//! in its own tree; here it lists them, because these are the same.
//!
//! *Invariant: a behaviour is a named function of the release; nobody else compares releases.*

use std::fmt;

macro_rules! releases {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $built:literal;)*) => {
        /// A release, in the order of their lines.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Release { $($(#[$doc])* $name),* }

        impl Release {
            /// All of them, the oldest first.
            pub const ALL: &'static [Release] = &[$(Release::$name),*];

            /// Its number, as people write it.
            pub fn name(self) -> &'static str {
                match self { $(Release::$name => $text),* }
            }

            /// What programs say that they are.
            // Source: Version.getFullVersion; the commit of a build that there is not.
            pub fn full_version(self) -> &'static str {
                match self {
                    $(Release::$name => concat!($text, "-zootrope, built on ", $built)),*
                }
            }
        }
    };
}

releases! {
    /// Came with Kafka 0.7.
    V3_3_4 = "3.3.4", "11/17/2011 05:47 GMT";
    /// Came with Kafka 0.8.2.
    V3_4_6 = "3.4.6", "02/20/2014 09:09 GMT";
    /// Came with Kafka 0.10.
    V3_4_9 = "3.4.9", "08/23/2016 06:50 GMT";
    /// Came with Kafka 1.0.
    V3_4_10 = "3.4.10", "03/23/2017 10:13 GMT";
    /// The last of its line.
    V3_4_14 = "3.4.14", "03/06/2019 16:18 GMT";
    /// Came with Kafka 2.8.
    V3_5_9 = "3.5.9", "01/06/2021 19:49 GMT";
    /// Came with Kafka 3.0.
    V3_6_3 = "3.6.3", "04/08/2021 16:35 GMT";
    /// Enforced quotas.
    V3_7_0 = "3.7.0", "2021-03-17 09:46 UTC";
    /// As Debian has it, with the fix of CVE-2024-23944.
    V3_8_0 = "3.8.0", "2022-02-25 08:49 UTC";
    /// Came with Kafka 3.9.
    V3_8_4 = "3.8.4", "2024-02-12 22:16 UTC";
}

/// Its tree, and what is asked of it.
impl Release {
    /// Whether a server knows the operation of this code. What it does not know it answers with
    /// Unimplemented, and hangs up.
    // Source: Request.isValid, UnimplementedRequestProcessor; ZooDefs.OpCode.
    pub fn has_operation(self, code: i32) -> bool {
        match code {
            // check, multi.
            13 | 14 => self >= Release::V3_4_6,
            // create2, reconfig, checkWatches, removeWatches, createContainer, deleteContainer,
            // createTTL.
            15..=21 => self >= Release::V3_5_9,
            // multiRead, getEphemerals, getAllChildrenNumber, setWatches2, addWatch.
            22 | 103..=106 => self >= Release::V3_6_3,
            // whoAmI.
            107 => self >= Release::V3_7_0,
            _ => true,
        }
    }

    /// Whether a create may say container or TTL at all.
    // Source: CreateMode.fromFlag; ZOOKEEPER-2163 (3.5.1), ZOOKEEPER-2169 (3.5.3)
    pub fn has_containers(self) -> bool {
        self >= Release::V3_5_9
    }

    /// Whether the members are in the tree, under `/zookeeper/config`.
    // Source: ZOOKEEPER-107 (3.5), DataTree.addConfigNode
    pub fn has_config_znode(self) -> bool {
        self >= Release::V3_5_9
    }

    /// Whether the count of a parent's children goes on below zero once it has come to its end.
    /// From 3.6 on it only ever rises, so that no further sequential child can be made.
    // Source: DataTree.createNode, before ZOOKEEPER-3249 (3.6)
    pub fn sequences_wrap(self) -> bool {
        self <= Release::V3_5_9
    }

    /// Whether a delete looks for the znode before it asks whether the caller may.
    // Source: PrepRequestProcessor.pRequest2Txn (case delete, 3.4)
    pub fn deletes_look_first(self) -> bool {
        self <= Release::V3_4_14
    }

    /// Whether quotas may be enforced.
    // Source: ZOOKEEPER-3301 (3.7)
    pub fn enforces_quotas(self) -> bool {
        self >= Release::V3_7_0
    }

    /// Whether a server without a quorum may serve reads.
    // Source: ZOOKEEPER-784 (3.4)
    pub fn has_read_only_mode(self) -> bool {
        self >= Release::V3_4_6
    }

    /// Whether a session may be known to its own server only.
    // Source: ZOOKEEPER-1147 (3.5)
    pub fn has_local_sessions(self) -> bool {
        self >= Release::V3_5_9
    }

    /// Whether one has to be allowed to read a znode, or to administer it, to see its ACL.
    // Source: ZOOKEEPER-1392, CVE-2019-0201 (3.4.14, 3.5.5)
    pub fn acls_are_guarded(self) -> bool {
        self >= Release::V3_4_14
    }

    /// Whether one has to be allowed to read a znode to be told of it by a watch.
    // Source: ZOOKEEPER-4799, CVE-2024-23944 (3.8.4, and Debian's 3.8.0)
    pub fn events_are_guarded(self) -> bool {
        self >= Release::V3_8_0
    }

    /// Whether one has to be allowed to read a znode to be told that it is there.
    // Source: ZOOKEEPER-2590 (3.8.4)
    pub fn existence_is_guarded(self) -> bool {
        self >= Release::V3_8_4
    }

    /// Whether a create2 within a multi tells the Stat, too.
    // Source: MultiOperationRecord.deserialize, ZOOKEEPER-4565 (3.8.2)
    pub fn multis_have_create2(self) -> bool {
        self >= Release::V3_8_4
    }
}

/// Its servers.
impl Release {
    /// Whether a write that is not committed yet holds up whatever comes to its server after it,
    /// reads of other sessions too; at the leader any server's write does.
    // Source: CommitProcessor.nextPending, before ZOOKEEPER-2024 (3.6)
    pub fn one_write_holds_up_all(self) -> bool {
        self <= Release::V3_5_9
    }

    /// Whether a leader brings learners up from its memory alone: it never looks into its log,
    /// sends everything where it has nothing in memory, and cuts a learner's log at the last common
    /// txn whatever the epochs.
    // Source: LearnerHandler.run (3.4); ZOOKEEPER-1413, LearnerHandler.syncFollower (3.5)
    pub fn plans_by_memory_alone(self) -> bool {
        self <= Release::V3_4_14
    }

    /// How long a learner waits before it tries to reach its leader again, in milliseconds.
    // Source: Learner.connectToLeader; leaderConnectDelayDuringRetryMs (3.6)
    pub fn connects_again_after_ms(self) -> u64 {
        if self <= Release::V3_5_9 { 1000 } else { 100 }
    }
}

/// Its programs and words.
impl Release {
    /// Whether a server knows this four-letter word.
    // Source: ServerCnxn, FourLetterCommands; ZOOKEEPER-744 (mntr, 3.4), ZOOKEEPER-784 (isro, 3.4),
    // ZOOKEEPER-1161 (dirs, 3.5.1), ZOOKEEPER-3311 (hash, 3.6)
    pub fn has_word(self, word: &str) -> bool {
        match word {
            "mntr" | "isro" => self >= Release::V3_4_6,
            "dirs" => self >= Release::V3_5_9,
            "hash" => self >= Release::V3_6_3,
            _ => true,
        }
    }

    /// Whether it answers this one unless `4lw.commands.whitelist` says something else.
    // Source: ServerCnxn.isEnabled, FourLetterCommands.isEnabled; ZOOKEEPER-2693 (3.4.10, 3.5.3)
    pub fn answers_word(self, word: &str) -> bool {
        match self {
            _ if self < Release::V3_4_10 => true,
            Release::V3_4_10 | Release::V3_4_14 => !matches!(word, "wchc" | "wchp"),
            _ => word == "srvr",
        }
    }

    /// Whether `isro` is answered where servers may serve reads alone.
    // Source: FourLetterCommands.isEnabled (3.5.3)
    pub fn read_only_servers_answer_isro(self) -> bool {
        self >= Release::V3_5_9
    }

    /// Whether a leader tells how long its proposals are.
    // Source: ProposalStats, ZOOKEEPER-2770 (3.4.12, 3.5.4)
    pub fn measures_proposals(self) -> bool {
        self >= Release::V3_4_14
    }

    /// Whether `mntr` has its rows from a registry of metrics, and an average is no whole number.
    // Source: ServerMetrics, ZOOKEEPER-3143, ZOOKEEPER-3321 (3.6)
    pub fn has_metrics(self) -> bool {
        self >= Release::V3_6_3
    }

    /// Whether `conf`, `dump` and `envi` tell of directories, connections and memory.
    // Source: ZooKeeperServer.dumpConf, DumpCommand.commandRun, Environment.list (3.5)
    pub fn words_tell_more(self) -> bool {
        self >= Release::V3_5_9
    }

    /// Whether whoever waits for its session's end is told of it as of an event.
    // Source: Watcher.Event.KeeperState.Closed, ZOOKEEPER-2368 (3.5.5)
    pub fn closing_is_told(self) -> bool {
        self >= Release::V3_5_9
    }

    /// Whether `zkCli.sh` is the first one: without options but for `create`, and with Stats
    /// whether one wants them or not.
    // Source: ZooKeeperMain.processZKCmd (3.3, 3.4); ZOOKEEPER-271 (3.5)
    pub fn shell_is_the_first(self) -> bool {
        self <= Release::V3_4_14
    }

    /// Whether `zkCli.sh` still has `ls2` and `rmr`.
    // Source: Ls2Command, DeleteAllCommand; ZOOKEEPER-3320 (removed in 3.6)
    pub fn shell_has_old_commands(self) -> bool {
        self <= Release::V3_5_9
    }

    /// Whether `zkCli.sh` has this command.
    // Source: ZooKeeperMain, CommandFactory; ZOOKEEPER-1416 (addWatch, 3.6), ZOOKEEPER-3969
    // (whoami, 3.7)
    pub fn shell_has_command(self, name: &str) -> bool {
        match name {
            "addWatch" | "getAllChildrenNumber" | "getEphemerals" | "version" => {
                self >= Release::V3_6_3
            }
            "whoami" => self >= Release::V3_7_0,
            _ => true,
        }
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
            let same = Release::ALL.iter().filter(|other| other.to_string() == release.name());
            assert_eq!(same.collect::<Vec<_>>(), [&release]);
            assert!(release.full_version().starts_with(release.name()));
        }
    }

    /// The first release that has an operation; 3.3.4 has those of the first protocol.
    #[test]
    fn operations_have_come_one_after_the_other() {
        let check = |code, expected: &str| {
            let first = Release::ALL.iter().find(|release| release.has_operation(code));
            assert_eq!(first.map(|release| release.name()), Some(expected), "{code}");
        };
        let first = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 100, 101, -10, -11];
        for (codes, expected) in [
            (&first[..], "3.3.4"),
            (&[13, 14], "3.4.6"),
            (&[15, 16, 17, 18, 19, 20, 21], "3.5.9"),
            (&[22, 103, 104, 105, 106], "3.6.3"),
            (&[107], "3.7.0"),
        ] {
            codes.iter().for_each(|code| check(*code, expected));
        }
    }

    #[test]
    fn words_are_answered_by_release() {
        let check = |release: Release, word: &str, (known, answered): (bool, bool)| {
            let came = (release.has_word(word), release.answers_word(word));
            assert_eq!(came, (known, answered), "{word} at {release}");
        };
        check(Release::V3_3_4, "mntr", (false, true));
        check(Release::V3_4_6, "wchc", (true, true));
        check(Release::V3_4_10, "wchc", (true, false));
        check(Release::V3_4_14, "mntr", (true, true));
        check(Release::V3_5_9, "mntr", (true, false));
        check(Release::V3_5_9, "hash", (false, false));
        check(Release::V3_8_4, "srvr", (true, true));
    }
}

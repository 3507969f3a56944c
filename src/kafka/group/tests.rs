//! Scenes between a coordinator and its members, without a broker: what was asked, what came of it.

use std::sync::Arc;

use super::{Caller, Desk, GroupCoordinator, GroupSettings, GroupTimer, Wish};
use crate::kafka::group_record::Subscription;
use crate::kafka::id::{CorrelationId, Generation, MemberId, Offset, TopicPartition};
use crate::kafka::message::{
    CommittedOffset, HeartbeatRequest, Isolation, JoinGroupRequest, LeaveGroupRequest,
    LeavingMember, MemberIdentity, OffsetCommitRequest, OffsetFetchRequest, Request, Response,
    SyncGroupRequest,
};
use crate::kafka::record::Record;
use crate::kafka::release::Release;
use crate::sim::{OrdMap, ProcessId, SimTime, Span};

/// A coordinator with its timers, a log that stores at once, and what was said since last asked.
struct Scene {
    coordinator: GroupCoordinator,
    now: SimTime,
    timers: OrdMap<GroupTimer, SimTime>,
    log: Vec<Record>,
    said: Vec<String>,
    ids: OrdMap<ProcessId, (MemberId, Generation)>,
    draws: u64,
}

impl Scene {
    fn new() -> Scene {
        Scene::of_release(Release::V3_9_1)
    }

    fn of_release(release: Release) -> Scene {
        let settings = GroupSettings { release, ..GroupSettings::default() };
        let mut scene = Scene {
            coordinator: GroupCoordinator::new(settings),
            now: SimTime::ZERO,
            timers: OrdMap::new(),
            log: Vec::new(),
            said: Vec::new(),
            ids: OrdMap::new(),
            draws: 0,
        };
        let partition = scene.coordinator.partition_of(&"g".into());
        scene.with(|coordinator, desk| coordinator.lead(partition, [], desk));
        scene
    }

    fn with(&mut self, act: impl FnOnce(&mut GroupCoordinator, &mut Desk<'_>)) {
        let draws = &mut self.draws;
        let mut dice = |_, range: std::ops::Range<u64>| {
            *draws += 1;
            range.start + *draws % (range.end - range.start)
        };
        let mut desk = Desk::new(self.now, &mut dice);
        act(&mut self.coordinator, &mut desk);
        let wishes = desk.into_wishes();
        wishes.into_iter().for_each(|wish| self.perform(wish));
    }

    fn perform(&mut self, wish: Wish) {
        match wish {
            Wish::Answer { caller, response } => self.hear(&caller, response),
            Wish::Arm { timer, after } => {
                self.timers.insert(timer, self.now + after);
            }
            Wish::Disarm(timer) => {
                self.timers.remove(&timer);
            }
            Wish::Append { id, records, .. } => {
                self.log.extend(records);
                self.with(|coordinator, desk| coordinator.stored(id, Ok(()), desk));
            }
            Wish::Tell(_) => {}
        }
    }

    fn hear(&mut self, caller: &Caller, response: Response) {
        let who = &caller.client_id;
        let told = match response {
            Response::JoinGroup(join) => {
                self.ids.insert(caller.process, (join.member_id.clone(), join.generation_id));
                let lead = if join.leader == join.member_id { " leads" } else { "" };
                let error = join.error.map_or(String::new(), |error| format!(" {error}"));
                format!("{who} joined {}{lead}{error}", join.generation_id)
            }
            Response::SyncGroup(sync) => match sync.assignment {
                Ok(share) => format!("{who} has {}", share.len()),
                Err(error) => format!("{who} sync {error}"),
            },
            Response::Heartbeat(beat) => {
                format!("{who} beat {}", beat.error.map_or("ok".into(), |e| e.to_string()))
            }
            Response::LeaveGroup(_) => format!("{who} left"),
            Response::OffsetCommit(commit) => {
                let error = commit.topics[0].1;
                format!("{who} commit {}", error.map_or("ok".into(), |e| e.to_string()))
            }
            Response::OffsetFetch(fetch) => {
                let offset = fetch.topics[0].1.as_ref().map(|o| o.offset.to_string());
                format!("{who} at {}", offset.unwrap_or("-".into()))
            }
            other => other.name().to_string(),
        };
        self.said.push(told);
    }

    fn ask(&mut self, client: u16, request: impl Into<Request>) {
        let caller = Caller {
            process: ProcessId(client),
            correlation_id: CorrelationId(0),
            client_id: format!("c{client}").as_str().into(),
        };
        let request = request.into();
        self.with(|coordinator, desk| coordinator.request(caller, request, &|_| true, desk));
    }

    /// Lets time pass, timer by timer.
    fn pass(&mut self, span: Span) {
        let end = self.now + span;
        while let Some((&timer, &at)) =
            self.timers.iter().filter(|(_, at)| **at <= end).min_by_key(|(_, at)| **at)
        {
            self.now = at;
            self.timers.remove(&timer);
            self.with(|coordinator, desk| coordinator.timer(timer, desk));
        }
        self.now = end;
    }

    fn join(&mut self, client: u16) {
        let (member_id, generation_id) = self.identity(client);
        let subscription =
            Subscription { topics: vec!["t".into()], owned_partitions: Vec::new(), generation_id };
        self.ask(
            client,
            JoinGroupRequest {
                group_id: "g".into(),
                session_timeout: Span::secs(10),
                rebalance_timeout: Span::secs(60),
                member_id,
                group_instance_id: None,
                protocols: vec![("range".into(), Arc::new(subscription))],
                reason: "".into(),
            },
        );
    }

    fn identity(&self, client: u16) -> (MemberId, Generation) {
        let known = self.ids.get(&ProcessId(client)).cloned();
        known.unwrap_or(("".into(), Generation::NONE))
    }

    fn member(&self, client: u16) -> MemberIdentity {
        let (member_id, generation_id) = self.identity(client);
        let group_id = "g".into();
        MemberIdentity { group_id, generation_id, member_id, group_instance_id: None }
    }

    /// The leader gives everybody one partition.
    fn sync(&mut self, client: u16) {
        let member = self.member(client);
        let group = self.coordinator.group("g").expect("it has members");
        let leads = group.is_leader(&member.member_id);
        let share = |(n, id): (i32, &MemberId)| (id.clone(), [TopicPartition::new("t", n)].into());
        let assignments = match leads {
            true => (0..).zip(group.members.keys()).map(share).collect(),
            false => OrdMap::new(),
        };
        self.ask(client, SyncGroupRequest { member, protocol_name: None, assignments });
    }

    fn beat(&mut self, client: u16) {
        let member = self.member(client);
        self.ask(client, HeartbeatRequest { member });
    }

    fn leave(&mut self, client: u16) {
        let (member_id, _) = self.identity(client);
        let leaving = LeavingMember { member_id, group_instance_id: None, reason: "".into() };
        let members = vec![leaving];
        self.ask(client, LeaveGroupRequest { group_id: "g".into(), members });
    }

    fn commit(&mut self, client: u16, offset: i64) {
        let member = self.member(client);
        let committed = CommittedOffset {
            committed_offset: Offset(offset),
            committed_leader_epoch: None,
            committed_metadata: "".into(),
        };
        let topics = vec![(TopicPartition::new("t", 0), committed)];
        self.ask(client, OffsetCommitRequest { member, topics });
    }

    fn fetch(&mut self, client: u16) {
        let topics = Some(vec![TopicPartition::new("t", 0)]);
        self.ask(
            client,
            OffsetFetchRequest {
                group_id: "g".into(),
                topics,
                require_stable: Isolation::ReadUncommitted,
            },
        );
    }

    #[track_caller]
    fn expect(&mut self, expected: &str) {
        let group = self.coordinator.group("g");
        let state = group.map_or("gone".into(), |g| format!("{} {}", g.state.name(), g.generation));
        let said = std::mem::take(&mut self.said).join(", ");
        assert_eq!(format!("{said} | {state}"), expected);
    }

    /// c1 alone, then c2 too: a stable generation 2.
    fn of_two() -> Scene {
        let mut scene = Scene::new();
        scene.join(1);
        scene.join(1);
        scene.pass(Span::secs(3));
        scene.sync(1);
        scene.join(2);
        scene.join(2);
        scene.join(1);
        scene.sync(2);
        scene.sync(1);
        scene.said.clear();
        scene
    }
}

#[test]
fn a_group_forms_grows_and_empties() {
    let mut scene = Scene::new();
    scene.join(1);
    scene.expect("c1 joined -1 MEMBER_ID_REQUIRED | Empty 0");
    scene.join(1);
    scene.expect(" | PreparingRebalance 0");
    scene.pass(Span::secs(3));
    scene.expect("c1 joined 1 leads | CompletingRebalance 1");
    scene.sync(1);
    scene.expect("c1 has 1 | Stable 1");
    scene.join(2);
    scene.join(2);
    scene.beat(1);
    scene.expect(
        "c2 joined -1 MEMBER_ID_REQUIRED, c1 beat REBALANCE_IN_PROGRESS | PreparingRebalance 1",
    );
    scene.join(1);
    scene.expect("c1 joined 2 leads, c2 joined 2 | CompletingRebalance 2");
    scene.sync(2);
    scene.beat(2);
    scene.sync(1);
    scene.expect("c2 beat ok, c1 has 1, c2 has 1 | Stable 2");
    scene.leave(1);
    scene.beat(2);
    scene.join(2);
    scene.expect(
        "c1 left, c2 beat REBALANCE_IN_PROGRESS, c2 joined 3 leads | CompletingRebalance 3",
    );
    scene.leave(2);
    scene.expect("c2 left | Empty 4");
    let last = scene.log.last().and_then(|record| record.value.clone()).expect("it was stored");
    assert!(last.to_string().contains(r#""generation":4,"protocol":null"#));
}

#[test]
fn newcomers_lengthen_the_initial_delay() {
    let mut scene = Scene::new();
    scene.join(1);
    scene.join(1);
    scene.pass(Span::secs(2));
    scene.join(2);
    scene.join(2);
    scene.said.clear();
    scene.pass(Span::secs(3));
    scene.expect(" | PreparingRebalance 0");
    scene.pass(Span::secs(1));
    scene.expect("c1 joined 1 leads, c2 joined 1 | CompletingRebalance 1");
}

#[test]
fn a_silent_member_costs_a_generation() {
    let mut scene = Scene::of_two();
    scene.pass(Span::secs(9));
    scene.beat(1);
    scene.pass(Span::secs(1));
    scene.beat(1);
    scene.expect("c1 beat ok, c1 beat REBALANCE_IN_PROGRESS | PreparingRebalance 2");
    scene.join(1);
    scene.beat(2);
    scene.expect("c1 joined 3 leads, c2 beat UNKNOWN_MEMBER_ID | CompletingRebalance 3");
}

#[test]
fn who_does_not_rejoin_in_time_is_out() {
    let mut scene = Scene::of_two();
    scene.join(3);
    scene.join(3);
    scene.join(2);
    scene.said.clear();
    for _ in 0..12 {
        scene.pass(Span::secs(5));
        scene.beat(1);
    }
    scene.said.retain(|said| !said.contains("beat"));
    scene.expect("c2 joined 3 leads, c3 joined 3 | CompletingRebalance 3");
    scene.beat(1);
    scene.expect("c1 beat UNKNOWN_MEMBER_ID | CompletingRebalance 3");
}

#[test]
fn who_does_not_ask_for_its_share_in_time_is_out() {
    let mut scene = Scene::of_two();
    scene.join(1);
    scene.join(2);
    scene.sync(1);
    scene.said.clear();
    for _ in 0..12 {
        scene.pass(Span::secs(5));
        (1..=2).for_each(|client| scene.beat(client));
    }
    scene.said.retain(|said| !said.contains(" ok"));
    scene.expect("c1 beat REBALANCE_IN_PROGRESS, c2 beat UNKNOWN_MEMBER_ID | PreparingRebalance 3");
}

#[test]
fn offsets_outlive_the_coordinator() {
    let mut scene = Scene::of_two();
    scene.commit(1, 7);
    scene.fetch(1);
    scene.expect("c1 commit ok, c1 at 7 | Stable 2");
    let partition = scene.coordinator.partition_of(&"g".into());
    scene.with(|coordinator, desk| coordinator.resign(partition, desk));
    scene.beat(1);
    scene.expect("c1 beat NOT_COORDINATOR | gone");
    assert!(scene.timers.is_empty(), "nothing is left to wait for");
    scene.with(|coordinator, desk| coordinator.load(partition, desk));
    scene.beat(1);
    scene.commit(1, 8);
    scene.expect("c1 beat ok, c1 commit COORDINATOR_LOAD_IN_PROGRESS | gone");
    let log = std::mem::take(&mut scene.log);
    scene.with(|coordinator, desk| coordinator.lead(partition, &log, desk));
    scene.beat(1);
    scene.fetch(2);
    scene.expect("c1 beat ok, c2 at 7 | Stable 2");
}

#[test]
fn a_commit_between_join_and_sync_is_refused() {
    let mut scene = Scene::of_two();
    scene.join(1);
    scene.commit(2, 3);
    scene.expect("c2 commit ok | PreparingRebalance 2");
    scene.join(2);
    scene.said.clear();
    scene.commit(2, 3);
    scene.expect("c2 commit REBALANCE_IN_PROGRESS | CompletingRebalance 3");
}

#[test]
fn who_asks_for_its_share_while_the_group_is_read_is_told_as_its_release_does() {
    for (release, expected) in [
        (Release::V0_10_2_2, "c1 sync UNKNOWN_MEMBER_ID"),
        (Release::V1_1_1, "c1 sync REBALANCE_IN_PROGRESS"),
        (Release::V3_9_1, "c1 sync REBALANCE_IN_PROGRESS"),
    ] {
        let mut scene = Scene::of_release(release);
        let partition = scene.coordinator.partition_of(&"g".into());
        scene.with(|coordinator, desk| coordinator.load(partition, desk));
        let member = MemberIdentity {
            group_id: "g".into(),
            member_id: "m".into(),
            generation_id: Generation(1),
            group_instance_id: None,
        };
        scene.ask(1, HeartbeatRequest { member: member.clone() });
        scene.ask(
            1,
            SyncGroupRequest { member, protocol_name: None, assignments: Default::default() },
        );
        assert_eq!(scene.said, ["c1 beat ok", expected], "{release}");
    }
}

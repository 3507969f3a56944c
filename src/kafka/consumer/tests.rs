//! Scenes between consumers and a broker of straw.

use super::Consumer;
use super::words::{ConsumerRequest, ConsumerSettings, OffsetReset};
use crate::kafka::producer::Producer;
use crate::kafka::producer::words::{ProducerRequest, ProducerSettings, ToSend};
use crate::kafka::straw::{Scene, Somebody};
use crate::sim::{ProcessId, Span};

const WORDS: [&str; 7] = [
    "partitions-assigned",
    "partitions-revoked",
    "partitions-lost",
    "record-read",
    "commit-done",
    "consumer-closed",
    "consumer-error",
];

fn scene() -> Scene {
    Scene::new(&[("t", 3)])
}

fn start(scene: &mut Scene, name: &str) -> ProcessId {
    start_with(scene, name, |_| {})
}

fn start_with(
    scene: &mut Scene,
    name: &str,
    change: impl FnOnce(&mut ConsumerSettings),
) -> ProcessId {
    let mut settings = ConsumerSettings::new(name, "g", &["t"], [ProcessId(0)]);
    settings.auto_offset_reset = OffsetReset::Earliest;
    settings.enable_auto_commit = false;
    settings.session_timeout = Span::secs(6);
    settings.heartbeat_interval = Span::secs(1);
    change(&mut settings);
    scene.add(name, Somebody::Consumer(Consumer::new(settings)))
}

fn send(scene: &mut Scene, values: &[&str]) {
    let producer = match scene.find("p1") {
        Some(producer) => producer,
        None => {
            let settings = ProducerSettings::new("p1", [ProcessId(0)]);
            scene.add("p1", Somebody::Producer(Producer::new(settings)))
        }
    };
    for &value in values {
        let (key, value) = (None, Some(value.into()));
        let record = ToSend { topic: "t".into(), partition: Some(0), key, value };
        scene.request(producer, ProducerRequest::Send(record));
    }
}

#[track_caller]
fn check(scene: &mut Scene, seconds: u64, expected: &[&str]) {
    let mut told = scene.pass(Span::secs(seconds), &WORDS);
    told.sort();
    assert_eq!(told, expected);
}

#[test]
fn members_share_and_hand_over() {
    let mut scene = scene();
    let c1 = start(&mut scene, "c1");
    let all = "t-0,t-1,t-2";
    check(&mut scene, 5, &[&format!("c1 partitions-assigned partitions={all} now={all}")]);
    let c2 = start(&mut scene, "c2");
    check(
        &mut scene,
        5,
        &[
            "c1 partitions-assigned partitions=t-0,t-1 now=t-0,t-1",
            &format!("c1 partitions-revoked partitions={all}"),
            "c2 partitions-assigned partitions=t-2 now=t-2",
        ],
    );
    scene.request(c1, ConsumerRequest::Close);
    check(
        &mut scene,
        5,
        &[
            "c1 consumer-closed group=g",
            "c1 partitions-revoked partitions=t-0,t-1",
            &format!("c2 partitions-assigned partitions={all} now={all}"),
            "c2 partitions-revoked partitions=t-2",
        ],
    );
    scene.intervene(|hand| hand.kill(c2));
    let c3 = start(&mut scene, "c3");
    check(&mut scene, 9, &[&format!("c3 partitions-assigned partitions={all} now={all}")]);
    scene.request(c3, ConsumerRequest::Close);
    check(
        &mut scene,
        1,
        &["c3 consumer-closed group=g", &format!("c3 partitions-revoked partitions={all}")],
    );
}

#[test]
fn what_was_not_committed_is_read_again() {
    let mut scene = scene();
    send(&mut scene, &["v0", "v1"]);
    let c1 = start(&mut scene, "c1");
    scene.pass(Span::secs(4), &[]);
    scene.request(c1, ConsumerRequest::Commit);
    check(&mut scene, 1, &["c1 commit-done group=g"]);
    send(&mut scene, &["v2"]);
    check(&mut scene, 1, &["c1 record-read partition=t-0 offset=2 key=- value=v2"]);
    scene.intervene(|hand| hand.kill(c1));
    start(&mut scene, "c2");
    let all = "t-0,t-1,t-2";
    check(
        &mut scene,
        9,
        &[
            &format!("c2 partitions-assigned partitions={all} now={all}"),
            "c2 record-read partition=t-0 offset=2 key=- value=v2",
        ],
    );
}

#[test]
fn an_automatic_commit_comes_before_the_end() {
    let mut scene = scene();
    let c1 = start_with(&mut scene, "c1", |settings| settings.enable_auto_commit = true);
    scene.pass(Span::secs(4), &[]);
    send(&mut scene, &["v0"]);
    scene.pass(Span::secs(1), &[]);
    scene.request(c1, ConsumerRequest::Close);
    let told = scene.pass(Span::secs(1), &["offset-committed", "consumer-closed"]);
    let first = "broker1 offset-committed group=g partition=t-0 offset=1".to_string();
    assert!(told.contains(&first) && told.last() == Some(&"c1 consumer-closed group=g".into()));
}

#[test]
fn who_polls_too_late_has_lost_its_partitions() {
    let mut scene = scene();
    let short = |settings: &mut ConsumerSettings| settings.max_poll_interval = Span::secs(5);
    start_with(&mut scene, "c1", short);
    let c2 = start_with(&mut scene, "c2", short);
    scene.pass(Span::secs(8), &[]);
    scene.request(c2, ConsumerRequest::Stall);
    let all = "t-0,t-1,t-2";
    check(
        &mut scene,
        8,
        &[
            &format!("c1 partitions-assigned partitions={all} now={all}"),
            "c1 partitions-revoked partitions=t-0,t-1",
        ],
    );
    scene.request(c2, ConsumerRequest::Go);
    check(
        &mut scene,
        3,
        &[
            "c1 partitions-assigned partitions=t-0,t-1 now=t-0,t-1",
            &format!("c1 partitions-revoked partitions={all}"),
            "c2 partitions-assigned partitions=t-2 now=t-2",
            "c2 partitions-lost partitions=t-2",
        ],
    );
}

#[test]
fn a_static_member_comes_back_to_what_it_had() {
    let mut scene = scene();
    let fixed = |settings: &mut ConsumerSettings| {
        settings.group_instance_id = Some(format!("i-{}", settings.client_id).into());
    };
    start_with(&mut scene, "c1", fixed);
    let c2 = start_with(&mut scene, "c2", fixed);
    scene.pass(Span::secs(8), &[]);
    scene.intervene(|hand| hand.kill(c2));
    scene.intervene(|hand| hand.start(c2));
    check(&mut scene, 4, &["c2 partitions-assigned partitions=t-2 now=t-2"]);
}

#[test]
fn a_cooperative_member_gives_up_only_what_moves() {
    use crate::kafka::assignor::Assignor;
    let mut scene = scene();
    let sticky = |settings: &mut ConsumerSettings| {
        settings.partition_assignment_strategy = vec![Assignor::CooperativeSticky];
    };
    start_with(&mut scene, "c1", sticky);
    scene.pass(Span::secs(5), &[]);
    start_with(&mut scene, "c2", sticky);
    check(
        &mut scene,
        6,
        &[
            "c1 partitions-assigned partitions=- now=t-0,t-1",
            "c1 partitions-assigned partitions=- now=t-0,t-1",
            "c1 partitions-revoked partitions=t-2",
            "c2 partitions-assigned partitions=- now=-",
            "c2 partitions-assigned partitions=t-2 now=t-2",
        ],
    );
}

#[test]
fn a_group_without_common_assignor_refuses() {
    use crate::kafka::assignor::Assignor;
    let mut scene = scene();
    start(&mut scene, "c1");
    scene.pass(Span::secs(5), &[]);
    start_with(&mut scene, "c2", |settings| {
        settings.partition_assignment_strategy = vec![Assignor::RoundRobin];
        settings.on_error = super::words::OnError::End;
    });
    check(&mut scene, 5, &["c2 consumer-error error=InconsistentGroupProtocolException"]);
}

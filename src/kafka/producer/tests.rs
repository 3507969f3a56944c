//! Scenes between a producer and a broker of straw.

use super::Producer;
use super::words::{Act, ProducerRequest, ProducerSettings, Steady, ToSend};
use crate::kafka::message::Acks;
use crate::kafka::straw::{Scene, Somebody};
use crate::sim::{ProcessId, Span};

fn scene(change: impl FnOnce(&mut ProducerSettings)) -> (Scene, ProcessId) {
    let mut scene = Scene::new(&[("t", 2)]);
    let mut settings = ProducerSettings::new("p1", [ProcessId(0)]);
    change(&mut settings);
    let producer = scene.add("p1", Somebody::Producer(Producer::new(settings)));
    (scene, producer)
}

fn to_send(key: Option<&str>, value: &str) -> ProducerRequest {
    let (key, value) = (key.map(Into::into), Some(value.into()));
    ProducerRequest::Send(ToSend { topic: "t".into(), partition: None, key, value })
}

#[test]
fn a_key_decides_the_partition() {
    let (mut scene, producer) = scene(|_| {});
    scene.request(producer, to_send(Some("ab"), "v0"));
    scene.request(producer, to_send(Some(""), "v1"));
    let told = scene.pass(Span::secs(1), &["record-acked", "producer-ready"]);
    let expected = [
        "p1 producer-ready producer=0 epoch=0",
        "p1 record-acked partition=t-1 offset=0 key= value=v1",
        "p1 record-acked partition=t-0 offset=0 key=ab value=v0",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_run_without_keys_sticks_to_one_partition() {
    let (mut scene, producer) = scene(|_| {});
    (0..4).for_each(|n| scene.request(producer, to_send(None, &format!("v{n}"))));
    let told = scene.pass(Span::secs(1), &["record-acked"]);
    let first = told[0].split(' ').nth(2).expect("a partition");
    assert!(told.len() == 4 && told.iter().all(|line| line.contains(first)), "{told:?}");
}

#[test]
fn what_is_refused_is_sent_again_in_order() {
    let (mut scene, producer) = scene(|_| {});
    scene.refuse(2);
    for n in 0..3 {
        scene.request(producer, to_send(Some("ab"), &format!("v{n}")));
        scene.pass(Span::micros(1), &[]);
    }
    let told = scene.pass(Span::secs(2), &["record-acked", "send-again"]);
    assert!(told[0].ends_with("send-again partition=t-0 error=NOT_LEADER_OR_FOLLOWER"));
    let acked: Vec<&String> = told.iter().filter(|line| line.contains("acked")).collect();
    for (n, line) in acked.iter().enumerate() {
        assert!(line.contains(&format!("offset={n} key=ab value=v{n}")), "{told:?}");
    }
    assert_eq!(acked.len(), 3);
}

#[test]
fn without_acks_no_offset_is_known() {
    let (mut scene, producer) = scene(|settings| {
        settings.acks = Acks::None;
        settings.enable_idempotence = false;
    });
    scene.request(producer, to_send(Some("ab"), "v"));
    let told = scene.pass(Span::secs(1), &["record-acked"]);
    assert_eq!(told, ["p1 record-acked partition=t-0 offset=-1 key=ab value=v"]);
}

#[test]
fn a_topic_that_never_comes_fails_the_record() {
    let (mut scene, producer) = scene(|_| {});
    let record = ToSend { topic: "u".into(), partition: None, key: None, value: None };
    scene.request(producer, ProducerRequest::Send(record));
    let told = scene.pass(Span::secs(61), &["record-failed"]);
    assert_eq!(told, ["p1 record-failed topic=u value=- error=TimeoutException"]);
}

#[test]
fn a_steady_producer_goes_through_its_keys_and_closes_in_order() {
    let every = Span::ms(100);
    let steady = Steady { topic: "t".into(), every, keys: 2 };
    let (mut scene, producer) = scene(|settings| settings.steady = Some(steady));
    let told = scene.pass(Span::secs(1), &["record-sent"]);
    assert_eq!(told.len(), 10);
    assert!(told[2].ends_with("key=k0 value=v2"), "{}", told[2]);
    scene.request(producer, ProducerRequest::Pause);
    scene.request(producer, ProducerRequest::Close);
    let told = scene.pass(Span::secs(1), &["producer-closed"]);
    assert_eq!(told, ["p1 producer-closed acked=10 failed=0"]);
}

#[test]
fn after_a_numbered_batch_has_failed_the_numbers_begin_anew() {
    let (mut scene, producer) = scene(|settings| settings.delivery_timeout = Span::secs(2));
    scene.refuse(10_000);
    scene.request(producer, to_send(Some("ab"), "v0"));
    let told = scene.pass(Span::secs(4), &["record-failed", "producer-ready"]);
    let expected = [
        "p1 producer-ready producer=0 epoch=0",
        "p1 record-failed topic=t value=v0 error=TimeoutException",
    ];
    assert_eq!(told, expected);
    scene.request(producer, to_send(Some("ab"), "v1"));
    let told = scene.pass(Span::secs(1), &["producer-ready"]);
    assert_eq!(told, ["p1 producer-ready producer=0 epoch=0"]);
}

#[test]
fn a_transaction_out_of_order_is_the_applications_fault() {
    let facts = ["record-failed", "transaction-failed"];
    let transactional = |settings: &mut ProducerSettings| {
        settings.transactional_id = Some("t1".into());
    };
    let (mut scene, producer) = scene(transactional);
    scene.request(producer, to_send(Some("ab"), "v0"));
    scene.request(producer, ProducerRequest::Transact(Act::Commit));
    let expected = [
        "p1 record-failed topic=t value=v0 error=IllegalStateException",
        "p1 transaction-failed act=commit error=IllegalStateException",
    ];
    assert_eq!(scene.pass(Span::secs(1), &facts), expected);
    let (mut scene, producer) = self::scene(|_| {});
    scene.request(producer, ProducerRequest::Transact(Act::Begin));
    assert_eq!(
        scene.pass(Span::secs(1), &facts),
        ["p1 transaction-failed act=begin error=IllegalStateException"]
    );
}

//! The judges are judged: what must be refused is, and what may be so is not. The judge of client
//! histories has its tables here, and the explorer must find a fault that is put in its way.
//! *Invariant: every way in which a judge refuses has a case that it refuses.*

#![cfg(not(target_arch = "wasm32"))]

use std::sync::Arc;

use zootrope::lab::{Recording, link};
use zootrope::zk::acl::Acl;
use zootrope::zk::reply::{Answer, Error};
use zootrope::zk::request::{CreateKind, Op, mode};
use zootrope::zk::shell;
use zootrope::zk::stat::{Bytes, Millis, SessionId, Stat};
use zootrope::zk::txn::{CreateTxn, Txn, TxnBody};
use zootrope::zk::zxid::Zxid;

mod support;

use support::explore::explore;
use support::explore::setups::LYING_DISKS;
use support::history::{Answered, Call, Log, judge};

const A: SessionId = SessionId(0xa);
const B: SessionId = SessionId(0xb);

fn op(text: &str) -> Op {
    let words: Vec<Arc<str>> = text.split(' ').map(Arc::from).collect();
    shell::parse(&words).expect("it can be typed")
}

fn zxid((epoch, counter): (u32, u32)) -> Zxid {
    Zxid::new(epoch, counter)
}

/// A call that is asked and answered at these places.
fn call(
    session: SessionId,
    text: &str,
    (asked, at): (usize, usize),
    at_zxid: (u32, u32),
    result: Result<Answer, Error>,
) -> Call {
    let answer = Some(Answered { at, zxid: zxid(at_zxid), result });
    Call { client: format!("client {session}"), session, op: op(text), asked, answer }
}

/// A call whose answer is lost.
fn lost(session: SessionId, text: &str, asked: usize) -> Call {
    Call { client: format!("client {session}"), session, op: op(text), asked, answer: None }
}

fn path(path: &str) -> Result<Answer, Error> {
    Ok(Answer::Path(path.into()))
}

/// A `Stat` of a znode without children that was created and last set by these.
fn stat(created: (u32, u32), set: (u32, u32), version: i32, data_length: i32) -> Stat {
    let (czxid, mzxid) = (zxid(created), zxid(set));
    Stat { czxid, mzxid, pzxid: czxid, version, data_length, ..Stat::default() }
}

fn data(text: &str, stat: Stat) -> Result<Answer, Error> {
    Ok(Answer::Data { data: text.into(), stat })
}

fn log(txns: &[(u32, u32, SessionId, TxnBody)]) -> Log {
    let txn = |(epoch, counter, session, body): &(u32, u32, SessionId, TxnBody)| {
        let (zxid, session) = (Zxid::new(*epoch, *counter), *session);
        let txn = Txn { session, cxid: 0, zxid, time: Millis(0), body: body.clone() };
        (zxid, Arc::new(txn))
    };
    txns.iter().map(txn).collect()
}

fn made(path: &str, text: &str, flags: i32) -> TxnBody {
    TxnBody::Create(Arc::new(CreateTxn {
        kind: CreateKind::Create,
        path: path.into(),
        data: text.into(),
        acl: Acl::open(),
        ephemeral: flags & mode::EPHEMERAL != 0,
        parent_creations: 0,
        ttl: Millis(0),
    }))
}

fn set(path: &str, text: &str, version: i32) -> TxnBody {
    TxnBody::SetData { path: path.into(), data: Bytes::from(text), version }
}

fn check(calls: &[Call], log: &Log, expected: Result<(), &str>) {
    let verdict = judge(calls, log);
    match expected {
        Ok(()) => assert_eq!(verdict, Ok(())),
        Err(part) => {
            let told = verdict.expect_err("this cannot have come so");
            assert!(told.contains(part), "{told}");
        }
    }
}

/// `/d` is made as 1:1 and set as 1:2, each by one client after the other.
fn made_and_set() -> Log {
    log(&[(1, 1, A, made("/d", "x", 0)), (1, 2, B, set("/d", "yy", 1))])
}

fn create_d() -> Call {
    call(A, "create /d x", (0, 10), (1, 1), path("/d"))
}

fn set_d() -> Call {
    call(B, "set /d yy", (20, 30), (1, 2), Ok(Answer::Stat(stat((1, 1), (1, 2), 1, 2))))
}

#[test]
fn what_follows_from_the_log_may_be_so() {
    let old = call(A, "get /d", (40, 50), (1, 1), data("x", stat((1, 1), (1, 1), 0, 1)));
    let new = call(A, "get /d", (60, 70), (1, 2), data("yy", stat((1, 1), (1, 2), 1, 2)));
    let again = call(A, "create /d z", (80, 90), (1, 3), Err(Error::NodeExists));
    let mut log = made_and_set();
    let refused = (1, 3, A, TxnBody::Error(Error::NodeExists));
    log.extend(self::log(&[refused]));
    // A read may be stale; a session only goes forward.
    check(&[create_d(), set_d(), old, new, again], &log, Ok(()));
}

#[test]
fn what_was_lost_may_have_been_done_or_not() {
    let calls = [create_d(), lost(B, "set /d yy", 20)];
    check(&calls, &made_and_set(), Ok(()));
    check(&calls, &log(&[(1, 1, A, made("/d", "x", 0))]), Ok(()));
}

#[test]
fn an_answer_that_does_not_follow_is_refused() {
    let wrong = |text: &str, at: (u32, u32), result| {
        let read = call(A, text, (40, 50), at, result);
        check(&[create_d(), set_d(), read], &made_and_set(), Err("it should be"));
    };
    wrong("get /d", (1, 2), data("x", stat((1, 1), (1, 1), 0, 1)));
    wrong("get /d", (1, 2), data("yy", stat((1, 1), (1, 2), 2, 2)));
    wrong("get /d", (1, 1), Err(Error::NoNode));
    wrong("stat /e", (1, 2), Ok(Answer::Stat(stat((1, 1), (1, 1), 0, 1))));
    wrong(
        "ls /d",
        (1, 2),
        Ok(Answer::Children2 {
            children: Arc::from([Arc::from("c")]),
            stat: stat((1, 1), (1, 2), 1, 2),
        }),
    );
}

#[test]
fn a_write_that_was_answered_must_be_there() {
    let calls = [create_d(), set_d()];
    let forgotten = log(&[(1, 1, A, made("/d", "x", 0))]);
    check(&calls, &forgotten, Err("but no server has that"));
    let anothers = log(&[(1, 1, A, made("/d", "x", 0)), (1, 2, A, set("/d", "yy", 1))]);
    check(&calls, &anothers, Err("which was another's setData"));
}

#[test]
fn a_write_is_after_those_that_were_answered_before_it_was_asked() {
    let late = call(B, "create /e x", (20, 30), (1, 1), path("/e"));
    let early = call(A, "create /d x", (0, 10), (1, 2), path("/d"));
    let log = log(&[(1, 1, B, made("/e", "x", 0)), (1, 2, A, made("/d", "x", 0))]);
    check(&[early.clone(), late], &log, Err("was answered before it was asked"));
    // Had both been asked at once, either order would do; and so if one was not answered.
    let at_once = call(B, "create /e x", (5, 30), (1, 1), path("/e"));
    check(&[early.clone(), at_once], &log, Ok(()));
    check(&[early, lost(B, "create /e x", 20)], &log, Err("before it was asked"));
}

#[test]
fn nothing_comes_from_nowhere_and_nothing_twice() {
    let calls = [create_d(), lost(B, "set /d yy", 20)];
    let twice = log(&[
        (1, 1, A, made("/d", "x", 0)),
        (1, 2, B, set("/d", "yy", 1)),
        (1, 3, B, set("/d", "yy", 2)),
    ]);
    check(&calls, &twice, Err("nobody asked for that, or it was done twice"));
    let other = log(&[(1, 1, A, made("/d", "x", 0)), (1, 2, B, set("/d", "zz", 1))]);
    check(&calls, &other, Err("nobody asked for that"));
}

#[test]
fn a_session_does_not_go_back() {
    let new = call(A, "get /d", (40, 50), (1, 2), data("yy", stat((1, 1), (1, 2), 1, 2)));
    let old = call(A, "get /d", (60, 70), (1, 1), data("x", stat((1, 1), (1, 1), 0, 1)));
    check(&[create_d(), set_d(), new, old], &made_and_set(), Err("the session went back"));
}

#[test]
fn a_sync_is_not_older_than_what_was_answered_before() {
    let sync = |zxid| call(A, "sync /d", (40, 50), zxid, path("/d"));
    check(&[create_d(), set_d(), sync((1, 2))], &made_and_set(), Ok(()));
    let stale = [create_d(), set_d(), sync((1, 1))];
    check(&stale, &made_and_set(), Err("0x100000002 was answered before it was asked"));
    // A leader of an earlier epoch cannot know of the later one.
    let later = log(&[(1, 1, A, made("/d", "x", 0)), (2, 1, B, set("/d", "yy", 1))]);
    let answer = Ok(Answer::Stat(stat((1, 1), (2, 1), 1, 2)));
    let set = call(B, "set /d yy", (20, 30), (2, 1), answer);
    check(&[create_d(), set, sync((1, 1))], &later, Ok(()));
}

#[test]
fn ephemerals_end_with_their_session() {
    let create = call(A, "create -e /d x", (0, 10), (1, 1), path("/d"));
    let ends = (1, 2, A, TxnBody::CloseSession { paths: Arc::from(["/d".into()]) });
    let log = log(&[(1, 1, A, made("/d", "x", mode::EPHEMERAL)), ends]);
    let gone = call(B, "get /d", (20, 30), (1, 2), Err(Error::NoNode));
    check(&[create.clone(), gone], &log, Ok(()));
    let owner = Stat { ephemeral_owner: A, ..stat((1, 1), (1, 1), 0, 1) };
    let there = call(B, "get /d", (20, 30), (1, 2), data("x", owner));
    check(&[create, there], &log, Err("it should be NoNode"));
}

#[test]
fn an_end_that_nobody_has_heard_of_may_leave_its_parent_full() {
    let parent = call(B, "create /d x", (0, 5), (1, 1), path("/d"));
    let child = call(A, "create -e /d/c x", (6, 10), (1, 2), path("/d/c"));
    let log = |last: TxnBody| {
        log(&[
            (1, 1, B, made("/d", "x", 0)),
            (1, 2, A, made("/d/c", "x", mode::EPHEMERAL)),
            (1, 3, A, TxnBody::CloseSession { paths: Arc::from(["/d/c".into()]) }),
            (1, 4, B, made("/e", "x", 0)),
            (1, 5, B, last),
        ])
    };
    let refused = log(TxnBody::Error(Error::NotEmpty));
    let done = log(TxnBody::Delete { path: "/d".into() });
    let other = |at| call(B, "create /e x", (11, at), (1, 4), path("/e"));
    let delete = |asked| call(B, "delete /d", (asked, 30), (1, 5), Err(Error::NotEmpty));
    let calls = |at, asked| [parent.clone(), child.clone(), other(at), delete(asked)];
    check(&calls(25, 20), &refused, Ok(()));
    // The answer to what came after the end was there first.
    check(&calls(15, 20), &refused, Err("it should be ok"));
    check(&calls(25, 20), &done, Err("but delete was done"));
}

#[test]
fn a_disk_that_loses_what_it_has_written_is_found_out() {
    let explored = explore(&LYING_DISKS);
    let broken = explored.broken.expect("a txn that was acknowledged is lost");
    // It is seen already when it acknowledges what its disk has not.
    assert_eq!(broken.breach.law, "acks-are-on-disk");
    let moves = broken.path.lines().filter(|line| !line.starts_with(' '));
    assert_eq!(moves.count(), explored.depth as usize + 1, "{}", broken.path);
    assert!(broken.path.contains("kill zk"), "{}", broken.path);
}

#[test]
fn a_failing_run_comes_as_a_link_too() {
    let text = "setup seed=7 zookeeper=3 brokers=0\nat 3.000 kill zk1\n";
    let recording = Recording::parse(text).expect("it is written rightly");
    let made = support::swarm::link(&recording);
    let packed = link::packed(&made).expect("it is a link");
    let mut unpacked = String::new();
    let mut unpacker = flate2::read::DeflateDecoder::new(&packed[..]);
    std::io::Read::read_to_string(&mut unpacker, &mut unpacked).expect("it was packed");
    assert_eq!(unpacked, recording.to_string());
}

//! Scenes that are measured, natively and in a browser: what is asked, by whom and when.
//!
//! *Invariant: a scene is one text for ever, so that its figures can be compared.*

use std::fmt::Write;

use zootrope::lab::Lab;
use zootrope::sim::{SimTime, Span};

/// How many clients write at once, and how often each.
const WRITERS: u32 = 50;
const WRITES: u32 = 200;
/// How many sessions there are in the crowd, and how many znodes each makes.
const SESSIONS: u32 = 500;
const ZNODES: u32 = 20;
/// How many topics there are among many brokers, and how many partitions each has.
const TOPICS: u32 = 20;
const EACH: u32 = 100;

/// Three servers, and clients that set a znode each, every 10 ms.
pub fn writes() -> String {
    let mut text = "setup seed=1 zookeeper=3 brokers=0\n".to_owned();
    let mut line = |at_ms: u32, what: String| {
        let (seconds, ms) = (at_ms / 1000, at_ms % 1000);
        writeln!(text, "at {seconds}.{ms:03} {what}").expect("a string takes everything");
    };
    (0..WRITERS).for_each(|n| line(3000, format!("add client c{n}")));
    (0..WRITERS).for_each(|n| line(5000, format!("ask c{n} create /n{n}")));
    for round in 0..WRITES {
        (0..WRITERS).for_each(|n| line(6000 + round * 10, format!("ask c{n} set /n{n} v{round}")));
    }
    text
}

/// 500 sessions, 10,000 znodes below one of each, then a little work and many pings.
pub fn crowd() -> String {
    let mut text = "setup seed=1 zookeeper=3 brokers=0\n".to_owned();
    let mut line = |at_ms: u32, what: String| {
        let (seconds, ms) = (at_ms / 1000, at_ms % 1000);
        writeln!(text, "at {seconds}.{ms:03} {what}").expect("a string takes everything");
    };
    (0..SESSIONS).for_each(|n| line(3000 + n, format!("add client c{n}")));
    (0..SESSIONS).for_each(|n| line(6000 + n, format!("ask c{n} create /c{n}")));
    for round in 0..ZNODES {
        let at = |n: u32| 7000 + round * 500 + n;
        (0..SESSIONS).for_each(|n| line(at(n), format!("ask c{n} create /c{n}/n{round} x")));
    }
    for round in 0..20 {
        let at = |n: u32| 20_000 + round * 1000 + n;
        (0..SESSIONS).step_by(10).for_each(|n| line(at(n), format!("ask c{n} set /c{n} v{round}")));
    }
    text
}

/// 100 brokers, 20 topics of 100 partitions, and six groups of ten consumers that read what five
/// producers send; then nobody is disturbed until the scene is over.
pub fn many() -> String {
    let mut text = "setup seed=1 zookeeper=5 brokers=100\n".to_owned();
    let mut line = |at: u32, what: String| {
        writeln!(text, "at {at}.000 {what}").expect("a string takes everything");
    };
    (0..TOPICS).for_each(|n| line(10, format!("topic t{n} partitions={EACH} replicas=3")));
    (0..5).for_each(|n| line(20, format!("add producer p{n} topic=t{n} every=50ms keys=1000")));
    for n in 0..60 {
        let topics: Vec<String> = (n % 6 * 3..n % 6 * 3 + 5).map(|n| format!("t{n}")).collect();
        line(20, format!("add consumer c{n} group=g{} topics={}", n % 6, topics.join(",")));
    }
    text
}

/// Plays until everything that the scene asks for is done.
pub fn play_whole(lab: &mut Lab) {
    let end = SimTime::ZERO + Span::secs(45);
    while lab.moment().at < end {
        let next = lab.moment().at + Span::secs(1);
        lab.advance_to(next);
    }
}

/// How many txns the servers have committed.
pub fn committed(lab: &Lab) -> u32 {
    let databases =
        lab.cluster().processes().filter_map(|(_, _, process)| process.zk()?.database());
    databases.map(|database| database.last_zxid.counter()).max().unwrap_or_default()
}

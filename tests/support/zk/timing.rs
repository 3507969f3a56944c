//! Plays the recorded delays of expiry: how long after its timeout a silent session is closed.
//! *Invariant: never early, and within one tick (and what it takes to write the txn).*

use serde_json::Value;
use zootrope::sim::Span;
use zootrope::zk::database::Disk;
use zootrope::zk::request::{Connect, Password};
use zootrope::zk::settings::Settings;
use zootrope::zk::stat::{Millis, SessionId};
use zootrope::zk::words::Message;
use zootrope::zk::zxid::Zxid;

use super::super::{Played, Tally};
use super::bench::{Bench, Heard, Request};

/// What the disk and the link add.
const SLACK_MS: u64 = 2;

/// Plays one file; each tick time is a case.
pub fn play(recorded: &Value) -> Played {
    let Some(entries) = recorded.get("expiry").and_then(Value::as_array) else {
        return Played::Unreadable("no expiry".into());
    };
    let mut tally = Tally::default();
    for entry in entries {
        tally.case(expiry(entry));
    }
    Played::Counted(tally)
}

fn expiry(entry: &Value) -> Result<(), String> {
    let tick = entry.get("tick_ms").and_then(Value::as_u64).ok_or("no tick_ms")?;
    let sessions = entry.get("sessions").and_then(Value::as_array).ok_or("no sessions")?;
    for session in sessions {
        let timeout = session.get("timeout_ms").and_then(Value::as_u64).ok_or("no timeout_ms")?;
        let samples = session.get("samples").and_then(Value::as_u64).ok_or("no samples")?;
        for sample in 0..samples {
            let over = over(tick, timeout, sample * tick / samples);
            if over.is_none_or(|over| over > tick + SLACK_MS) {
                return Err(format!("tick {tick}, timeout {timeout}: {over:?} ms over"));
            }
        }
    }
    Ok(())
}

/// By how many ms a session that connects at `offset` outlives its timeout; none if it does not.
fn over(tick: u64, timeout: u64, offset: u64) -> Option<u64> {
    let settings = Settings { tick_time: Span::ms(tick), ..Settings::default() };
    let mut bench = Bench::new(settings, Disk::default());
    bench.run(Span::ms(offset));
    let socket = bench.socket();
    let connect = Connect {
        last_zxid: Zxid::ZERO,
        timeout: Millis(timeout.cast_signed()),
        session: SessionId::NONE,
        password: Password::default(),
        can_be_read_only: false,
    };
    bench.request(socket, Request::Send(vec![Message::Connect(connect)]));
    let started = bench.now();
    bench.run_until(Span::ms(5), |server| server.disk().log.len() == 1);
    bench.settle();
    assert!(matches!(bench.heard(socket), [Heard::Message(_)]), "the client was answered");
    bench.request(socket, Request::Quiet);
    let limit = Span::ms(timeout + 3 * tick);
    let closed = bench.run_until(limit, |server| {
        server.database().is_some_and(|database| database.sessions.is_empty())
    });
    let lived = bench.now().since(started).as_ms();
    (closed && lived >= timeout).then(|| lived - timeout)
}

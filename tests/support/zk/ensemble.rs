//! Plays the recorded scenarios of three voters and an observer: servers come and go, clients move.
//! *Invariant: a step is compared once everybody has caught up with it, as it was recorded.*

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use zootrope::sim::{Power, ProcessId, Span};
use zootrope::zk::ensemble::{Address, Ensemble, ServerId, Suffrage};
use zootrope::zk::settings::{Settings, Switch, Whitelist};
use zootrope::zk::vote::Standing;
use zootrope::zk::zxid::Zxid;

use super::super::{Played, Tally};
use super::bench::{Bench, Fate};
use super::case::{self, Outcome};
use super::notation;

/// Longer than any election or expiry takes.
const PATIENCE: Span = Span::secs(120);
const GLANCE: Span = Span::ms(20);
const SERVERS: std::ops::RangeInclusive<u8> = 1..=4;
const OBSERVER: u8 = 4;

/// Plays every scenario of the file.
pub fn play(recorded: &Value) -> Played {
    let Some(scenarios) = recorded.get("scenarios").and_then(Value::as_array) else {
        return Played::Unreadable("no scenarios".into());
    };
    let mut tally = Tally::default();
    for scenario in scenarios {
        let name = scenario.get("name").and_then(Value::as_str).unwrap_or("?");
        tally.case(play_scenario(scenario).map_err(|told| format!("{name}: {told}")));
    }
    Played::Counted(tally)
}

fn play_scenario(scenario: &Value) -> Result<(), String> {
    let lenient = scenario.get("note").and_then(Value::as_str).is_some_and(|n| n.contains("epoch"));
    let mut play = Play { case: case::Play::on(bench()), seen: BTreeMap::new(), epochs: None };
    play.epochs = lenient.then(BTreeMap::new);
    let steps = scenario.get("steps").and_then(Value::as_array).ok_or("no steps")?;
    for (place, step) in steps.iter().enumerate() {
        play.step(step).map_err(|told| format!("step {place}, {}: {told}", brief(step)))?;
    }
    Ok(())
}

/// The ensemble, none of which runs yet.
pub(super) fn bench() -> Bench {
    let server = |id: u8| {
        let suffrage = if id == OBSERVER { Suffrage::Observer } else { Suffrage::Voter };
        (Address { id: ServerId(id), process: ProcessId(u16::from(id) - 1) }, suffrage)
    };
    let settings = Settings {
        tick_time: Span::ms(200),
        init_limit: 30,
        sync_limit: 8,
        ttl_znodes: Switch::On,
        whitelist: Whitelist::parse("*"),
        ..Settings::default()
    };
    Bench::of_ensemble(&Ensemble::new(SERVERS.map(server)), settings)
}

fn brief(step: &Value) -> String {
    let mut text = step.to_string();
    text.truncate(text.char_indices().nth(160).map_or(text.len(), |(at, _)| at));
    text
}

struct Play {
    case: case::Play,
    /// The last zxid that each client has seen.
    seen: BTreeMap<String, i64>,
    /// Recorded epochs and the ones that stand for them here, where a note allows that.
    epochs: Option<BTreeMap<u32, u32>>,
}

impl Play {
    fn step(&mut self, step: &Value) -> Result<(), String> {
        let action = step.get("action").and_then(Value::as_str).ok_or("no action")?;
        if let Some(server) = step.get("server").and_then(Value::as_u64) {
            self.case.bench.turn_to(ServerId(server as u8));
        }
        let fate = match action {
            "start" => Fate::Start,
            "kill" => Fate::Kill,
            "shutdown" => Fate::Stop,
            "pause" => Fate::Pause,
            "resume" => Fate::Resume,
            "observe" => return self.observe(step),
            "client" => return self.client(step),
            "wait_until_gone" => return self.wait_until_gone(step),
            "wait" => {
                let ms = step.get("ms").and_then(Value::as_u64).ok_or("no ms")?;
                self.case.bench.run(Span::ms(ms));
                return Ok(());
            }
            "note" => return Ok(()),
            _ => return Err(format!("no action {action}")),
        };
        self.case.bench.befall(fate);
        Ok(())
    }

    /// Waits until the servers are what they were seen to be.
    fn observe(&mut self, step: &Value) -> Result<(), String> {
        let states = step.get("states").ok_or("no states")?;
        let mut waited = Span::ZERO;
        while self.states() != *states {
            if waited > PATIENCE {
                return Err(format!("expected {states}, came {}", self.states()));
            }
            self.case.bench.run(GLANCE);
            waited = waited + GLANCE;
        }
        self.case.bench.run(GLANCE);
        let (expected, came) = (step.get("zxid").unwrap_or(&Value::Null), self.leaders_zxid());
        self.learn_epoch(expected, &came);
        let expected = self.translate(expected);
        match expected == came {
            true => Ok(()),
            false => Err(format!("zxid: expected {expected}, came {came}")),
        }
    }

    fn states(&mut self) -> Value {
        let mut states = Map::new();
        for id in SERVERS {
            self.case.bench.turn_to(ServerId(id));
            let state = match self.case.bench.power() {
                Power::Off => continue,
                Power::Frozen => "paused",
                Power::Running => self.state(),
            };
            states.insert(id.to_string(), json!(state));
        }
        Value::Object(states)
    }

    fn state(&self) -> &'static str {
        let peer = self.case.bench.server().peer().expect("a server that runs has a role");
        match (peer.epoch(), peer.standing()) {
            (None, _) | (_, Standing::Looking) => "looking",
            (_, Standing::Leading) => "leader",
            (_, Standing::Following) => "follower",
            (_, Standing::Observing) => "observer",
        }
    }

    fn leaders_zxid(&mut self) -> Value {
        for id in SERVERS {
            self.case.bench.turn_to(ServerId(id));
            if self.case.bench.power() == Power::Running && self.state() == "leader" {
                return json!(self.case.bench.database().last_zxid.0);
            }
        }
        Value::Null
    }

    /// Where a note allows other epochs, they must grow all the same.
    fn learn_epoch(&mut self, recorded: &Value, came: &Value) {
        let Some(epochs) = &mut self.epochs else { return };
        let (Some(recorded), Some(came)) = (zxid(recorded), came.as_i64().map(Zxid)) else {
            return;
        };
        let grows = epochs.last_key_value().is_none_or(|(_, last)| *last < came.epoch());
        if grows && !epochs.contains_key(&recorded.epoch()) {
            epochs.insert(recorded.epoch(), came.epoch());
        }
    }

    /// Recorded zxids (`epoch:counter`) as numbers.
    fn translate(&self, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                map.iter().map(|(key, value)| (key.clone(), self.translate(value))).collect()
            }
            Value::Array(list) => list.iter().map(|value| self.translate(value)).collect(),
            other => zxid(other).map_or_else(
                || other.clone(),
                |zxid| {
                    let known = self.epochs.as_ref().and_then(|all| all.get(&zxid.epoch()));
                    let epoch = known.copied().unwrap_or(zxid.epoch());
                    json!(Zxid::new(epoch, zxid.counter()).0)
                },
            ),
        }
    }

    fn client(&mut self, step: &Value) -> Result<(), String> {
        let label = step.get("client").and_then(Value::as_str).ok_or("no client")?;
        let op = step.get("op").and_then(Value::as_str).ok_or("no op")?;
        if op == "connection_lost" {
            return self.connection_lost(label);
        }
        let args = self.args(step, label, op);
        let outcome = match self.case.client_step(label, op, &args) {
            Err(told) if told == "no answer" => Outcome::from([("err", json!("no reply"))]),
            outcome => outcome?,
        };
        if let Some(zxid) = outcome.get("zxid").and_then(Value::as_i64)
            && !matches!(op, "connect" | "reconnect")
        {
            self.seen.insert(label.to_owned(), zxid);
        }
        self.compare(step, Some(label), outcome)
    }

    /// What a client says, with what it knows by itself.
    fn args(&self, step: &Value, label: &str, op: &str) -> Value {
        let mut args = step.get("args").cloned().unwrap_or(json!({}));
        if op == "reconnect" {
            let other = step.get("session").and_then(Value::as_str).unwrap_or(label);
            args["session"] = json!(other);
            args["last_zxid"] = json!(self.seen.get(other).copied().unwrap_or(0));
            if args.get("timeout").is_none() {
                args["timeout"] = step["reply"].get("timeout").cloned().unwrap_or(json!(4000));
            }
        }
        args
    }

    fn connection_lost(&mut self, label: &str) -> Result<(), String> {
        let client = self.case.clients.get(label).ok_or("no such client")?;
        let socket = client.socket.ok_or("the client has no connection")?;
        let mut waited = Span::ZERO;
        while self.case.bench.is_open(socket) {
            if waited > PATIENCE {
                return Err("the connection stays".into());
            }
            self.case.bench.run(GLANCE);
            waited = waited + GLANCE;
        }
        let _ = self.case.unseen(label);
        self.case.clients.get_mut(label).expect("it was there").socket = None;
        Ok(())
    }

    fn wait_until_gone(&mut self, step: &Value) -> Result<(), String> {
        let path = step.get("path").and_then(Value::as_str).ok_or("no path")?;
        let gone = |server: &zootrope::zk::server::Server| {
            server.database().is_some_and(|all| all.tree.znode(path).is_none())
        };
        let mut serving = SERVERS.filter(|id| {
            self.case.bench.turn_to(ServerId(*id));
            self.case.bench.power() == Power::Running && self.state() == "leader"
        });
        let leader = serving.next().ok_or("nobody leads")?;
        drop(serving);
        self.case.bench.turn_to(ServerId(leader));
        if !self.case.bench.run_until(PATIENCE, gone) {
            return Err("it stays".into());
        }
        self.case.bench.settle();
        self.compare(step, None, Outcome::new())
    }

    /// Compares what was recorded of a step, and all that clients were told meanwhile.
    fn compare(
        &mut self,
        step: &Value,
        label: Option<&str>,
        mut outcome: Outcome,
    ) -> Result<(), String> {
        let mut others = self.case.others(label);
        for heard in others.values_mut() {
            heard.retain(|event| *event != json!(["ConnectionClosed"]));
        }
        case::add_events(&mut outcome, others);
        for field in ["err", "zxid", "reply", "events_before_reply", "events"] {
            let always = field.starts_with("events");
            if step.get(field).is_none() && !always {
                continue;
            }
            let expected = step.get(field).map(notation::spelled_out);
            let expected = expected.map(|value| self.translate(&value)).filter(case::is_something);
            let came = outcome.remove(field).filter(case::is_something);
            if expected != came {
                return Err(case::differs(field, &expected, &came));
            }
        }
        Ok(())
    }
}

fn zxid(value: &Value) -> Option<Zxid> {
    let (epoch, counter) = value.as_str()?.split_once(':')?;
    Some(Zxid::new(epoch.parse().ok()?, counter.parse().ok()?))
}

//! Plays the recorded four-letter words: of a standalone server after some steps, and of the
//! servers of an ensemble.
//! *Invariant: every answer is compared to the letter, up to its masks.*

use serde_json::{Value, json};
use zootrope::sim::Span;
use zootrope::zk::database::Disk;
use zootrope::zk::ensemble::ServerId;
use zootrope::zk::four_letter;
use zootrope::zk::settings::{Settings, Whitelist};

use super::super::{Played, Tally};
use super::bench::{Bench, Fate};
use super::case::Play;
use super::{ensemble, mask};

/// Longer than an election takes.
const PATIENCE: u32 = 500;
const GLANCE: Span = Span::ms(20);
/// The znodes that there are from the start, as servers count them.
const SYSTEM_ZNODES: u64 = 5;

/// Plays the file: each word of each server is a case.
pub fn play(recorded: &Value) -> Played {
    let Some(words) = recorded.get("words").and_then(Value::as_array) else {
        return Played::Unreadable("no words".into());
    };
    let mut tally = Tally::default();
    match standalone(recorded) {
        Ok(play) => words.iter().for_each(|word| tally.case(compare(&play, word))),
        Err(told) => tally.case(Err(told)),
    }
    for group in recorded.get("ensemble").and_then(Value::as_array).into_iter().flatten() {
        match Group::read(group).and_then(|group| Ok((group.play()?, group))) {
            Ok((mut play, group)) => {
                for answer in group.answers {
                    play.bench.turn_to(server_of(answer));
                    tally.case(compare(&play, answer));
                }
            }
            Err(told) => tally.case(Err(told)),
        }
    }
    Played::Counted(tally)
}

fn standalone(recorded: &Value) -> Result<Play, String> {
    let settings = Settings { whitelist: Whitelist::parse("*"), ..Settings::default() };
    let mut play = Play::on(Bench::new(settings, Disk::default()));
    let steps = recorded.get("setup").and_then(Value::as_array).ok_or("no setup")?;
    for (place, step) in steps.iter().enumerate() {
        play.step(step).map_err(|told| format!("setup {place}: {told}"))?;
    }
    Ok(play)
}

fn compare(play: &Play, recorded: &Value) -> Result<(), String> {
    let text = |name: &str| recorded.get(name).and_then(Value::as_str).unwrap_or_default();
    let (word, mut expected) = (text("word"), text("output").to_owned());
    for (label, client) in &play.clients {
        expected = expected.replace(&format!("<SESSION {label}>"), &client.session.to_string());
    }
    let came = four_letter::answer(play.bench.server(), word, play.bench.now());
    let came = as_recorded(word, came.ok_or("the server does not run")?);
    match mask::matches(&expected, &came) {
        true => Ok(()),
        false => Err(format!("{word}: expected\n{expected}\ncame\n{came}")),
    }
}

/// The recorder has left out rows of `mntr`, and put in order what has none: lines of `cons`, and
/// the paths and sessions of `wchc` and `wchp`, without the empty line behind them.
fn as_recorded(word: &str, came: String) -> String {
    match word {
        "mntr" => {
            let rows: Vec<&str> = came.lines().filter(|row| row.starts_with("zk_")).collect();
            rows.join("\n")
        }
        "cons" => {
            let mut lines: Vec<&str> = came.lines().collect();
            lines.sort_unstable();
            lines.join("\n")
        }
        "wchc" | "wchp" => came.strip_suffix('\n').unwrap_or(&came).to_owned(),
        _ => came,
    }
}

fn server_of(answer: &Value) -> ServerId {
    ServerId(answer.get("server").and_then(Value::as_u64).unwrap_or(1) as u8)
}

/// What was recorded of one ensemble. How it came about is not, but can be read off the answers.
struct Group<'a> {
    answers: &'a [Value],
    leader: Option<ServerId>,
}

impl<'a> Group<'a> {
    fn read(group: &'a Value) -> Result<Group<'a>, String> {
        let answers = group.get("answers").and_then(Value::as_array).ok_or("no answers")?;
        let output = |answer: &Value| answer["output"].as_str().unwrap_or_default().to_owned();
        let leads = |answer: &&Value| output(answer).contains("Mode: leader");
        Ok(Group { answers, leader: answers.iter().find(leads).map(server_of) })
    }

    /// An ensemble that is as the answers say.
    fn play(&self) -> Result<Play, String> {
        let mut play = Play::on(ensemble::bench());
        let mut servers: Vec<ServerId> = self.answers.iter().map(server_of).collect();
        servers.dedup();
        let Some(leader) = self.leader else {
            start(&mut play.bench, &servers);
            play.bench.run(Span::secs(1));
            return Ok(play);
        };
        // Of servers whose histories are empty the largest leads, unless it comes too late.
        let (early, late): (Vec<_>, Vec<_>) = servers.into_iter().partition(|id| *id <= leader);
        for servers in [early, late] {
            start(&mut play.bench, &servers);
            wait_until_serving(&mut play.bench, &servers)?;
        }
        self.work(&mut play)?;
        Ok(play)
    }

    /// Sessions and znodes, as many as were counted. What is missing in bytes is in the last one.
    fn work(&self, play: &mut Play) -> Result<(), String> {
        let mut labels = Vec::new();
        for number in 0..self.row("zk_global_sessions")? {
            let label = format!("client{number}");
            play.client_step(&label, "connect", &json!({"timeout": 4000}))?;
            labels.push(label);
        }
        let (all, ephemerals) = (self.row("zk_znode_count")?, self.row("zk_ephemerals_count")?);
        for number in 0..all - SYSTEM_ZNODES {
            let mode = if number < ephemerals { "ephemeral" } else { "persistent" };
            let path = format!("/{number}");
            let mut args = json!({"path": path, "mode": mode, "data": ""});
            if number + 1 == all - SYSTEM_ZNODES {
                let missing = self.row(DATA_SIZE)?.saturating_sub(data_size(play)?);
                let len = missing.saturating_sub(path.len() as u64);
                args["data"] = json!({"fill": "x", "len": len});
            }
            let label = labels.first().ok_or("znodes without sessions")?;
            play.client_step(label, "create", &args)?;
        }
        Ok(())
    }

    /// A number that `mntr` gave.
    fn row(&self, name: &str) -> Result<u64, String> {
        let mntr = self.answers.iter().find(|answer| answer["word"] == json!("mntr"));
        let text = mntr.and_then(|answer| answer["output"].as_str()).ok_or("no mntr")?;
        row(text, name)
    }
}

const DATA_SIZE: &str = "zk_approximate_data_size";

fn row(mntr: &str, name: &str) -> Result<u64, String> {
    let rows = mntr.lines().filter_map(|line| line.split_once('\t'));
    let found = rows.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse().ok());
    found.ok_or_else(|| format!("no {name}"))
}

fn data_size(play: &Play) -> Result<u64, String> {
    let mntr = four_letter::answer(play.bench.server(), "mntr", play.bench.now());
    row(&mntr.ok_or("the server does not run")?, DATA_SIZE)
}

fn start(bench: &mut Bench, servers: &[ServerId]) {
    for server in servers {
        bench.turn_to(*server);
        bench.befall(Fate::Start);
    }
}

fn wait_until_serving(bench: &mut Bench, servers: &[ServerId]) -> Result<(), String> {
    for server in servers {
        bench.turn_to(*server);
        let mut left = PATIENCE;
        while bench.server().peer().is_none_or(|peer| peer.epoch().is_none()) {
            left = left.checked_sub(1).ok_or(format!("{server} does not serve"))?;
            bench.run(GLANCE);
        }
    }
    Ok(())
}

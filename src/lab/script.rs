//! Scripts: blocks of commands, `----`, and everything that they caused, in notation.
//!
//! ```text
//! # The cable dies between leader and follower.
//! cut broker1 broker3
//! run until isr-shrunk
//! ----
//! 10.214 broker1  isr-shrunk partition=orders-0 isr=1,2
//! ```
//!
//! A recording is a script that needs only `setup`, `at`, `until` and `take`.
//! *Invariant:* a script that is played and written again is the same script.

use super::show::{self, Show};
use super::{Lab, Recording, Turn};
use crate::cluster::notation::Line;
use crate::cluster::{Command, Record, Setup, Trouble};
use crate::sim::{Moment, Span, Telling, What};

/// What is told between `----` and the next blank line when nobody wants to read it.
const ANYTHING: &str = "...";
/// How long `run until` waits unless told otherwise.
const PATIENCE: Span = Span::secs(300);

/// One line that does something.
#[derive(Clone, Debug)]
pub enum Step {
    /// Begins the run.
    Setup(Setup),
    /// Does something now.
    Do(Command),
    /// Goes to a moment and does something there.
    At(Moment, Command),
    /// Goes to a moment.
    Until(Moment),
    /// Goes to another take.
    Take(Turn),
    /// Lets time pass.
    Run(Span),
    /// Lets time pass until something is told.
    RunUntil(Condition),
    /// Shows something of the cluster.
    Show(Show),
    /// Tells messages, too, or does not.
    Messages(Wire),
    /// Says which facts are told from now on.
    Facts(Vec<String>),
}

/// Whether messages are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// They are.
    On,
    /// Only facts are.
    Off,
}

/// A fact that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    key: String,
    fields: Vec<(String, String)>,
    process: Option<String>,
    limit: Span,
}

/// The steps of the scripts' own, with how they are written; all else is a [`Command`].
pub const STEPS: &[(&str, &str)] = &[
    ("setup", Setup::USAGE),
    ("at", "at MOMENT COMMAND"),
    ("until", "until MOMENT"),
    ("take", Turn::USAGE),
    ("run", "run SPAN | run until FACT [FIELD=VALUE …] [on=PROCESS] [limit=SPAN]"),
    ("show", "show WHAT …"),
    ("messages", "messages on | messages off"),
    ("facts", "facts FACT … | facts all (a fact may end in *)"),
];

impl Step {
    /// Reads one line; none if it does nothing.
    pub fn parse(number: u32, text: &str) -> Result<Option<Step>, Trouble> {
        let mut line = Line::parse(number, text)?;
        if line.is_empty() {
            return Ok(None);
        }
        let verb = line.word("a command")?;
        let step = match verb.text.as_str() {
            "setup" => Step::Setup(Setup::parse(&mut line)?),
            "at" => {
                let moment = line.word("a moment like 10.214")?.moment()?;
                let verb = line.word("a command")?;
                Step::At(moment, Command::parse_after(&verb, &mut line)?)
            }
            "until" => Step::Until(line.word("a moment like 10.214")?.moment()?),
            "take" => Step::Take(Turn::parse(&mut line)?),
            "run" => run(&mut line)?,
            "show" => Step::Show(Show::parse(&mut line)?),
            "messages" => {
                let wire = line.word("on or off")?;
                Step::Messages(wire.choice(&[("on", Wire::On), ("off", Wire::Off)])?)
            }
            "facts" => facts(&mut line)?,
            _ => Step::Do(Command::parse_after(&verb, &mut line)?),
        };
        line.finish()?;
        Ok(Some(step))
    }
}

fn run(line: &mut Line) -> Result<Step, Trouble> {
    let word = line.word("a length of time, or until")?;
    if word.text != "until" {
        return Ok(Step::Run(word.span()?));
    }
    let key = line.word("a fact like isr-shrunk")?.text;
    let limit = line.value("limit").map_or(Ok(PATIENCE), |word| word.span())?;
    let process = line.value("on").map(|word| word.text);
    let mut fields = Vec::new();
    while let Some((name, word)) = line.pair() {
        fields.push((name, word.text));
    }
    Ok(Step::RunUntil(Condition { key, fields, process, limit }))
}

fn facts(line: &mut Line) -> Result<Step, Trouble> {
    let mut keys = vec![line.word("a fact, or all")?.text];
    while let Some(word) = line.word_if_any() {
        keys.push(word.text);
    }
    Ok(Step::Facts(keys))
}

impl Condition {
    /// Whether the record tells what is waited for.
    pub fn holds(&self, lab: &Lab, record: &Record<'_>) -> bool {
        let name = record.process.map(|process| lab.cluster().name(process).as_ref());
        if self.process.as_deref().is_some_and(|wanted| name != Some(wanted)) {
            return false;
        }
        record.facts().any(|fact| {
            let told = fact.fields();
            let has = |wanted: &(String, String)| {
                told.iter().any(|(name, value)| *name == wanted.0 && *value == wanted.1)
            };
            matches(&self.key, fact.key()) && self.fields.iter().all(has)
        })
    }
}

/// Whether a key is the pattern, or begins as a pattern that ends in `*` does.
fn matches(pattern: &str, key: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => key.starts_with(beginning),
        None => pattern == key || pattern == "all",
    }
}

/// What came of a script.
#[derive(Clone, Debug)]
pub struct Played {
    /// The script again, with what it told this time.
    pub transcript: String,
    /// The lab as the script left it.
    pub lab: Lab,
    /// When the first block after the set-up began of which somebody reads what it told.
    pub begins: Moment,
}

/// Plays a script from its first line to its last.
pub fn play(text: &str) -> Result<Played, Trouble> {
    let lines: Vec<&str> = text.lines().collect();
    let mut player = Player::new();
    let mut steps = Vec::new();
    let mut number = 0;
    while let Some(line) = lines.get(number) {
        player.transcript.push_str(line);
        player.transcript.push('\n');
        number += 1;
        if *line != "----" {
            steps.extend(Step::parse(number as u32, line)?.map(|step| (number as u32, step)));
            continue;
        }
        let expected: Vec<&str> =
            lines[number..].iter().copied().take_while(|line| !line.is_empty()).collect();
        number += expected.len();
        player.block(&mut steps, &expected)?;
    }
    player.block(&mut steps, &[ANYTHING]).map(|()| player.finish())
}

struct Player {
    lab: Option<Lab>,
    transcript: String,
    /// What the present block has told.
    told: Vec<String>,
    wire: Wire,
    keys: Vec<String>,
    /// How many records have been told.
    position: usize,
    begins: Option<Moment>,
}

impl Player {
    fn new() -> Player {
        Player {
            lab: None,
            transcript: String::new(),
            told: Vec::new(),
            wire: Wire::Off,
            keys: vec!["all".into()],
            position: 0,
            begins: None,
        }
    }

    /// Takes the steps of a block and writes what they told; [`ANYTHING`] stays as it is.
    fn block(&mut self, steps: &mut Vec<(u32, Step)>, expected: &[&str]) -> Result<(), Trouble> {
        if expected != [ANYTHING] && self.begins.is_none() {
            self.begins = self.lab.as_ref().map(Lab::moment);
        }
        for (number, step) in steps.drain(..) {
            self.step(number, step)?;
            self.tell();
        }
        let told = std::mem::take(&mut self.told);
        if expected == [ANYTHING] {
            let read = self.transcript.ends_with("----\n");
            self.transcript.push_str(if read { "...\n" } else { "" });
            return Ok(());
        }
        for line in told {
            self.transcript.push_str(line.trim_end());
            self.transcript.push('\n');
        }
        Ok(())
    }

    fn finish(self) -> Played {
        let lab = self.lab.unwrap_or_else(|| Lab::new(Recording::new(Setup::default())));
        let begins = self.begins.unwrap_or_default();
        Played { transcript: self.transcript, lab, begins }
    }

    fn lab(&mut self) -> &mut Lab {
        self.lab.get_or_insert_with(|| Lab::new(Recording::new(Setup::default())))
    }

    fn step(&mut self, number: u32, step: Step) -> Result<(), Trouble> {
        let trouble = |what: String, expected: &str| {
            let expected = expected.to_owned();
            Err(Trouble { line: number, column: 1, what, expected })
        };
        match step {
            Step::Setup(_) if self.lab.is_some() => {
                return trouble("the run has begun".into(), "setup as the first command");
            }
            Step::Setup(setup) => self.lab = Some(Lab::new(Recording::new(setup))),
            Step::Do(command) => self.issue(number, command)?,
            Step::At(moment, command) => {
                self.until(number, moment)?;
                self.issue(number, command)?;
            }
            Step::Until(moment) => self.until(number, moment)?,
            Step::Take(turn) if !turn.fits(self.lab().takes().len()) => {
                return trouble(turn.take.to_string(), Turn::EXPECTED);
            }
            Step::Take(turn) => self.turn(&turn),
            Step::Run(span) => {
                let at = self.lab().moment().at + span;
                self.lab().advance_to(at);
            }
            Step::RunUntil(condition) => {
                let holds = |lab: &Lab, index: usize| {
                    let record = lab.trace().get(index).expect("it has just happened");
                    condition.holds(lab, &record)
                };
                if self.lab().step_until(condition.limit, holds).is_none() {
                    let what = format!("never happened: {}", condition.key);
                    return trouble(what, &format!("it within {}", condition.limit));
                }
            }
            Step::Show(what) => {
                let lines = show::lines(&what, self.lab());
                self.told.extend(lines.map_err(|what| Trouble { line: number, ..what })?);
            }
            Step::Messages(wire) => self.wire = wire,
            Step::Facts(keys) => self.keys = keys,
        }
        Ok(())
    }

    fn issue(&mut self, number: u32, command: Command) -> Result<(), Trouble> {
        let done = self.lab().issue(command);
        done.map(|_| ()).map_err(|refusal| Trouble {
            line: number,
            column: 1,
            what: refusal.to_string(),
            expected: "a command that can be done now".to_owned(),
        })
    }

    fn until(&mut self, number: u32, moment: Moment) -> Result<(), Trouble> {
        if moment < self.lab().moment() {
            let what = "this moment is over".to_owned();
            let expected = "a later one".to_owned();
            return Err(Trouble { line: number, column: 1, what, expected });
        }
        self.lab().seek(moment);
        Ok(())
    }

    /// What is told from here on is of another take, or of one that there was, from its beginning.
    fn turn(&mut self, turn: &Turn) {
        let lab = self.lab();
        lab.turn(turn);
        match turn.from {
            Some(_) => {}
            None => lab.seek(Moment::default()),
        }
        self.position = self.lab().position();
    }

    /// Tells the records that have come.
    fn tell(&mut self) {
        let Some(lab) = &self.lab else { return };
        for index in self.position..lab.position() {
            let record = lab.trace().get(index).expect("it lies before the cursor");
            let name = record.process.map_or("", |process| lab.cluster().name(process));
            if self.wire == Wire::On
                && let What::Message(from) = record.what
            {
                let from = lab.cluster().name(from);
                self.told.push(format!("{} {name:<7}  <{from} {}", record.at, record.name));
            }
            for fact in record.facts() {
                if self.keys.iter().any(|pattern| matches(pattern, fact.key())) {
                    self.told.push(format!("{} {name:<7}  {fact}", record.at));
                }
            }
        }
        self.position = lab.position();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "# Two servers.
setup seed=7 zookeeper=2 brokers=0
run 5s
----
...

# One dies.
facts process-*
kill zk2
run 1s
----
5.000 zk2      process-killed process=zk2
";

    #[test]
    fn a_script_tells_what_its_commands_caused() {
        let played = play(SCRIPT).expect("it is right");
        assert_eq!(played.transcript, SCRIPT);
        let wrong = SCRIPT.replace("process-killed process=zk2", "something else");
        assert_eq!(play(&wrong).expect("it plays").transcript, SCRIPT);
        let recording = played.lab.recording().to_string();
        let again = play(&recording).expect("a recording is a script");
        assert_eq!(again.transcript, recording);
        assert_eq!(again.lab.cluster().hash(), played.lab.cluster().hash());
    }

    #[test]
    fn a_wrong_script_is_told_with_its_place() {
        let check = |text, expected: &str| {
            assert_eq!(play(text).expect_err("it is wrong").to_string(), expected);
        };
        check("run 5", "line 1, column 5: “5”; expected a length of time like 18s or 500ms");
        let text = "line 2, column 1: never happened: peace; expected it within 10s";
        check("\nrun until peace limit=10s", text);
        let text =
            "line 1, column 1: there is no process x; expected a command that can be done now";
        check("kill x", text);
        let text = "line 2, column 1: the run has begun; expected setup as the first command";
        check("run 1s\nsetup seed=1", text);
        check(
            "run 1s\nat 0.5 kill zk1",
            "line 2, column 1: this moment is over; expected a later one",
        );
    }

    /// Garbled scripts are refused or played, but never end in a panic.
    #[test]
    fn a_garbled_script_never_panics() {
        let words = [
            "kill",
            "zk1",
            "at",
            "5",
            "run",
            "until",
            "5s",
            "setup",
            "seed=9",
            "=",
            "\"",
            "\n",
            "----",
            "show",
            "heal",
            "all",
            "cut",
            "zk1>zk2",
            "facts",
            "limit=1s",
            "+",
            "#",
            "...",
            "brokers=0",
            "é",
            "fix",
            "process=zk1",
            "draw=x",
            "value=1",
            "message=3",
            "drop",
            "delay",
            "by=1s",
        ];
        for seed in 0..400u64 {
            let mut number = seed;
            let mut text = String::new();
            for _ in 0..12 {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(words[(number >> 33) as usize % words.len()]);
                text.push_str(if number >> 62 == 0 { "\n" } else { " " });
            }
            if let Err(trouble) = play(&text) {
                assert!(!trouble.expected.is_empty(), "{text}");
            }
        }
    }
}

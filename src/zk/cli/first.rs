//! The command line client as it was first (3.3, 3.4): no options but those of `create`, Stats
//! whether one wants them or not, and silence where words are missing.
//!
//! *Invariant: what is printed is what the real client prints, in its words.*

use std::collections::VecDeque;
use std::sync::Arc;

use super::Refusal;
use super::commands::{Start, invalid, nonempty, read_acl, uncaught};
use super::job::{Job, Manner, message, told_of};
use super::quota::Quota;
use crate::zk::acl::Acl;
use crate::zk::path::Path;
use crate::zk::quota::{self, Track};
use crate::zk::reply::Error;
use crate::zk::request::{Create, Op, mode};
use crate::zk::stat::Bytes;

/// All commands with their usage.
// Source: ZooKeeperMain.commandMap, in the order of a Java hash map.
const COMMANDS: [(&str, &str); 21] = [
    ("stat", "path [watch]"),
    ("set", "path data [version]"),
    ("ls", "path [watch]"),
    ("delquota", "[-n|-b] path"),
    ("ls2", "path [watch]"),
    ("setAcl", "path acl"),
    ("setquota", "-n|-b val path"),
    ("history", ""),
    ("redo", "cmdno"),
    ("printwatches", "on|off"),
    ("delete", "path [version]"),
    ("sync", "path"),
    ("listquota", "path"),
    ("rmr", "path"),
    ("get", "path [watch]"),
    ("create", "[-s] [-e] path data acl"),
    ("addauth", "scheme auth"),
    ("quit", ""),
    ("getAcl", "path"),
    ("close", ""),
    ("connect", "host:port"),
];

/// What is printed when nobody knows what was meant.
// Source: ZooKeeperMain.usage.
pub fn usage() -> String {
    let mut text = "ZooKeeper -server host:port cmd args\n".to_owned();
    for (name, usage) in COMMANDS {
        text += &["\t", name, " ", usage, "\n"].concat();
    }
    text
}

/// All commands, in the order of their names.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    crate::sim::sort::sort(&mut names);
    names
}

/// Is there such a command?
pub fn has(name: &str) -> bool {
    COMMANDS.iter().any(|(known, _)| *known == name)
}

/// The words of a line; quotes mean nothing.
// Source: ZooKeeperMain.MyCommandOptions.parseCommand (StringTokenizer).
pub fn split(line: &str) -> Vec<String> {
    line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// What the words come to; nothing, if there are too few. `said` gets what is printed at once.
// Source: ZooKeeperMain.processZKCmd (3.4).
pub fn read(words: &[String], said: &mut String) -> Result<Start, Refusal> {
    let nothing = || Ok(Start::Print(String::new()));
    let word = |place: usize| words.get(place).map_or("", String::as_str);
    let (count, watch) = (words.len(), words.len() > 2);
    match (word(0), count) {
        ("close", _) => Ok(Start::Close),
        ("create", 3..) => create(words, said),
        ("set", 3..) => {
            let (data, version) = (Bytes::from(word(2)), version(words, 3)?);
            with_stat(Op::SetData { path: path(word(1))?, data, version })
        }
        ("setAcl", 3..) => {
            let acl = nonempty(read_acl(word(2), said))?;
            // Source: it looks for five words, and takes the fourth.
            let version = if count > 4 { version(words, 3)? } else { -1 };
            with_stat(Op::SetAcl { path: path(word(1))?, acl, version })
        }
        ("setquota", 4..) => set_quota(words, said),
        (_, 0 | 1) => nothing(),
        ("delete", _) => {
            let version = version(words, 2)?;
            once(Op::Delete { path: path(word(1))?, version })
        }
        ("rmr", _) => {
            let path = path(word(1))?;
            let list = Op::GetChildren2 { path: path.clone(), watch: false };
            Ok(Start::Job(Job::new([list], Manner::DeleteAll { batch: None, found: vec![path] })))
        }
        ("get", _) => with_stat(Op::GetData { path: path(word(1))?, watch }),
        ("ls", _) => once(Op::GetChildren2 { path: path(word(1))?, watch }),
        ("ls2", _) => with_stat(Op::GetChildren2 { path: path(word(1))?, watch }),
        ("stat", _) => once(Op::Exists { path: path(word(1))?, watch }),
        ("getAcl", _) => once(Op::GetAcl { path: path(word(1))? }),
        ("sync", _) => {
            let op = Op::Sync { path: path(word(1))? };
            Ok(Start::Job(Job::new([op], Manner::Returned)))
        }
        ("addauth", _) => {
            let auth = words.get(2).map_or(Bytes::NULL, |auth| Bytes::from(auth.as_str()));
            Ok(Start::Authenticate(Path::new(word(1)), auth))
        }
        ("listquota", _) => {
            let limits = quota::at(word(1), quota::LIMITS);
            said.push_str(&["absolute path is ", &limits, "\n"].concat());
            quota_job(Quota::list(path(word(1))?))
        }
        ("delquota", 2) => quota_job(Quota::delete(path(word(1))?, None)),
        ("delquota", 3) => match word(1) {
            "-n" | "-b" => quota_job(Quota::delete(path(word(2))?, word(1).chars().nth(1))),
            _ => nothing(),
        },
        _ => nothing(),
    }
}

fn once(op: Op) -> Result<Start, Refusal> {
    Ok(Start::Job(Job::new([op], Manner::Once { with_stat: false })))
}

fn with_stat(op: Op) -> Result<Start, Refusal> {
    Ok(Start::Job(Job::new([op], Manner::Once { with_stat: true })))
}

fn create(words: &[String], said: &mut String) -> Result<Start, Refusal> {
    let (first, flags) = match (words[1].as_str(), words[2].as_str()) {
        ("-e", "-s") | ("-s", "-e") => (2, mode::EPHEMERAL_SEQUENTIAL),
        ("-e", _) => (1, mode::EPHEMERAL),
        ("-s", _) => (1, mode::PERSISTENT_SEQUENTIAL),
        _ => (0, mode::PERSISTENT),
    };
    let word = |place: usize| {
        let missing = || uncaught("ArrayIndexOutOfBoundsException", &place.to_string());
        words.get(place).ok_or_else(missing)
    };
    let acl = match words.len() == first + 4 {
        true => nonempty(read_acl(word(first + 3)?, said))?,
        false => Acl::open(),
    };
    let (path, data) = (path(word(first + 1)?)?, Bytes::from(word(first + 2)?.as_str()));
    once(Op::Create(Arc::new(Create { acl, ..Create::new(path, data, flags) })))
}

fn set_quota(words: &[String], said: &mut String) -> Result<Start, Refusal> {
    let (option, text) = (words[1].as_str(), words[2].as_str());
    let parts =
        ["Comment: the parts are option ", option, " val ", text, " path ", &words[3], "\n"];
    said.push_str(&parts.concat());
    let value = text.parse::<i64>().map_err(|_| not_a_number(text))?;
    let limits = match option {
        "-b" => Track { bytes: value, ..Track::NONE },
        "-n" => Track { count: value, ..Track::NONE },
        _ => return Ok(Start::Print(usage())),
    };
    quota_job(Quota::set(path(&words[3])?, limits))
}

fn quota_job((tasks, quota): (VecDeque<Op>, Quota)) -> Result<Start, Refusal> {
    Ok(Start::Job(Job::new(tasks, Manner::Quota(quota))))
}

/// A number that may stand there.
fn version(words: &[String], place: usize) -> Result<i32, Refusal> {
    let Some(text) = words.get(place) else { return Ok(-1) };
    text.parse().map_err(|_| not_a_number(text))
}

fn not_a_number(text: &str) -> Refusal {
    failed("NumberFormatException", &["For input string: \"", text, "\""].concat())
}

fn path(text: &str) -> Result<Path, Refusal> {
    match invalid(text) {
        None => Ok(Path::new(text)),
        Some(told) => Err(failed("IllegalArgumentException", &told)),
    }
}

fn failed(exception: &str, told: &str) -> Refusal {
    Refusal::Said(["Command failed: java.lang.", exception, ": ", told, "\n"].concat())
}

/// How the program tells of an error; what it has no words for ends it.
// Source: ZooKeeperMain.processCmd (3.4).
pub fn refusal(error: Error, op: &Op) -> Refusal {
    let told = match error {
        Error::NoAuth => Some("Authentication is not valid : "),
        Error::QuotaExceeded => None,
        error => told_of(error),
    };
    let path = op.path().map_or("null", Path::as_str);
    match told {
        Some(told) => Refusal::Said([told, path, "\n"].concat()),
        None => Refusal::Died(
            [
                "Exception in thread \"main\" org.apache.zookeeper.KeeperException$",
                error.name(),
                "Exception: ",
                &message(error, op.path()),
                "\n",
            ]
            .concat(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests that a line makes, and what is printed meanwhile.
    fn check(line: &str, expected: &str) {
        let mut said = String::new();
        let told = match read(&split(line), &mut said) {
            Ok(Start::Job(mut job)) => {
                job.take_next().map_or(String::new(), |op| format!("{} {:?}", op.name(), op.path()))
            }
            Ok(Start::Print(text)) => text,
            Ok(Start::Authenticate(..)) => "auth".into(),
            Ok(Start::Close) => "close".into(),
            Err(Refusal::Said(text) | Refusal::Died(text)) => text,
        };
        assert_eq!(said + &told, expected, "{line}");
    }

    #[test]
    fn lines_are_read_as_they_were_first() {
        check("create /a", "");
        check("create /a b", "create Some(\"/a\")");
        check("create -s -e /a b", "create Some(\"/a\")");
        let lacks = "Exception in thread \"main\" java.lang.ArrayIndexOutOfBoundsException: 3\n";
        check("create -e /a", lacks);
        check("ls2 /", "getChildren2 Some(\"/\")");
        check("ls", "");
        let failed = "Command failed: java.lang.IllegalArgumentException: \
                      Path must start with / character\n";
        check("get a", failed);
        let number = "Command failed: java.lang.NumberFormatException: For input string: \"x\"\n";
        check("delete /a x", number);
        let parts = "Comment: the parts are option -n val 5 path /a\n";
        check("setquota -n 5 /a", &[parts, "exists Some(\"/a\")"].concat());
    }
}

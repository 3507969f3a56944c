//! `echo WORD | nc SERVER 2181`: how one asks a server of ZooKeeper for a four-letter word from a
//! shell.
//!
//! Not here: what servers answer (`zk::four_letter`).
//!
//! *Invariant: one question, one answer, and the connection is over.*

use super::{Printed, Tool, Usage};
use crate::kafka::words::{Message, Words};
use crate::sim::{Event, Outbox, ProcessId};
use crate::zk::words::Message as ZkMessage;
use std::sync::Arc;

/// The word that such a line begins with.
pub const NAME: &str = "echo";
/// The program that connects.
pub const PROGRAM: &str = "nc";
/// Where servers listen to clients.
pub const PORT: &str = "2181";

/// The word that a line sends, and the server that it names.
pub fn read(words: &[String]) -> Result<(String, String), Usage> {
    let line = words.join(" ");
    let lacks = || Usage::lacks("a word, then | nc SERVER 2181");
    let (word, program) = line.split_once('|').ok_or_else(lacks)?;
    let word = word.trim().trim_start_matches("-n ").trim();
    if word.is_empty() || word.contains(' ') {
        return Err(lacks());
    }
    let words: Vec<&str> = program.split_whitespace().collect();
    match words[..] {
        [PROGRAM, server, PORT] => Ok((word.to_owned(), server.to_owned())),
        [PROGRAM, _, port, ..] => Err(Usage::is_not(port, "2181, and nothing more")),
        [PROGRAM, ..] => Err(Usage::lacks("a server and 2181")),
        [other, ..] => Err(Usage::is_not(other, "nc SERVER 2181")),
        [] => Err(lacks()),
    }
}

/// A run of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Netcat {
    /// The server.
    pub server: ProcessId,
    /// What is sent.
    pub word: Arc<str>,
}

impl Tool {
    /// Sends the word, prints what comes, and ends when the connection does.
    // Source: Ncat (ncat_connect.c), which says so where OpenBSD's nc says nothing.
    pub(super) fn exchange(
        &mut self,
        Netcat { server, word }: Netcat,
        event: Event<Words>,
        out: &mut Outbox<'_, Words>,
    ) {
        match event {
            Event::Boot => out.send(server, Message::Zk(ZkMessage::Word(word))),
            Event::Message { message: Message::Zk(ZkMessage::Said(text)), .. } => {
                self.printed = Some(Printed::done(text));
                self.exit(out);
            }
            Event::Hangup { .. } => {
                self.printed = Some(Printed::failed("Ncat: Connection refused.\n"));
                self.exit(out);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_read_as_a_shell_reads_it() {
        let read = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            read(&words).map_err(|usage| usage.part)
        };
        let right = Ok(("ruok".to_owned(), "zk1".to_owned()));
        for line in ["ruok | nc zk1 2181", "ruok|nc zk1 2181", "-n ruok | nc zk1 2181"] {
            assert_eq!(read(line), right, "{line}");
        }
        let part = |part: &str| Err(Some(part.to_owned()));
        assert_eq!(read("ruok | telnet zk1 2181"), part("telnet"));
        assert_eq!(read("ruok | nc zk1 9092"), part("9092"));
        for line in ["ruok", "| nc zk1 2181", "ruok | nc zk1", "ruok |"] {
            assert_eq!(read(line), Err(None), "{line}");
        }
    }
}

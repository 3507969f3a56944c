//! A typed line, taken apart as the real client does it: into words, then into options and the
//! rest.
//!
//! *Invariant: what is refused here is refused by the real client in the same words.*

use super::Refusal;
use crate::zk::release::Release;

/// The words of a line. Quotes keep blanks together; one that is never closed is skipped.
// Source: ZooKeeperMain.MyCommandOptions.parseCommand (ARGS_PATTERN).
pub fn split(line: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), line.trim_start());
    while let Some(first) = rest.chars().next() {
        let quoted = ["\"", "'"].iter().find_map(|quote| {
            let (word, after) = rest.strip_prefix(quote)?.split_once(quote)?;
            Some((word, after))
        });
        let (word, after) = match quoted {
            None if matches!(first, '"' | '\'') => {
                rest = rest[1..].trim_start();
                continue;
            }
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
            Some(parts) => parts,
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// A command with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Of which client.
    pub release: Release,
    /// The command and what is no option, in order.
    pub words: Vec<String>,
    options: Vec<(char, String)>,
}

impl Line {
    /// Takes words apart. `known` has the letters of the command's options; behind one that has a
    /// value stands a colon.
    // Source: PosixParser.flatten, Parser.parse, Parser.processArgs (commons-cli).
    pub fn read(release: Release, known: &str, words: &[String]) -> Result<Line, Refusal> {
        let mut line = Line { release, words: Vec::new(), options: Vec::new() };
        let mut tokens = flatten(known, words).into_iter().peekable();
        while let Some(token) = tokens.next() {
            if token == "--" {
                line.words.extend(tokens.by_ref());
            } else if token == "-" || !token.starts_with('-') {
                line.words.push(token);
            } else {
                let Some(kind) = option(known, &token) else {
                    return Err(complaint("UnrecognizedOption", "Unrecognized option: ", &token));
                };
                let value = match kind {
                    Kind::Alone => None,
                    Kind::WithValue => tokens.next_if(|next| option(known, next).is_none()),
                };
                let letter = &token[1..];
                if kind == Kind::WithValue && value.is_none() {
                    let told = "Missing argument for option: ";
                    return Err(complaint("MissingArgument", told, letter));
                }
                line.options.extend(letter.chars().map(|c| (c, value.clone().unwrap_or_default())));
            }
        }
        Ok(line)
    }

    /// Was this option given?
    pub fn has(&self, letter: char) -> bool {
        self.value(letter).is_some()
    }

    /// All options with their values, in the order in which they were given.
    pub fn options(&self) -> &[(char, String)] {
        &self.options
    }

    /// The value of an option.
    pub fn value(&self, letter: char) -> Option<&str> {
        let found = self.options.iter().find(|(known, _)| *known == letter);
        found.map(|(_, value)| value.as_str())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Alone,
    WithValue,
}

/// What kind of option `-x` is, if it is one.
fn option(known: &str, token: &str) -> Option<Kind> {
    let letter = token.strip_prefix('-').filter(|letter| letter.chars().count() == 1)?;
    let behind = known.split_once(letter)?.1;
    Some(if behind.starts_with(':') { Kind::WithValue } else { Kind::Alone })
}

/// Options that were written together, one by one: `-sv3` is `-s -v 3`.
// Source: PosixParser.burstToken.
fn flatten(known: &str, words: &[String]) -> Vec<String> {
    let mut tokens = Vec::new();
    for word in words {
        let together = word.starts_with('-') && !word.starts_with("--") && word.chars().count() > 2;
        if !together {
            tokens.push(word.clone());
            continue;
        }
        for (at, letter) in word.char_indices().skip(1) {
            let token = format!("-{letter}");
            let behind = &word[at + letter.len_utf8()..];
            match option(known, &token) {
                None => {
                    tokens.push(word.clone());
                    break;
                }
                Some(Kind::WithValue) if !behind.is_empty() => {
                    tokens.extend([token, behind.to_owned()]);
                    break;
                }
                Some(_) => tokens.push(token),
            }
        }
    }
    tokens
}

fn complaint(exception: &str, told: &str, what: &str) -> Refusal {
    let parts = ["org.apache.commons.cli.", exception, "Exception: ", told, what, "\n"];
    Refusal::Said(parts.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_words_together() {
        let check = |line: &str, expected: &[&str]| assert_eq!(split(line), expected, "{line}");
        check(" create  /a 'b c' \"\" ", &["create", "/a", "b c", ""]);
        check("ls \"/", &["ls", "/"]);
        check("set /a it's", &["set", "/a", "it's"]);
        check("  ", &[]);
    }

    #[test]
    fn options_stand_anywhere() {
        let check = |line: &str, expected: Result<(&[&str], &str, Option<&str>), &str>| {
            let line = Line::read(Release::V3_8_0, "sv:", &split(line));
            match (line, expected) {
                (Ok(line), Ok((words, letters, version))) => {
                    assert_eq!(line.words, words);
                    assert!(letters.chars().all(|letter| line.has(letter)));
                    assert_eq!(line.value('v'), version);
                }
                (Err(Refusal::Said(said)), Err(told)) => assert_eq!(said.trim_end(), told),
                (line, _) => panic!("came {line:?}"),
            }
        };
        check("set /a -s x", Ok((&["set", "/a", "x"], "s", None)));
        check("set -sv3 /a", Ok((&["set", "/a"], "sv", Some("3"))));
        check("set -v -5 /a", Ok((&["set", "/a"], "v", Some("-5"))));
        check("set -- -s", Ok((&["set", "-s"], "", None)));
        let told = "org.apache.commons.cli.UnrecognizedOptionException: Unrecognized option: -x";
        check("set -x", Err(told));
        let told =
            "org.apache.commons.cli.MissingArgumentException: Missing argument for option: v";
        check("set -v -s", Err(told));
    }
}

//! The notation of scripts: one line is words and `key=value` pairs, with quotes where needed.
//!
//! What a word means is known by whoever asks for it: commands, setup, scripts.
//! *Invariant:* whatever a person writes is understood or answered with a [`Trouble`], never a
//! panic.

use crate::sim::{EventId, Moment, SimTime, Span};
use std::fmt;

/// What is wrong with something that a person wrote: where, what, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}; expected {expected}")]
pub struct Trouble {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// What is there.
    pub what: String,
    /// What should be there.
    pub expected: String,
}

/// One word, or the value of a `key=value` pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    line: u32,
    column: u32,
    key: Option<String>,
    /// The text without quotes.
    pub text: String,
}

impl Word {
    fn as_typed(&self) -> String {
        self.key.as_ref().map_or(self.text.clone(), |key| format!("{key}={}", self.text))
    }

    /// The trouble that this is not what was `expected`.
    pub fn is_not(&self, expected: impl Into<String>) -> Trouble {
        self.trouble(format!("“{}”", self.text), expected)
    }

    /// A trouble at this word.
    pub fn trouble(&self, what: impl Into<String>, expected: impl Into<String>) -> Trouble {
        let (line, column) = (self.line, self.column);
        Trouble { line, column, what: what.into(), expected: expected.into() }
    }

    /// A whole number.
    pub fn number<N: std::str::FromStr>(&self, expected: &str) -> Result<N, Trouble> {
        self.text.parse().map_err(|_| self.is_not(expected))
    }

    /// A whole number from `least` to `most`.
    pub fn within<N>(&self, least: N, most: N) -> Result<N, Trouble>
    where
        N: std::str::FromStr + PartialOrd + fmt::Display,
    {
        let number = self.text.parse().ok().filter(|n| least <= *n && *n <= most);
        number.ok_or_else(|| self.is_not(format!("a number from {least} to {most}")))
    }

    /// A length of time: `18s`, `500ms`, `250us`, `2m`.
    pub fn span(&self) -> Result<Span, Trouble> {
        parse_span(&self.text).ok_or_else(|| self.is_not("a length of time like 18s or 500ms"))
    }

    /// A length of time after which something is done again.
    pub fn pause(&self) -> Result<Span, Trouble> {
        let span = self.span()?;
        if span < Span::ms(1) { Err(self.is_not("a length of time from 1ms on")) } else { Ok(span) }
    }

    /// A moment: seconds, and after a `+` how many events of that instant are done: `10.214+2`.
    pub fn moment(&self) -> Result<Moment, Trouble> {
        parse_moment(&self.text).ok_or_else(|| self.is_not("a moment like 10.214 or 10.214+2"))
    }

    /// The number of an event.
    pub fn event(&self) -> Result<EventId, Trouble> {
        Ok(EventId(self.number("the number of an event")?))
    }

    /// One of `choices`.
    pub fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, Trouble> {
        let found = choices.iter().find(|(name, _)| *name == self.text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            self.is_not(names.join(" or "))
        })
    }
}

/// One line, word by word.
#[derive(Clone, Debug)]
pub struct Line {
    number: u32,
    end: u32,
    words: Vec<Word>,
}

impl Line {
    /// Takes the line apart.
    pub fn parse(number: u32, text: &str) -> Result<Line, Trouble> {
        let mut words = Vec::new();
        let mut rest = Rest { line: number, column: 1, chars: text.chars().peekable() };
        while let Some(word) = rest.word()? {
            words.push(word);
        }
        words.reverse();
        Ok(Line { number, end: rest.column, words })
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The next word, which must be there and be no pair.
    pub fn word(&mut self, expected: &str) -> Result<Word, Trouble> {
        match self.words.iter().rposition(|word| word.key.is_none()) {
            Some(index) => Ok(self.words.remove(index)),
            None => Err(self.missing(expected)),
        }
    }

    /// The next word, if there is one.
    pub fn word_if_any(&mut self) -> Option<Word> {
        let index = self.words.iter().rposition(|word| word.key.is_none())?;
        Some(self.words.remove(index))
    }

    /// The value of the pair `key=…`, if it is there.
    pub fn value(&mut self, key: &str) -> Option<Word> {
        let index = self.words.iter().rposition(|word| word.key.as_deref() == Some(key))?;
        Some(self.words.remove(index))
    }

    /// The value of the pair `key=…`, which must be there.
    pub fn must(&mut self, key: &str, expected: &str) -> Result<Word, Trouble> {
        self.value(key).ok_or_else(|| self.missing(&format!("{key}={expected}")))
    }

    /// The next pair, whatever its key.
    pub fn pair(&mut self) -> Option<(String, Word)> {
        let index = self.words.iter().rposition(|word| word.key.is_some())?;
        let mut word = self.words.remove(index);
        word.key.take().map(|key| (key, word))
    }

    /// All that is left, word by word as it was typed, pairs too.
    pub fn as_typed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.words).iter().rev().map(Word::as_typed).collect()
    }

    /// The trouble that the word in which `part` stands is not what was `expected`.
    pub fn trouble_at(&self, part: &str, expected: &str) -> Trouble {
        let has = |word: &&Word| word.as_typed().contains(part);
        let column = self.words.iter().rev().find(has).map_or(self.end, |word| word.column);
        let (line, what) = (self.number, format!("“{part}”"));
        Trouble { line, column, what, expected: expected.to_owned() }
    }

    /// The rest of the line; nothing is left in this one.
    pub fn take(&mut self) -> Line {
        let words = std::mem::take(&mut self.words);
        Line { number: self.number, end: self.end, words }
    }

    /// Asks that nothing is left.
    pub fn finish(self) -> Result<(), Trouble> {
        match self.words.last() {
            None => Ok(()),
            Some(word) => {
                let pair = |key: &String| format!("“{key}={}”", word.text);
                let what = word.key.as_ref().map_or(format!("“{}”", word.text), pair);
                Err(word.trouble(what, "the end of the line"))
            }
        }
    }

    /// The trouble that the line ends before what was `expected`.
    pub fn missing(&self, expected: &str) -> Trouble {
        let what = "the line ends".to_owned();
        Trouble { line: self.number, column: self.end, what, expected: expected.to_owned() }
    }
}

struct Rest<'a> {
    line: u32,
    column: u32,
    chars: std::iter::Peekable<std::str::Chars<'a>>,
}

impl Rest<'_> {
    fn next(&mut self) -> Option<char> {
        self.column += 1;
        self.chars.next()
    }

    /// The next word; none at the end of the line or at a comment.
    fn word(&mut self) -> Result<Option<Word>, Trouble> {
        while self.chars.next_if(|c| c.is_whitespace()).is_some() {
            self.column += 1;
        }
        let (line, column) = (self.line, self.column);
        if matches!(self.chars.peek(), None | Some('#')) {
            return Ok(None);
        }
        let mut word = Word { line, column, key: None, text: String::new() };
        while let Some(&c) = self.chars.peek() {
            match c {
                c if c.is_whitespace() => break,
                '"' => self.quoted(&mut word)?,
                '=' if word.key.is_none() && is_key(&word.text) => {
                    self.next();
                    word.key = Some(std::mem::take(&mut word.text));
                }
                _ => word.text.extend(self.next()),
            }
        }
        Ok(Some(word))
    }

    fn quoted(&mut self, word: &mut Word) -> Result<(), Trouble> {
        self.next();
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => word.text.extend(self.next().map(unescape)),
                Some(c) => word.text.push(c),
                None => return Err(word.trouble("a quote is open", "a closing quote")),
            }
        }
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn unescape(c: char) -> char {
    if c == 'n' { '\n' } else { c }
}

/// A text as a word of the notation, in quotes where it needs them.
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let special = |c: char| c.is_whitespace() || "\"\\=#".contains(c);
        if !self.0.is_empty() && !self.0.contains(special) {
            return f.write_str(self.0);
        }
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '\n' => f.write_str("\\n")?,
                '"' | '\\' => write!(f, "\\{c}")?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

/// A moment in notation: `10.214`, `10.214+2`.
pub struct Told(pub Moment);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.done {
            0 => write!(f, "{}", self.0.at),
            done => write!(f, "{}+{done}", self.0.at),
        }
    }
}

fn parse_span(text: &str) -> Option<Span> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let micros = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        _ => return None,
    };
    digits(number)?.checked_mul(micros).map(Span::micros).filter(|span| *span <= Span::LONGEST)
}

fn parse_moment(text: &str) -> Option<Moment> {
    let (at, done) = match text.split_once('+') {
        Some((at, done)) => (at, u32::try_from(digits(done)?).ok()?),
        None => (text, 0),
    };
    let at = SimTime::micros(parse_seconds(at)?);
    Some(Moment { at, done })
}

/// Seconds with up to six decimals, as microseconds.
fn parse_seconds(text: &str) -> Option<u64> {
    let text = text.strip_suffix('s').unwrap_or(text);
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let part = (part.len() <= 6).then(|| format!("{part:0<6}"))?;
    let micros = digits(whole)?.checked_mul(1_000_000)?.checked_add(digits(&part)?)?;
    (micros <= Span::LONGEST.as_micros()).then_some(micros)
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_its_words_and_pairs_in_any_order() {
        let mut line =
            Line::parse(3, "send key=a p1 value=\"two words\" # why").expect("it is fine");
        assert_eq!(line.word("a producer").map(|w| w.text), Ok("send".to_owned()));
        assert_eq!(line.value("value").map(|w| w.text), Some("two words".to_owned()));
        assert_eq!(line.word("a producer").map(|w| w.text), Ok("p1".to_owned()));
        let trouble = line.clone().finish().expect_err("a pair is left");
        let text = "line 3, column 6: “key=a”; expected the end of the line";
        assert_eq!(trouble.to_string(), text);
        assert_eq!(line.value("key").map(|w| w.text), Some("a".to_owned()));
        let text = "line 3, column 33: the line ends; expected a topic";
        assert_eq!(line.word("a topic").expect_err("none").to_string(), text);
    }

    #[test]
    fn quoting_round_trips() {
        for text in ["plain", "", "two words", "a=b", "\"\\", "#", "new\nline", "{\"a\":1}"] {
            let mut line = Line::parse(1, &format!("x={}", Quoted(text))).expect("it is fine");
            assert_eq!(line.value("x").map(|w| w.text), Some(text.to_owned()));
        }
    }

    #[test]
    fn times_are_read_exactly_or_not_at_all() {
        let spans = [("18s", Some(18_000_000)), ("5ms", Some(5_000)), ("2m", Some(120_000_000))];
        let wrong = ["", "s", "5", "1.5s", "-1s", "5h", "99999999999999999999s", "9999999999999s"];
        for (text, us) in spans.into_iter().chain(wrong.map(|text| (text, None))) {
            assert_eq!(parse_span(text), us.map(Span::micros), "{text}");
        }
        let moments = [("10.214", Some((10_214_000, 0))), ("0", Some((0, 0)))];
        let more = [("3.000001+7", Some((3_000_001, 7))), ("5s", Some((5_000_000, 0)))];
        let wrong = ["", "1.0000001", "1.-1", "1+", "+1", "1+99999999999", "x"].map(|t| (t, None));
        for (text, moment) in moments.into_iter().chain(more).chain(wrong) {
            let moment = moment.map(|(us, done)| Moment { at: SimTime::micros(us), done });
            assert_eq!(parse_moment(text), moment, "{text}");
        }
    }
}

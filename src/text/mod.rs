//! Words for people: one catalog per language, and the lookup that fills a line's `{fields}`.
//!
//! Nothing here knows what the words are about, and nothing below `ui` knows which language is
//! in use: other floors name a key and its fields, as a [`Phrase`].
//! *Invariant:* every language has the same keys, each with the same fields.

pub mod log;

use std::collections::BTreeMap;

/// A language that the page speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// English.
    English,
    /// 简体中文.
    Chinese,
}

/// Every language, in the order in which the page offers them.
pub const LANGUAGES: [Language; 2] = [Language::English, Language::Chinese];

impl Language {
    /// The tag that HTML and the query use.
    pub fn tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh",
        }
    }

    /// The language of a tag such as `zh-CN`, by its first part.
    pub fn of_tag(tag: &str) -> Option<Language> {
        let first = tag.split('-').next()?;
        LANGUAGES.into_iter().find(|language| language.tag() == first)
    }

    /// The other language: the page's switch has two positions.
    pub fn other(self) -> Language {
        match self {
            Language::English => Language::Chinese,
            Language::Chinese => Language::English,
        }
    }

    fn sources(self) -> &'static [&'static str] {
        match self {
            Language::English => &[
                include_str!("en.txt"),
                include_str!("facts.en.txt"),
                include_str!("about.en.txt"),
                include_str!("situations.en.txt"),
                include_str!("../lessons/first_visit/en.txt"),
            ],
            Language::Chinese => &[
                include_str!("zh.txt"),
                include_str!("facts.zh.txt"),
                include_str!("about.zh.txt"),
                include_str!("situations.zh.txt"),
                include_str!("../lessons/first_visit/zh.txt"),
            ],
        }
    }
}

/// Something to be said: words as they are, or a line of the catalog with its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phrase {
    /// Said the same in every language: a name, a path, a number.
    Raw(String),
    /// The line under a key, its fields filled.
    Line(&'static str, Vec<(&'static str, Phrase)>),
}

impl Phrase {
    /// Words that no language changes.
    pub fn raw(words: impl ToString) -> Phrase {
        Phrase::Raw(words.to_string())
    }

    /// A line without fields.
    pub fn key(key: &'static str) -> Phrase {
        Phrase::Line(key, Vec::new())
    }

    /// The same line with one more field filled by words that no language changes.
    pub fn with(self, name: &'static str, value: impl ToString) -> Phrase {
        self.with_phrase(name, Phrase::raw(value))
    }

    /// The same line with one more field filled by another phrase.
    pub fn with_phrase(self, name: &'static str, value: Phrase) -> Phrase {
        match self {
            Phrase::Raw(words) => Phrase::Raw(words),
            Phrase::Line(key, mut fields) => {
                fields.push((name, value));
                Phrase::Line(key, fields)
            }
        }
    }

    /// Nothing to say.
    pub fn nothing() -> Phrase {
        Phrase::Raw(String::new())
    }
}

/// A piece of a line: plain words, or a field by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Words of the catalog.
    Plain(&'a str),
    /// The place of a field.
    Field(&'a str),
}

/// How the key of a line ends that is said on a touch screen.
const TOUCH: &str = ".touch";

/// The lines of one language.
pub struct Catalog {
    lines: BTreeMap<&'static str, &'static str>,
}

impl Catalog {
    /// The catalog of a language.
    pub fn of(language: Language) -> Catalog {
        let lines = language.sources().iter().flat_map(|text| text.lines());
        Catalog { lines: lines.filter_map(entry).collect() }
    }

    /// The same for who points with a finger and has no keys: of a line that has another beside it,
    /// `key.touch`, that one is said.
    pub fn by_touch(mut self) -> Catalog {
        let touch =
            |(key, words): (&&'static str, &&'static str)| Some((key.strip_suffix(TOUCH)?, *words));
        let lines: Vec<_> = self.lines.iter().filter_map(touch).collect();
        for (key, words) in lines {
            self.lines.insert(key, words);
        }
        self
    }

    /// The words of a phrase. A key that the catalog lacks is said as it is.
    pub fn say(&self, phrase: &Phrase) -> String {
        match phrase {
            Phrase::Raw(words) => words.clone(),
            Phrase::Line(key, fields) => self.fill(key, fields),
        }
    }

    /// Whether there is a line under a key.
    pub fn has(&self, key: &str) -> bool {
        self.lines.contains_key(key)
    }

    /// The pieces of the line under a key, for whoever draws fields in another way than words.
    pub fn pieces<'a>(&'a self, key: &'a str) -> Vec<Piece<'a>> {
        split(self.lines.get(key).copied().unwrap_or(key))
    }

    fn fill(&self, key: &str, fields: &[(&'static str, Phrase)]) -> String {
        let value = |name: &str| fields.iter().find(|(field, _)| *field == name);
        let words = |piece: Piece| match piece {
            Piece::Plain(words) => words.to_string(),
            Piece::Field(name) => value(name).map(|(_, said)| self.say(said)).unwrap_or_default(),
        };
        self.pieces(key).into_iter().map(words).collect()
    }
}

/// What is said of the model, by its keys in the order in which it is told.
pub fn about_the_model() -> impl Iterator<Item = &'static str> {
    include_str!("about.en.txt").lines().filter_map(entry).map(|(key, _)| key)
}

/// `key = words with {field}`; empty lines and `#` comments say nothing.
fn entry(line: &'static str) -> Option<(&'static str, &'static str)> {
    if line.starts_with('#') {
        return None;
    }
    let (key, words) = line.split_once('=')?;
    Some((key.trim(), words.trim()))
}

fn split(line: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, tail)) = after.split_once('}') else {
            break;
        };
        if !before.is_empty() {
            pieces.push(Piece::Plain(before));
        }
        pieces.push(Piece::Field(name));
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Plain(rest));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(catalog: &Catalog, key: &'static str) -> Vec<String> {
        let name = |piece| match piece {
            Piece::Field(name) => Some(name.to_string()),
            Piece::Plain(_) => None,
        };
        let mut names: Vec<String> = catalog.pieces(key).into_iter().filter_map(name).collect();
        names.sort();
        names.dedup();
        names
    }

    #[test]
    fn every_language_has_every_key_with_the_same_fields() {
        let english = Catalog::of(Language::English);
        let chinese = Catalog::of(Language::Chinese);
        let keys = |catalog: &Catalog| catalog.lines.keys().copied().collect::<Vec<_>>();
        assert_eq!(keys(&english), keys(&chinese));
        for key in keys(&english) {
            assert_eq!(fields(&english, key), fields(&chinese, key), "fields of {key}");
        }
    }

    #[test]
    fn on_a_touch_screen_no_line_speaks_of_keys() {
        for language in LANGUAGES {
            let (keys, touch) = (Catalog::of(language), Catalog::of(language).by_touch());
            let mut others = 0;
            for key in keys.lines.keys().filter_map(|key| key.strip_suffix(TOUCH)) {
                assert!(keys.has(key), "{key} is no line");
                assert_eq!(fields(&keys, key), fields(&touch, key), "fields of {key}");
                others += usize::from(keys.pieces(key) != touch.pieces(key));
            }
            assert!(others > 9, "only {others}");
            let visit = touch.lines.iter().filter(|(key, _)| key.starts_with("visit."));
            for (key, words) in visit {
                let named = ["K", "R", "N", "1", "`"].iter().find(|of| {
                    words.contains(&format!("({of}")) || words.contains(&format!("（{of}"))
                });
                assert_eq!(named, None, "{key}");
            }
        }
    }

    #[test]
    fn no_key_is_written_twice() {
        for language in LANGUAGES {
            let entries = language.sources().iter().flat_map(|text| text.lines());
            let count = entries.filter_map(entry).count();
            assert_eq!(count, Catalog::of(language).lines.len(), "{}", language.tag());
        }
    }

    #[test]
    fn fields_are_filled_by_words_and_by_phrases() {
        let lines = BTreeMap::from([("a", "{x} of {y} left"), ("b", "three")]);
        let catalog = Catalog { lines };
        let phrase = Phrase::key("a").with("x", 2).with_phrase("y", Phrase::key("b"));
        assert_eq!(catalog.say(&phrase), "2 of three left");
        assert_eq!(catalog.say(&Phrase::key("lost")), "lost");
        assert_eq!(split("{x"), [Piece::Plain("{x")]);
    }

    #[test]
    fn a_language_is_found_by_the_first_part_of_its_tag() {
        assert_eq!(Language::of_tag("zh-CN"), Some(Language::Chinese));
        assert_eq!(Language::of_tag("fr"), None);
    }
}

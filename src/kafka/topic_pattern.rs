//! Topics chosen by a pattern, as consumers and tools do.
//!
//! *Invariant: a pattern matches whole names.*

/// Whether a pattern, or one of several behind commas, matches a topic's whole name.
// Source: kafka.consumer.TopicFilter; org.apache.kafka.server.util.TopicFilter
pub fn matches(pattern: &str, topic: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let alternatives = pattern.split(|c| *c == '|' || *c == ',');
    let topic: Vec<char> = topic.chars().collect();
    alternatives.into_iter().any(|one| matches_whole(one, &topic))
}

/// What fits one character, or more, or none.
#[derive(Clone, Copy)]
struct Piece {
    /// Which character; none is any.
    wanted: Option<char>,
    may_be_missing: bool,
    may_come_again: bool,
}

/// Whether a regular expression of characters, `.`, `\`, `*`, `+` and `?` matches all of a text.
///
/// The text is walked through once, with all the places in the pattern where one could be: what a
/// person writes can cost no more than its length times that of the text.
// Real: any regular expression of Java; here these, because they are what topics are chosen by.
fn matches_whole(pattern: &[char], text: &[char]) -> bool {
    let pieces = pieces(pattern);
    let mut alive = vec![false; pieces.len() + 1];
    alive[0] = true;
    pass_over(&pieces, &mut alive);
    for c in text {
        let mut next = vec![false; alive.len()];
        for (place, piece) in pieces.iter().enumerate() {
            if alive[place] && piece.wanted.is_none_or(|wanted| wanted == *c) {
                next[place + 1] = true;
                next[place] |= piece.may_come_again;
            }
        }
        pass_over(&pieces, &mut next);
        alive = next;
    }
    alive[pieces.len()]
}

/// Whoever is at what may be missing is behind it too.
fn pass_over(pieces: &[Piece], alive: &mut [bool]) {
    for (place, piece) in pieces.iter().enumerate() {
        alive[place + 1] |= alive[place] && piece.may_be_missing;
    }
}

fn pieces(mut pattern: &[char]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    loop {
        let (wanted, rest) = match pattern {
            [] => return pieces,
            ['\\', c, rest @ ..] => (Some(*c), rest),
            ['.', rest @ ..] => (None, rest),
            [c, rest @ ..] => (Some(*c), rest),
        };
        let (may_be_missing, may_come_again, rest) = match rest {
            ['*', rest @ ..] => (true, true, rest),
            ['+', rest @ ..] => (false, true, rest),
            ['?', rest @ ..] => (true, false, rest),
            _ => (false, false, rest),
        };
        pieces.push(Piece { wanted, may_be_missing, may_come_again });
        pattern = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        let table = [
            ("ord.*", "orders", true),
            ("a|b+", "bbb", true),
            ("x\\.y", "x.y", true),
            ("x\\.y", "xzy", false),
            ("ord", "orders", false),
            ("b+", "", false),
            ("b+c?", "bb", true),
            ("b+c?", "bbcc", false),
            ("a*ab?", "aaa", true),
            (".+s", "s", false),
            ("", "", true),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_is_no_work() {
        let stars = ".*".repeat(30);
        assert!(!matches(&format!("{stars}z"), "__consumer_offsets"));
        assert!(matches(&format!("{stars}s"), "__consumer_offsets"));
    }
}

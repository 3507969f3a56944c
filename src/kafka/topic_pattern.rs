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

/// Whether a regular expression of characters, `.`, `\`, `*`, `+` and `?` matches all of a text.
// Real: any regular expression of Java; here these, because they are what topics are chosen by.
fn matches_whole(pattern: &[char], text: &[char]) -> bool {
    let (atom, rest) = match pattern {
        [] => return text.is_empty(),
        ['\\', c, rest @ ..] => (Some(*c), rest),
        ['.', rest @ ..] => (None, rest),
        [c, rest @ ..] => (Some(*c), rest),
    };
    let fits = |c: char| atom.is_none_or(|wanted| wanted == c);
    let (least, most, rest) = match rest {
        ['*', rest @ ..] => (0, text.len(), rest),
        ['+', rest @ ..] => (1, text.len(), rest),
        ['?', rest @ ..] => (0, 1, rest),
        _ => (1, 1, rest),
    };
    let run = text.iter().take_while(|c| fits(**c)).count().min(most);
    (least..=run).any(|count| matches_whole(rest, &text[count..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        assert!(matches("ord.*", "orders") && matches("a|b+", "bbb") && matches("x\\.y", "x.y"));
        assert!(!matches("ord", "orders") && !matches("x\\.y", "xzy") && !matches("b+", ""));
    }
}

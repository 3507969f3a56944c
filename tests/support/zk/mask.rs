//! Compares texts with recorded ones in which what is different each time is masked, as `<TIME>`.
//! *Invariant: a mask stands for something on its line; `<N>` for a number.*

/// Does `came` read as `expected` does, up to its masks?
pub fn matches(expected: &str, came: &str) -> bool {
    let (expected, came) = (expected.split('\n'), came.split('\n'));
    expected.clone().count() == came.clone().count() && expected.zip(came).all(|(e, c)| line(e, c))
}

/// Each mask takes as little as lets what follows it come next.
fn line(expected: &str, came: &str) -> bool {
    let Some((before, mask, after)) = next_mask(expected) else { return expected == came };
    let Some(rest) = came.strip_prefix(before) else { return false };
    let literal = next_mask(after).map_or(after, |(literal, ..)| literal);
    let is_last = literal.len() == after.len();
    let ends = rest.char_indices().map(|(at, _)| at).skip(1).chain([rest.len()]);
    ends.filter(|end| match is_last {
        true => &rest[*end..] == literal,
        false => rest[*end..].starts_with(literal),
    })
    .take(1)
    .any(|end| fits(mask, &rest[..end]) && line(after, &rest[end..]))
}

fn fits(mask: &str, text: &str) -> bool {
    let number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | 'x' | 'a'..='f');
    !text.is_empty() && (mask != "N" || text.chars().all(number))
}

/// What stands before the next mask, its name, what stands behind it.
fn next_mask(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.match_indices('<').map(|(at, _)| at).find(|at| mask_len(&text[*at..]) > 0)?;
    let len = mask_len(&text[open..]);
    Some((&text[..open], &text[open + 1..open + len - 1], &text[open + len..]))
}

/// How long the mask at the beginning of `text` is: capitals, perhaps with a label behind them.
fn mask_len(text: &str) -> usize {
    let name = text.strip_prefix('<').and_then(|rest| rest.split_once('>')).map_or("", |m| m.0);
    let is_mask = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ');
    if is_mask { name.len() + 2 } else { 0 }
}

#[test]
fn masks_stand_for_something_on_their_line() {
    assert!(matches("a <TIME> b\n<N>", "a Thu Jan 01 b\n-1.5"));
    assert!(!matches("a <TIME> b", "a  c"));
    assert!(!matches("<N>", "many"));
    assert!(!matches("a\n", "a"));
    assert!(matches("<a> <SESSION a>(<N>)", "<a> 0x1(2)"));
}

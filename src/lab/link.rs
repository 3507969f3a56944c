//! Links: the text of a recording in the fragment of an address.
//!
//! Packing (deflate-raw) is done by whoever has a tool for it: the browser its own, a native runner
//! a crate. Here is only the frame: `#1` and base64url.
//!
//! *Invariant:* a fragment that was made here is read here; any other is refused with a reason.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// What a fragment begins with; a later form will have another number.
const FORM: &str = "1";

/// Why a fragment is no link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It has another form.
    #[error("the link begins with “{0}”; expected 1")]
    Form(String),
    /// It was cut off or changed on its way.
    #[error("the link is damaged at character {0}; expected letters, digits, - and _")]
    Damaged(usize),
    /// What it holds is no text.
    #[error("the link holds no text; expected a packed recording")]
    NoText,
}

/// The fragment, without `#`, that carries these packed bytes.
pub fn fragment(packed: &[u8]) -> String {
    format!("{FORM}{}", URL_SAFE_NO_PAD.encode(packed))
}

/// The packed bytes that a fragment carries; `#` in front of it does not matter.
pub fn packed(fragment: &str) -> Result<Vec<u8>, LinkError> {
    let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
    let Some(encoded) = fragment.strip_prefix(FORM) else {
        return Err(LinkError::Form(fragment.chars().take(1).collect()));
    };
    let encoded = encoded.trim_end_matches('=');
    let damaged = |place: usize| LinkError::Damaged(place + FORM.len() + 1);
    URL_SAFE_NO_PAD.decode(encoded).map_err(|error| match error {
        base64::DecodeError::InvalidByte(place, _)
        | base64::DecodeError::InvalidLastSymbol(place, _) => damaged(place),
        _ => damaged(encoded.len()),
    })
}

/// The text in bytes that were unpacked.
pub fn text(unpacked: Vec<u8>) -> Result<String, LinkError> {
    String::from_utf8(unpacked).map_err(|_| LinkError::NoText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_round_trips() {
        for bytes in [&b""[..], b"a", b"\xff\xfe\x00 anything at all"] {
            assert_eq!(packed(&format!("#{}", fragment(bytes))), Ok(bytes.to_vec()));
        }
    }

    #[test]
    fn what_is_no_link_is_refused_with_a_reason() {
        let check = |text, expected: &str| {
            assert_eq!(packed(text).expect_err("it is none").to_string(), expected);
        };
        check("#2abc", "the link begins with “2”; expected 1");
        check("", "the link begins with “”; expected 1");
        let text = "the link is damaged at character 4; expected letters, digits, - and _";
        check("#1ab!d", text);
        assert_eq!(text_of_bytes(), Err(LinkError::NoText));
    }

    fn text_of_bytes() -> Result<String, LinkError> {
        text(vec![0xff])
    }
}

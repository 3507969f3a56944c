//! Paths of znodes: what may be one, and its parts.
//!
//! Who checks what, and when, is told in `prep`: a server reads any string as a path.
//!
//! *Invariant: a [`Path`] is any string a client may have sent; only [`Path::validate`] says
//! that it can name a znode.*

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A path as it goes over the wire. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Arc<str>);

/// Why a string cannot be a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum PathError {
    /// The empty string.
    #[error("Path length must be > 0")]
    Empty,
    /// It does not start with a slash.
    #[error("Path must start with / character")]
    NoLeadingSlash,
    /// It ends in a slash.
    #[error("Path must not end with / character")]
    TrailingSlash,
    /// U+0000.
    #[error("null character not allowed @{at}")]
    Null {
        /// Its place, counted in UTF-16 units.
        at: u32,
    },
    /// Another character that no path may hold.
    #[error("invalid character @{at}")]
    Character {
        /// Its place, counted in UTF-16 units.
        at: u32,
    },
    /// Two slashes in a row.
    #[error("empty node name specified @{at}")]
    EmptyName {
        /// The place of the second slash.
        at: u32,
    },
    /// A part that is `.` or `..`.
    #[error("relative paths not allowed @{at}")]
    Relative {
        /// The place of its last dot.
        at: u32,
    },
}

impl Path {
    /// Takes any string.
    pub fn new(text: &str) -> Path {
        Path(Arc::from(text))
    }

    /// `/`.
    pub fn root() -> Path {
        Path::new("/")
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// May it name a znode?
    pub fn validate(&self) -> Result<(), PathError> {
        validate(&self.0)
    }

    /// The path of the parent; `None` for the root and for what has no slash.
    pub fn parent(&self) -> Option<Path> {
        parent(&self.0).map(Path::new)
    }

    /// What stands behind the last slash.
    pub fn name(&self) -> &str {
        name(&self.0)
    }

    /// The path of a child of this one.
    pub fn child(&self, name: &str) -> Path {
        match &*self.0 {
            "/" | "" => Path::new(&format!("/{name}")),
            parent => Path::new(&format!("{parent}/{name}")),
        }
    }
}

/// The path of the parent; `None` for the root and for what has no slash.
pub fn parent(path: &str) -> Option<&str> {
    match path.rfind('/') {
        Some(0) if path.len() == 1 => None,
        Some(0) => Some("/"),
        Some(slash) => Some(&path[..slash]),
        None => None,
    }
}

/// What stands behind the last slash.
pub fn name(path: &str) -> &str {
    path.rfind('/').map_or(path, |slash| &path[slash + 1..])
}

/// Does `path` name the znode `above` or one below it?
pub fn is_at_or_below(path: &str, above: &str) -> bool {
    above == "/"
        || path == above
        || (path.starts_with(above) && path.as_bytes().get(above.len()) == Some(&b'/'))
}

/// May `path` name a znode?
// Source: PathUtils.validatePath(String), with its order of complaints.
pub fn validate(path: &str) -> Result<(), PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if !path.starts_with('/') {
        return Err(PathError::NoLeadingSlash);
    }
    if path.len() == 1 {
        return Ok(());
    }
    if path.ends_with('/') {
        return Err(PathError::TrailingSlash);
    }
    validate_characters(path)
}

/// The part of [`validate`] that looks at one character after another.
fn validate_characters(path: &str) -> Result<(), PathError> {
    let mut at = 1;
    let mut part_start = 1;
    for (place, character) in path.char_indices().skip(1) {
        let end_of_part = place + character.len_utf8() == path.len() || character == '/';
        if character == '/' && place == part_start {
            return Err(PathError::EmptyName { at });
        }
        let part_end = if character == '/' { place } else { path.len() };
        if end_of_part && matches!(&path[part_start..part_end], "." | "..") {
            let at = if character == '/' { at - 1 } else { at };
            return Err(PathError::Relative { at });
        }
        if character == '\0' {
            return Err(PathError::Null { at });
        }
        if is_forbidden(character) {
            return Err(PathError::Character { at });
        }
        if character == '/' {
            part_start = place + 1;
        }
        at += character.len_utf16() as u32;
    }
    Ok(())
}

/// Characters that no path may hold. Characters beyond U+FFFF are pairs of surrogates to Java.
fn is_forbidden(character: char) -> bool {
    let code = character as u32;
    code <= 0x1f
        || (0x7f..=0x9f).contains(&code)
        || (0xd800..=0xf8ff).contains(&code)
        || code >= 0xfff0
}

impl Deref for Path {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Path {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Path {
    fn from(text: &str) -> Path {
        Path::new(text)
    }
}

impl From<String> for Path {
    fn from(text: String) -> Path {
        Path(Arc::from(text))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{PathError, is_at_or_below, name, parent, validate};

    fn check(path: &str, expected: Result<(), PathError>) {
        assert_eq!(validate(path), expected, "{path:?}");
    }

    #[test]
    fn what_may_be_a_path() {
        check("/", Ok(()));
        check("/a/b.c/..d/...", Ok(()));
        check("", Err(PathError::Empty));
        check("a", Err(PathError::NoLeadingSlash));
        check("/a/", Err(PathError::TrailingSlash));
        check("//a", Err(PathError::EmptyName { at: 1 }));
        check("/a//b", Err(PathError::EmptyName { at: 3 }));
        check("/.", Err(PathError::Relative { at: 1 }));
        check("/./a", Err(PathError::Relative { at: 1 }));
        check("/a/..", Err(PathError::Relative { at: 4 }));
        check("/a/../b", Err(PathError::Relative { at: 4 }));
        check("/a\u{0}", Err(PathError::Null { at: 2 }));
        check("/a\u{7f}b", Err(PathError::Character { at: 2 }));
        check("/a\u{f8ff}", Err(PathError::Character { at: 2 }));
        check("/a\u{1f600}", Err(PathError::Character { at: 2 }));
        check("/ä\u{e9}", Ok(()));
    }

    #[test]
    fn parts_of_a_path() {
        assert_eq!((parent("/"), parent("/a"), parent("/a/b")), (None, Some("/"), Some("/a")));
        assert_eq!((name("/"), name("/a"), name("/a/b")), ("", "a", "b"));
        assert!(is_at_or_below("/a/b", "/a") && is_at_or_below("/a", "/a"));
        assert!(!is_at_or_below("/ab", "/a") && is_at_or_below("/ab", "/"));
    }
}

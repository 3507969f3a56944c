//! Access control: lists, identities, what an identity may do, and how a list is put right.
//!
//! Which permission an operation needs, and on which znode, is in `prep` and `reads`.
//!
//! *Invariant: the open list (`world:anyone:cdrwa`) has one form, so that equal lists compare
//! equal.*

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::reply::Error;

/// What may be done: READ 1, WRITE 2, CREATE 4, DELETE 8, ADMIN 16.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Perms(pub i32);

impl Perms {
    /// Read data and children.
    pub const READ: Perms = Perms(1);
    /// Set data.
    pub const WRITE: Perms = Perms(2);
    /// Create children.
    pub const CREATE: Perms = Perms(4);
    /// Delete children.
    pub const DELETE: Perms = Perms(8);
    /// Set the ACL.
    pub const ADMIN: Perms = Perms(16);
    /// All of them.
    pub const ALL: Perms = Perms(31);

    const LETTERS: [(Perms, char); 5] = [
        (Perms::CREATE, 'c'),
        (Perms::DELETE, 'd'),
        (Perms::READ, 'r'),
        (Perms::WRITE, 'w'),
        (Perms::ADMIN, 'a'),
    ];

    /// Is at least one of `wanted` among them?
    pub fn any_of(self, wanted: Perms) -> bool {
        self.0 & wanted.0 != 0
    }

    /// Reads letters out of `cdrwa`.
    pub fn parse(letters: &str) -> Option<Perms> {
        let bit = |letter| Self::LETTERS.iter().find(|row| row.1 == letter).map(|row| row.0.0);
        letters.chars().try_fold(0, |all, letter| Some(all | bit(letter)?)).map(Perms)
    }
}

impl fmt::Display for Perms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 & !Perms::ALL.0 != 0 {
            return write!(f, "{}", self.0);
        }
        let letters = Perms::LETTERS.iter().filter(|row| self.any_of(row.0));
        f.write_str(&letters.map(|row| row.1).collect::<String>())
    }
}

impl fmt::Debug for Perms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Somebody: a scheme and an id within it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AuthId {
    /// `world`, `ip`, `digest`, `auth`, …
    pub scheme: Arc<str>,
    /// What the scheme knows somebody by.
    pub id: Arc<str>,
}

impl AuthId {
    /// The id `id` of `scheme`.
    pub fn new(scheme: &str, id: &str) -> AuthId {
        AuthId { scheme: Arc::from(scheme), id: Arc::from(id) }
    }
}

impl fmt::Display for AuthId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scheme, self.id)
    }
}

/// One entry of an ACL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Entry {
    /// What may be done.
    pub perms: Perms,
    /// By whom.
    pub who: AuthId,
}

/// An access control list. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Acl(Option<Arc<[Entry]>>);

impl Acl {
    /// `world:anyone:cdrwa`.
    // Source: ZooDefs.Ids.OPEN_ACL_UNSAFE; key -1 of ReferenceCountedACLCache.
    pub const fn open() -> Acl {
        Acl(None)
    }

    /// `world:anyone` with these permissions.
    pub fn world(perms: Perms) -> Acl {
        Acl::new(vec![Entry { perms, who: AuthId::new("world", "anyone") }])
    }

    /// The list of these entries.
    pub fn new(entries: Vec<Entry>) -> Acl {
        match entries.as_slice() {
            [only] if only.perms == Perms::ALL && is_anyone(&only.who) => Acl(None),
            _ => Acl(Some(Arc::from(entries))),
        }
    }

    /// Is it open to everyone?
    pub fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// Its entries.
    pub fn entries(&self) -> Vec<Entry> {
        match &self.0 {
            Some(entries) => entries.to_vec(),
            None => vec![Entry { perms: Perms::ALL, who: AuthId::new("world", "anyone") }],
        }
    }

    /// Bytes of its jute vector.
    pub fn wire_len(&self) -> u64 {
        let entry = |e: &Entry| 12 + (e.who.scheme.len() + e.who.id.len()) as u64;
        4 + self.0.as_ref().map_or(23, |entries| entries.iter().map(entry).sum())
    }

    /// May somebody with these ids do one of `wanted`?
    // Source: ZooKeeperServer.checkACL.
    pub fn permits(&self, ids: &[AuthId], wanted: Perms) -> bool {
        let Some(entries) = &self.0 else { return true };
        entries.is_empty()
            || ids.iter().any(|id| &*id.scheme == "super")
            || entries.iter().any(|entry| {
                entry.perms.any_of(wanted) && (is_anyone(&entry.who) || is_one_of(&entry.who, ids))
            })
    }

    /// The list as it is stored: duplicates folded, `auth` replaced by the ids of the caller.
    // Source: PrepRequestProcessor.fixupACL.
    pub fn fixed_up(&self, ids: &[AuthId]) -> Result<Acl, Error> {
        let Some(entries) = &self.0 else {
            return Ok(Acl(None));
        };
        let mut fixed = Vec::with_capacity(entries.len());
        for (place, entry) in entries.iter().enumerate() {
            if !entries[..place].contains(entry) {
                fix_entry(entry, ids, &mut fixed)?;
            }
        }
        match fixed.is_empty() {
            true => Err(Error::InvalidAcl),
            false => Ok(Acl::new(fixed)),
        }
    }

    /// The list as it is shown to those who may not administer the znode.
    // Source: FinalRequestProcessor.processRequest (getACL), ZOOKEEPER-1392.
    pub fn masked(&self) -> Acl {
        let Some(entries) = &self.0 else {
            return Acl(None);
        };
        let mask = |entry: &Entry| match (&*entry.who.scheme, entry.who.id.split(':').next()) {
            ("digest", Some(user)) => {
                let who = AuthId::new("digest", &format!("{user}:x"));
                Entry { perms: entry.perms, who }
            }
            _ => entry.clone(),
        };
        Acl::new(entries.iter().map(mask).collect())
    }
}

impl fmt::Debug for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries();
        f.debug_list().entries(entries.iter().map(|e| format!("{}:{}", e.who, e.perms))).finish()
    }
}

/// Adds what `entry` means for a caller with `ids`.
fn fix_entry(entry: &Entry, ids: &[AuthId], fixed: &mut Vec<Entry>) -> Result<(), Error> {
    if is_anyone(&entry.who) {
        fixed.push(entry.clone());
    } else if &*entry.who.scheme == "auth" {
        let own = ids.iter().filter(|id| &*id.scheme == "digest");
        let before = fixed.len();
        fixed.extend(own.map(|id| Entry { perms: entry.perms, who: id.clone() }));
        if fixed.len() == before {
            return Err(Error::InvalidAcl);
        }
    } else if is_well_formed(&entry.who) {
        fixed.push(entry.clone());
    } else {
        return Err(Error::InvalidAcl);
    }
    Ok(())
}

fn is_anyone(who: &AuthId) -> bool {
    &*who.scheme == "world" && &*who.id == "anyone"
}

fn is_one_of(who: &AuthId, ids: &[AuthId]) -> bool {
    ids.iter().any(|id| {
        id.scheme == who.scheme
            && match &*who.scheme {
                "ip" => ip_matches(&id.id, &who.id),
                "digest" => id.id == who.id,
                _ => false,
            }
    })
}

/// Can the entry's id be an id of its scheme?
// Source: AuthenticationProvider.isValid of ip and digest.
fn is_well_formed(who: &AuthId) -> bool {
    match &*who.scheme {
        "ip" => ip_range(&who.id).is_some(),
        "digest" => java_split_len(&who.id) == 2,
        _ => false,
    }
}

/// How many parts `String.split(":")` makes: empty ones at the end do not count.
fn java_split_len(text: &str) -> usize {
    let parts: Vec<&str> = text.split(':').collect();
    parts.iter().rposition(|part| !part.is_empty()).map_or(0, |last| last + 1)
}

/// `a.b.c.d` or `a.b.c.d/bits` as address and bits.
// Source: IPAuthenticationProvider.isValid.
fn ip_range(text: &str) -> Option<(u32, u32)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, bits.parse::<u32>().ok().filter(|bits| *bits <= 32)?),
        None => (text, 32),
    };
    Some((ip_address(address)?, bits))
}

fn ip_address(text: &str) -> Option<u32> {
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() != 4 {
        return None;
    }
    let byte = |part: &&str| part.parse::<u32>().ok().filter(|byte| *byte <= 255);
    parts.iter().try_fold(0, |all, part| Some(all << 8 | byte(part)?))
}

// Source: IPAuthenticationProvider.matches.
fn ip_matches(own: &str, range: &str) -> bool {
    let (Some(own), Some((address, bits))) = (ip_address(own), ip_range(range)) else {
        return false;
    };
    bits == 0 || (own ^ address) >> (32 - bits) == 0
}

/// The digest id of somebody who says `user:password`.
// Source: DigestAuthenticationProvider.generateDigest.
pub fn digest_id(user_and_password: &str) -> AuthId {
    let user = user_and_password.split(':').next().unwrap_or_default();
    let sha1 = sha1_smol::Sha1::from(user_and_password.as_bytes()).digest().bytes();
    AuthId::new("digest", &format!("{user}:{}", STANDARD.encode(sha1)))
}

#[cfg(test)]
mod tests {
    use super::{Acl, AuthId, Entry, Perms, digest_id};

    fn entry(scheme: &str, id: &str, letters: &str) -> Entry {
        let perms = Perms::parse(letters).expect("the letters are of cdrwa");
        Entry { perms, who: AuthId::new(scheme, id) }
    }

    #[test]
    fn digests_are_those_of_zookeeper() {
        // From the Administrator's Guide.
        assert_eq!(&*digest_id("super:superpw").id, "super:g9oN2HttPfn8MMWJZ2r45Np/LIA=");
    }

    #[test]
    fn who_may_do_what() {
        let check = |entry: Entry, ids: &[AuthId], expected: bool| {
            assert_eq!(Acl::new(vec![entry]).permits(ids, Perms::READ), expected);
        };
        let local = [AuthId::new("ip", "127.0.0.1")];
        check(entry("world", "anyone", "r"), &[], true);
        check(entry("world", "anyone", "cdwa"), &[], false);
        check(entry("ip", "127.0.0.0/8", "r"), &local, true);
        check(entry("ip", "10.0.0.0/8", "r"), &local, false);
        check(entry("digest", "joe:x", "r"), &[AuthId::new("digest", "joe:x")], true);
        check(entry("digest", "joe:x", "r"), &[AuthId::new("super", "s")], true);
    }

    #[test]
    fn lists_are_put_right() {
        let joe = digest_id("joe:secret");
        let check = |entries: Vec<Entry>, expected: Option<Vec<Entry>>| {
            let fixed = Acl::new(entries).fixed_up(std::slice::from_ref(&joe)).ok();
            assert_eq!(fixed, expected.map(Acl::new));
        };
        let open = entry("world", "anyone", "cdrwa");
        check(vec![open.clone(), open.clone()], Some(vec![open.clone()]));
        check(vec![], None);
        check(vec![entry("world", "me", "r")], None);
        check(vec![entry("digest", "joe", "r")], None);
        check(vec![entry("ip", "1.2.3.4/33", "r")], None);
        check(vec![entry("auth", "", "r")], Some(vec![entry("digest", &joe.id, "r")]));
    }
}

//! What a znode knows about itself, and the small values that ZooKeeper's records are made of.
//!
//! How a `Stat` changes is in `tree`.
//!
//! *Invariant: [`StoredStat`] counts creations; only [`Stat`], made for a reply, shows cversion.*

use std::fmt;
use std::sync::Arc;

use super::zxid::Zxid;

/// A session, as all servers know it. 0 is nobody: the server itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SessionId(pub i64);

impl SessionId {
    /// No session: a new client, or the server on its own behalf.
    pub const NONE: SessionId = SessionId(0);
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A wall clock's time or a length of it, in milliseconds, as records carry it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Millis(pub i64);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// A buffer of bytes, or the null buffer, which ZooKeeper keeps apart from the empty one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(Option<Arc<[u8]>>);

impl Bytes {
    /// The null buffer.
    pub const NULL: Bytes = Bytes(None);

    /// The bytes; none for the null buffer.
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// What it says, if it is text; what cannot be read is a replacement character.
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.as_slice())
    }

    /// Is it the null buffer?
    pub fn is_null(&self) -> bool {
        self.0.is_none()
    }

    /// How many bytes; 0 for the null buffer.
    pub fn count(&self) -> i32 {
        i32::try_from(self.as_slice().len()).expect("a request frame is shorter than 2 GiB")
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes(Some(Arc::from(bytes)))
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Bytes {
        Bytes::from(text.as_bytes())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(Some(Arc::from(bytes)))
    }
}

impl From<String> for Bytes {
    fn from(text: String) -> Bytes {
        Bytes::from(text.into_bytes())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("null"),
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => write!(f, "{text:?}"),
                Err(_) => write!(f, "{bytes:02x?}"),
            },
        }
    }
}

/// How long a znode lives.
// Source: CreateMode, EphemeralType.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Owner {
    /// Until deleted.
    #[default]
    Persistent,
    /// Until this session ends.
    Session(SessionId),
    /// Until some time after its last child was deleted.
    Container,
    /// Until childless and unmodified for this long.
    Ttl(Millis),
}

impl Owner {
    const CONTAINER: i64 = i64::MIN;
    const TTL_MARK: i64 = 0xff00_u64.cast_signed() << 48;

    /// The longest TTL that fits in the 40 bits kept for it.
    // Source: EphemeralType.TTL.maxValue with an extended server id.
    pub const MAX_TTL: Millis = Millis(0xff_ffff_ffff);

    /// The `ephemeralOwner` kept in log and snapshot.
    pub fn stored(self) -> i64 {
        match self {
            Owner::Persistent => 0,
            Owner::Session(session) => session.0,
            Owner::Container => Self::CONTAINER,
            Owner::Ttl(ttl) => Self::TTL_MARK | ttl.0,
        }
    }

    /// The `ephemeralOwner` that clients are shown.
    // Source: DataNode.getClientEphemeralOwner.
    pub fn shown(self) -> SessionId {
        match self {
            Owner::Session(session) => session,
            _ => SessionId::NONE,
        }
    }

    /// Does it go with a session?
    pub fn is_ephemeral(self) -> bool {
        matches!(self, Owner::Session(_))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Persistent => f.write_str("persistent"),
            Owner::Session(session) => write!(f, "{session}"),
            Owner::Container => f.write_str("container"),
            Owner::Ttl(ttl) => write!(f, "ttl:{ttl}"),
        }
    }
}

/// A Stat as replies show it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Stat {
    /// The txn that created the znode.
    pub czxid: Zxid,
    /// The txn that last set its data.
    pub mzxid: Zxid,
    /// The txn that last created or deleted a child.
    pub pzxid: Zxid,
    /// Time of `czxid`.
    pub ctime: Millis,
    /// Time of `mzxid`.
    pub mtime: Millis,
    /// How often its data was set.
    pub version: i32,
    /// How often a child was created or deleted.
    pub cversion: i32,
    /// How often its ACL was set.
    pub aversion: i32,
    /// The session it goes with, or none.
    pub ephemeral_owner: SessionId,
    /// Bytes of data.
    pub data_length: i32,
    /// Children now.
    pub num_children: i32,
}

/// A Stat as tree, snapshot and change records keep it.
// Source: StatPersisted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct StoredStat {
    /// The txn that created the znode.
    pub czxid: Zxid,
    /// The txn that last set its data.
    pub mzxid: Zxid,
    /// The txn that last created or deleted a child.
    pub pzxid: Zxid,
    /// Time of `czxid`.
    pub ctime: Millis,
    /// Time of `mzxid`.
    pub mtime: Millis,
    /// How often its data was set.
    pub version: i32,
    /// How often a child was created. Deletions do not count: this numbers sequential znodes.
    pub creations: i32,
    /// How often its ACL was set.
    pub aversion: i32,
    /// How long it lives.
    pub owner: Owner,
}

impl StoredStat {
    /// The Stat of a znode just created.
    // Source: DataTree.createStat.
    pub fn created(zxid: Zxid, time: Millis, owner: Owner) -> StoredStat {
        StoredStat {
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime: time,
            mtime: time,
            owner,
            ..StoredStat::default()
        }
    }

    /// What a reply shows of it.
    // Source: DataNode.copyStat.
    pub fn shown(&self, data_length: i32, num_children: i32) -> Stat {
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            pzxid: self.pzxid,
            ctime: self.ctime,
            mtime: self.mtime,
            version: self.version,
            cversion: self.creations.wrapping_mul(2).wrapping_sub(num_children),
            aversion: self.aversion,
            ephemeral_owner: self.owner.shown(),
            data_length,
            num_children,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Millis, Owner, SessionId, StoredStat};

    #[test]
    fn owners_as_they_are_stored_and_shown() {
        let check = |owner: Owner, stored: u64, shown: i64| {
            assert_eq!(owner.stored().cast_unsigned(), stored);
            assert_eq!(owner.shown(), SessionId(shown));
        };
        check(Owner::Persistent, 0, 0);
        check(Owner::Session(SessionId(26)), 26, 26);
        check(Owner::Container, 0x8000_0000_0000_0000, 0);
        check(Owner::Ttl(Millis(5)), 0xff00_0000_0000_0005, 0);
    }

    #[test]
    fn cversion_is_creations_and_deletions() {
        let stored = StoredStat { creations: 3, ..StoredStat::default() };
        assert_eq!(stored.shown(0, 1).cversion, 5);
        assert_eq!(StoredStat::default().shown(0, 2).cversion, -2);
    }
}

//! The digest of a tree: one number by which servers tell whether they have the same.
//!
//! *Invariant: it depends on what is agreed upon only: not on quotas' figures, nor on the order of
//! znodes.*

use super::path::Path;
use super::tree::{Tree, Znode};

/// The digest, version 2: the sum over all znodes but those below `/zookeeper`.
// Source: DigestCalculator, AdHash.
pub fn of(tree: &Tree) -> u64 {
    let counted = tree.iter().filter(|(path, _)| !path.starts_with("/zookeeper/"));
    counted.fold(0, |sum: u64, (path, znode)| sum.wrapping_add(of_znode(path, znode).into()))
}

// Source: DigestCalculator.calculateDigest; the root is called by its empty name.
fn of_znode(path: &Path, znode: &Znode) -> u32 {
    let path = if path.as_str() == "/" { "" } else { path.as_str() };
    let stat = &znode.stat;
    let longs = [stat.czxid.0, stat.mzxid.0, stat.pzxid.0, stat.ctime.0, stat.mtime.0];
    let ints = [stat.version, stat.creations, stat.aversion];
    let mut sum = crc(!0, path.as_bytes());
    sum = crc(sum, znode.data.as_slice());
    sum = longs.iter().fold(sum, |sum, long| crc(sum, &long.to_be_bytes()));
    sum = ints.iter().fold(sum, |sum, int| crc(sum, &int.to_be_bytes()));
    !crc(sum, &stat.owner.stored().to_be_bytes())
}

/// CRC-32 of more bytes.
fn crc(before: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(before, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

#[cfg(test)]
mod tests {
    use super::{crc, of};
    use crate::zk::tree::Tree;

    #[test]
    fn an_empty_tree_has_the_digest_of_a_real_one() {
        assert_eq!(!crc(!0, b"123456789"), 0xcbf4_3926);
        assert_eq!(of(&Tree::new()), 1_371_985_504);
    }
}

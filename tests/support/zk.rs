//! Players of what was recorded from real ZooKeeper servers, by the name of their file.
//! Cases and their forms are those of the recordings; the rules under test lie in `zk`.

use super::Player;

/// Each kind that is played, by its file's name.
pub const KINDS: &[(&str, Player)] = &[];

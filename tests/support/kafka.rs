//! Players of what was recorded from real Kafka: assignors, elections, placements, groups.
//! Cases and their forms are those of the recordings; the rules under test lie in `kafka`.

use super::Player;

/// Each kind that is played, by its file's name.
pub const KINDS: &[(&str, Player)] = &[];

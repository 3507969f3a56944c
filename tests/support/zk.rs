//! Players of what was recorded from real ZooKeeper servers, by the name of their file.
//! Cases and their forms are those of the recordings; the rules under test lie in `zk`.
//! *Invariant: everything that was recorded of a step is compared, unless a note says otherwise.*

mod bench;
mod case;
mod cli;
mod client_library;
mod ensemble;
mod four_letter;
mod mask;
mod notation;
mod timing;
mod words;

use serde_json::Value;

use super::{Played, Player, Tally};

/// Each kind that is played, by its file's name.
pub const KINDS: &[(&str, Player)] = &[
    ("acl", cases),
    ("cli", cli::play),
    ("client-library", client_library::play),
    ("create", cases),
    ("ensemble", ensemble::play),
    ("four-letter-words", four_letter::play),
    ("lifetime", cases),
    ("multi", cases),
    ("paths", cases),
    ("pipeline", cases),
    ("random-acl", cases),
    ("random-multi", cases),
    ("random-persistent", cases),
    ("random-session", cases),
    ("random-tree", cases),
    ("random-watch", cases),
    ("read", cases),
    ("recipe", cases),
    ("sequence-overflow", cases),
    ("session", cases),
    ("timing", timing::play),
    ("watch", cases),
    ("watch2", cases),
    ("write", cases),
];

/// Plays every case of a file on a server of its own.
fn cases(recorded: &Value) -> Played {
    let Some(cases) = recorded.get("cases").and_then(Value::as_array) else {
        return Played::Unreadable("no cases".into());
    };
    let mut tally = Tally::default();
    for case in cases {
        let name = case.get("name").and_then(Value::as_str).unwrap_or("?");
        tally.case(case::play(case).map_err(|told| format!("{name}: {told}")));
    }
    Played::Counted(tally)
}

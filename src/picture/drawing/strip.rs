//! A replica's strip: rail, star, pennant, records, the gate of the high watermark, the lag.
//!
//! *Invariant:* the gate stands at the same record on every copy of a partition that is not far
//! behind.

use crate::picture::shape::Drawing;
use crate::picture::stage::{Replica, Stand};
use crate::text::Phrase;

use super::Hit;

/// From one record to the next.
pub const PITCH: i32 = 9;
/// The height of a strip.
const HEIGHT: i32 = 12;

/// Where a strip stands and how much room it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its upper left corner: where its label begins.
    pub at: (i32, i32),
    /// The room of the label, star and rail.
    pub label: i32,
    /// How many records fit.
    pub cells: i32,
    /// Whether words stand above the strip.
    pub airy: bool,
    /// Whether the broker is gone.
    pub gone: bool,
}

impl Seat {
    /// Where the strip can be hit.
    pub fn hit(&self) -> Hit {
        let (x, y) = self.at;
        ((x - 4, y - 6), (self.end() - x + 8, HEIGHT + 12))
    }

    fn rail(&self) -> i32 {
        self.at.0 + self.label
    }

    fn end(&self) -> i32 {
        if self.cells == 0 {
            return self.rail();
        }
        self.rail() + self.cells * PITCH + 22
    }

    fn x_of(&self, replica: &Replica, offset: i64) -> i32 {
        let cells = i64::from(self.cells);
        let cell = (offset - replica.first).clamp(0, cells);
        self.rail() + i32::try_from(cell).expect("clamped to the cells") * PITCH
    }
}

/// A replica's strip at its seat.
pub fn strip(seat: &Seat, replica: &Replica) -> Drawing {
    let mut drawing = Drawing::new();
    if seat.cells == 0 {
        return name(seat, replica);
    }
    drawing.over(head(seat, replica));
    drawing.over(records(seat, replica));
    if let Stand::Leading { epoch } | Stand::Believing { epoch } = replica.stand {
        drawing.over(pennant(seat, replica, epoch));
    }
    drawing.over(gate(seat, replica));
    drawing.over(lag(seat, replica));
    drawing
}

/// One of three classes: of a strip that is gone, leads, or does neither.
fn shade(seat: &Seat, replica: &Replica, leads: &'static str, else_: &'static str) -> &'static str {
    match replica.stand {
        _ if seat.gone => "gonet",
        Stand::Leading { .. } => leads,
        Stand::Following | Stand::Believing { .. } | Stand::Only => else_,
        Stand::Out => "gonet",
    }
}

/// The partition's name, and the star of a preferred leader; of a slim card that is all.
fn name(seat: &Seat, replica: &Replica) -> Drawing {
    let mut drawing = Drawing::new();
    let (x, y) = seat.at;
    let name = if seat.gone { "gonet" } else { shade(seat, replica, "b", "i2") };
    let out = if seat.cells == 0 { "gonet" } else { "i2" };
    let name = if replica.stand == Stand::Out && !seat.gone { out } else { name };
    drawing.text((x, y + 10), Phrase::raw(&replica.partition), format!("t11 {name}"));
    if replica.preferred {
        let class = if seat.gone { "gonefill" } else { "inkfill" };
        drawing.path((seat.rail() - 16, y + 6), STAR, class);
    }
    drawing
}

fn head(seat: &Seat, replica: &Replica) -> Drawing {
    let mut drawing = name(seat, replica);
    let y = seat.at.1;
    let rail = seat.rail();
    let apart = seat.gone || replica.stand == Stand::Out;
    let until = if replica.stand == Stand::Out { rail - 6 } else { rail };
    drawing.line((rail - 9, y + 6), (until, y + 6), if apart { "ln1 gone" } else { "ln1" });
    let end = shade(seat, replica, "b", "i2");
    // A long number is smaller and stands a little further out, clear of the gate.
    let number = replica.bytes.unwrap_or(replica.end);
    let (size, wide) = if number >= 1000 { ("t10", 6) } else { ("t11", 0) };
    drawing.ended((seat.end() + wide, y + 10), Phrase::raw(number), format!("{size} {end}"));
    if replica.bytes.is_some() && seat.airy {
        let words = Phrase::key("page.strip.bytes");
        drawing.ended((seat.end(), y - 6), words, "t10 minor i3");
    }
    drawing
}

/// The star of the preferred leader.
pub const STAR: &str = "M0 -4.8L1.2 -1.6L4.6 -1.5L1.9 .6L2.8 3.9L0 2L-2.8 3.9L-1.9 .6L-4.6 -1.5\
                    L-1.2 -1.6Z";

/// Its records: solid up to the gate, pale beyond it.
pub fn records(seat: &Seat, replica: &Replica) -> Drawing {
    let mut drawing = Drawing::new();
    let kind = match replica.stand {
        _ if seat.gone => "d",
        Stand::Leading { .. } => "l",
        Stand::Following | Stand::Believing { .. } | Stand::Only => "f",
        Stand::Out => "o",
    };
    let end = seat.x_of(replica, replica.end);
    let gate = seat.x_of(replica, replica.high_watermark).min(end);
    let y = seat.at.1;
    let run = |from: i32, to: i32| -> String {
        let cells = (from..to).step_by(PITCH as usize);
        cells.map(|x| format!("M{x}.5 {y}.5h7v11h-7z")).collect()
    };
    if gate > seat.rail() {
        drawing.path((0, 0), run(seat.rail(), gate), format!("rec {kind}"));
    }
    if end > gate {
        drawing.path((0, 0), run(gate, end), format!("rec {kind} open"));
    }
    let mut ends = end;
    if let Some((to, from)) = replica.cut {
        ends = seat.x_of(replica, from).max(end);
        drawing.path((0, 0), run(end, ends), "rec cut");
        drawing.path((seat.x_of(replica, to), y), SCISSORS, "scissors");
    }
    if replica.stand == Stand::Out || replica.lacks > 0 {
        drawing.over(out(seat, replica, ends));
    }
    drawing
}

/// Where a log was cut: open scissors whose blades meet the cut.
const SCISSORS: &str = "M-3.4 -5L2.4 8M3.4 -5L-2.4 8M-2.4 8a2 2 0 1 0 -.9 3.6a2 2 0 0 0 .9 -3.6\
                        M2.4 8a2 2 0 1 1 .9 3.6a2 2 0 0 1 -.9 -3.6";

/// The word for a strip that is out: behind its records, or above its end if there is no room.
fn out(seat: &Seat, replica: &Replica, end: i32) -> Drawing {
    let mut drawing = Drawing::new();
    let class = "t11 it gonet";
    let word = match (replica.stand, replica.lacks) {
        (_, 0) => Phrase::key("page.strip.out"),
        (Stand::Out, n) => Phrase::key("page.pair")
            .with_phrase("a", Phrase::key("page.strip.out"))
            .with_phrase("b", Phrase::key("page.strip.lacks").with("n", n)),
        (_, n) => Phrase::key("page.strip.lacks").with("n", n),
    };
    let y = seat.at.1;
    if end + 24 < seat.rail() + seat.cells * PITCH {
        drawing.text((end + 4, y + 10), word, class);
    } else if seat.airy {
        drawing.ended((seat.end(), y - 4), word, class);
    }
    drawing
}

/// The leader's flag.
pub const FLAG: &str = "M0 13v-24h12l-3 4l3 4h-12";

/// The same where rows are close.
pub const SMALL_FLAG: &str = "M0 13v-15h8l-2 3l2 3h-8";

fn pennant(seat: &Seat, replica: &Replica, epoch: i32) -> Drawing {
    let mut drawing = Drawing::new();
    let (x, y) = (seat.rail(), seat.at.1);
    let class = match replica.stand {
        _ if seat.gone => "pennant dead",
        Stand::Believing { .. } => "pennant stale",
        _ => "pennant",
    };
    if !seat.airy {
        drawing.path((x - 1, y), SMALL_FLAG, class);
        return drawing;
    }
    drawing.path((x - 1, y), FLAG, class);
    if !seat.gone {
        drawing.text((x + 14, y - 6), Phrase::raw(format!("e{epoch}")), "t10 minor i2");
    }
    let gate = seat.x_of(replica, replica.high_watermark);
    // What is left of a broker is its disk, and the HW there is that of the last checkpoint.
    let words = match seat.gone {
        true => Phrase::key("page.strip.hw-on-disk").with("n", replica.high_watermark),
        false => Phrase::raw(format!("HW {}", replica.high_watermark)),
    };
    let class = if seat.gone { "t10 gonet" } else { "t10" };
    let least = if seat.gone { 82 } else { 62 };
    let under = (gate + 3).max(x + least).min(seat.end() - 29);
    drawing.ended((under, y - 6), words, class);
    if !seat.gone {
        drawing.ended((seat.end(), y - 6), Phrase::raw("LEO"), "t10 minor i3");
    }
    drawing
}

/// The gate of the high watermark.
pub fn gate(seat: &Seat, replica: &Replica) -> Drawing {
    let mut drawing = Drawing::new();
    let x = seat.x_of(replica, replica.high_watermark);
    let class = if seat.gone { "ln15 gone" } else { "ln15" };
    // Close rows keep clear of each other.
    let d = if seat.airy { "M-.5 -3V15M-3 -3h5M-3 15h5" } else { "M-.5 -1V13M-3 -1h5M-3 13h5" };
    drawing.path((x, seat.at.1), d, class);
    drawing
}

/// The wedge from where a group has committed to the gate.
pub fn lag(seat: &Seat, replica: &Replica) -> Drawing {
    let mut drawing = Drawing::new();
    let Some(committed) = replica.committed else {
        return drawing;
    };
    let gate = seat.x_of(replica, replica.high_watermark);
    let from = seat.x_of(replica, committed);
    if gate <= from {
        return drawing;
    }
    let class = if seat.gone { "wedge dead" } else { "wedge" };
    let d = format!("M-1 {HEIGHT}L{} 0V{HEIGHT}Z", gate - from - 1);
    drawing.path((from, seat.at.1), d, class);
    drawing
}

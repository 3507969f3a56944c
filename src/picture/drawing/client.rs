//! The clients: a producer with its window, a group with its seats and its matrix, a client of
//! ZooKeeper that somebody types at.
//!
//! *Invariant:* a partition's column is at the same place for every member of a group.

use crate::picture::shape::Drawing;
use crate::picture::stage::{Cell, Group, Life, Member, Producer, Shell, Slot};
use crate::text::Phrase;

use super::Light;
use super::plate::Plate;

/// Where a client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its upper left corner.
    pub at: (i32, i32),
    /// Its width and height.
    pub size: (i32, i32),
}

/// A producer: the tail of an arrow, and its slots in flight.
pub fn producer(frame: &Frame, producer: &Producer, light: Light, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    let (x, y) = frame.at;
    let h = frame.size.1;
    let body = producer_body(frame, plate);
    let class = match producer.life {
        Life::Running => "obj",
        Life::Frozen => "obj frozen",
        _ => "obj dead",
    };
    let (half, tip) = (h / 2, 13);
    let d = format!("M0 0H{}l{tip} {half}l-{tip} {}H0l11 -{}z", body - tip, h - half, h - half);
    drawing.path((x, y), d.clone(), class);
    if producer.life.is_gone() {
        drawing.path((x, y), d, "hatchfill");
    }
    if light == Light::Lit {
        drawing.rect((x - 5, y - 5), (body + 10, h + 10), 6, "now");
    }
    drawing.over(producer_words(frame, producer, plate));
    drawing
}

/// How wide a producer's own shape is: large and tall plates have the window inside it.
fn producer_body(frame: &Frame, plate: &Plate) -> i32 {
    match (plate.phone, plate.minor) {
        (true, _) => frame.size.0,
        (false, true) => 185,
        (false, false) => 245,
    }
}

fn producer_words(frame: &Frame, producer: &Producer, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    let (x, y) = frame.at;
    let middle = y + frame.size.1 / 2;
    drawing.text((x + 24, middle + 8), Phrase::raw(&producer.name), "client");
    let left = x + 58;
    let acks = Phrase::raw(&producer.setting);
    if frame.size.1 < 50 {
        drawing.text((left, middle + 4), acks, "t11 i2");
    } else {
        drawing.text((left, y + 18), Phrase::key("page.kind.producer"), "sc");
        drawing.text((left, y + 32), acks, "t11 i2");
        drawing.text((left, y + 46), in_flight(producer), "t11 i2");
    }
    let within = plate.phone || !plate.minor;
    let window = (x + if within { 136 } else { 202 }, middle - 8);
    if plate.minor && frame.size.1 >= 50 {
        drawing.text((window.0, y + 14), Phrase::key("page.producer.window"), "sc");
        drawing.text((window.0, y + 54), producer.note.clone(), "t11 i2");
    }
    for (slot, column) in producer.window.iter().zip(0..) {
        drawing.over(slot_cell((window.0 + column * 18, window.1), *slot));
    }
    drawing
}

/// A client of ZooKeeper: a screen with its prompt, and room for its session's ring.
pub fn shell(frame: &Frame, shell: &Shell, light: Light) -> Drawing {
    let mut drawing = Drawing::new();
    let ((x, y), (w, h)) = (frame.at, frame.size);
    let class = match shell.life {
        Life::Running => "obj",
        Life::Frozen => "obj frozen",
        _ => "obj dead",
    };
    drawing.rect((x, y), (w, h), 4, class);
    if shell.life.is_gone() {
        drawing.rect((x, y), (w, h), 4, "hatchfill");
    }
    if light == Light::Lit {
        drawing.rect((x - 4, y - 4), (w + 8, h + 8), 7, "now");
    }
    let gone = if shell.life.is_gone() { " gonet" } else { "" };
    let middle = y + h / 2;
    if w > 80 {
        drawing.path((x + w - 18, middle - 4), "M0 0l4 4l-4 4M6 8h7", "ln1");
    }
    if w > 50 {
        let letters = i32::try_from(shell.name.chars().count()).expect("names are short");
        let size = if 35 + 7 * letters < w { "t12" } else { "t10" };
        drawing.text((x + 35, middle + 4), Phrase::raw(&shell.name), format!("{size} b{gone}"));
    }
    drawing
}

/// How many of a producer's requests are on their way.
pub fn in_flight(producer: &Producer) -> Phrase {
    let taken = producer.window.iter().filter(|slot| **slot == Slot::Flying).count();
    Phrase::key("page.producer.in-flight").with("n", taken).with("of", producer.window.len())
}

fn slot_cell(at: (i32, i32), slot: Slot) -> Drawing {
    let mut drawing = Drawing::new();
    let class = match slot {
        Slot::Free => "cell",
        Slot::Flying => "cell on",
        Slot::Again(_) => "cell stall",
    };
    drawing.rect(at, (15, 15), 2, class);
    if let Slot::Again(times) = slot {
        drawing.centred((at.0 + 7, at.1 + 12), Phrase::raw(times), "t10 gonet");
    }
    drawing
}

/// A group's frame: name, state and generation, then who owns what.
pub fn group(frame: &Frame, group: &Group, light: Light, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    let (x, y) = frame.at;
    let (w, h) = frame.size;
    drawing.rect((x, y), (w, h), 4, "obj");
    let matrix = Matrix::of(frame, group, plate);
    drawing.over(matrix.holders(group));
    if light == Light::Lit {
        drawing.rect((x - 5, y - 5), (w + 10, h + 10), 8, "now");
    }
    let middle = y + h / 2;
    let letters = i32::try_from(group.name.chars().count()).expect("names are short");
    let (short, low) = (letters < 4, h < 50);
    let name = Phrase::raw(&group.name);
    let left = x + if short { (16 + 14 * letters + 6).max(50) } else { 16 };
    if short {
        drawing.text((x + 16, middle + 8), name, "client");
    } else {
        drawing.text((x + 16, if low { middle - 3 } else { y + 18 }), name, "t12 b");
    }
    if low && short && halves_of(&group.state).is_none() && h >= 24 {
        drawing.text((left, middle - 1), group.state.clone(), "t11 b");
        drawing.text((left, middle + 10), group.coordination.clone(), "t10 i2");
    } else if low {
        drawing.over(state_words((left, middle + if short { 4 } else { 12 }), group, short));
    } else {
        if short {
            drawing.text((left, y + 18), Phrase::key("page.kind.group"), "sc");
        }
        drawing.text((left, y + 32), group.state.clone(), "t11 b");
        drawing.text((left, y + 46), group.coordination.clone(), "t11 i2");
        drawing.line((x + plate.group_head, y), (x + plate.group_head, y + h), "hair");
    }
    drawing.over(members(&matrix, frame, group, plate));
    drawing
}

/// A state where there is little room: one of two words is told in two lines, if there are two.
fn state_words((x, y): (i32, i32), group: &Group, in_two: bool) -> Drawing {
    let mut drawing = Drawing::new();
    if let Some((first, rest)) = halves_of(&group.state).filter(|_| in_two) {
        drawing.text((x, y - 7), Phrase::raw(first), "t11 b");
        drawing.text((x, y + 6), Phrase::raw(rest), "t11 b");
    } else {
        drawing.text((x, y), group.state.clone(), "t11 b");
    }
    drawing
}

/// Who reads which partitions: `c1: 0, 1; c2: 2`.
pub fn shares(group: &Group) -> String {
    let share = |member: &Member| {
        let cells = group.partitions.iter().zip(&member.cells);
        let owned = cells.filter(|(_, cell)| cell.is_held());
        let owned: Vec<String> = owned.map(|(partition, _)| partition.to_string()).collect();
        format!("{}: {}", member.name, if owned.is_empty() { "-".into() } else { owned.join(", ") })
    };
    group.members.iter().map(share).collect::<Vec<_>>().join("; ")
}

/// A state of two words in two: `Preparing` and `Rebalance`.
fn halves_of(state: &Phrase) -> Option<(&str, &str)> {
    let Phrase::Raw(state) = state else { return None };
    let at = state.rfind(char::is_uppercase).filter(|at| *at > 0)?;
    Some(state.split_at(at))
}

/// How the members of a group stand in its frame.
struct Matrix {
    left: i32,
    top: i32,
    across: i32,
    pitch: i32,
    rows: i32,
    cell: (i32, i32),
    step: i32,
}

impl Matrix {
    fn of(frame: &Frame, group: &Group, plate: &Plate) -> Matrix {
        let members = i32::try_from(group.members.len()).expect("few members are drawn").max(1);
        let low = frame.size.1 < 50;
        let most = if low { 1 } else { 3 };
        let columns = (members + most - 1) / most;
        let rows = (members + columns - 1) / columns;
        let room = frame.size.0 - plate.group_head - 8;
        let across = room / columns;
        let partitions = i32::try_from(group.partitions.len()).expect("few partitions").max(1);
        let rest = if columns == 1 { 114 } else { 56 };
        let step = ((across - rest) / partitions).clamp(8, 36);
        let (pitch, height) = match rows {
            _ if low => (13, 13),
            1 | 2 => (20, 16),
            _ => (13, 11),
        };
        let cell = (step - if step > 20 { 6 } else { 2 }, height);
        let top = if low { frame.at.1 + (frame.size.1 - height) / 2 } else { frame.at.1 + 18 };
        let left = frame.at.0 + plate.group_head + 8;
        Matrix { left, top, across, pitch, rows, cell, step }
    }

    /// Whether there is room for a cell of each partition and each member.
    fn fits(&self, group: &Group) -> bool {
        let partitions = i32::try_from(group.partitions.len()).unwrap_or(i32::MAX);
        self.indent() + partitions.saturating_mul(self.step) <= self.across
    }

    /// Whether there is no room for the members' seats.
    fn is_tight(&self) -> bool {
        self.rows > 2 || self.across < 150
    }

    /// Where the cells begin, after a member's name.
    fn indent(&self) -> i32 {
        if self.is_tight() { 32 } else { 54 }
    }

    /// Where a member's line begins: its seat.
    fn seat(&self, number: i32) -> (i32, i32) {
        let (column, row) = (number / self.rows, number % self.rows);
        (self.left + column * self.across, self.top + row * self.pitch)
    }

    /// Where a member's cell of a partition is.
    fn cell_at(&self, member: i32, column: i32) -> (i32, i32) {
        let (x, y) = self.seat(member);
        (x + self.indent() + column * self.step, y)
    }

    /// Who reads each partition: for each two shapes, so that they are the same ones when it goes
    /// to somebody else, and travel there.
    fn holders(&self, group: &Group) -> Drawing {
        let mut drawing = Drawing::new();
        if !self.fits(group) {
            return drawing;
        }
        for column in 0..group.partitions.len() {
            let owns = |member: &Member| member.cells.get(column) == Some(&Cell::Owns);
            let Some(member) = group.members.iter().position(owns) else {
                drawing.circle((0, 0), 0, "nofill");
                drawing.circle((0, 0), 0, "nofill");
                continue;
            };
            let number = i32::try_from(member).expect("few members are drawn");
            let (x, y) = self.cell_at(number, i32::try_from(column).expect("few are drawn"));
            drawing.rect((x, y), self.cell, 2, "cell on held");
            if self.cell.0 >= 16 && self.cell.1 >= 16 {
                let middle = x + self.cell.0 / 2;
                drawing.path((middle - 4, y + 8), "M0 0l3 3l6 -6", "tick held");
            } else {
                drawing.circle((0, 0), 0, "nofill");
            }
        }
        drawing
    }
}

fn members(matrix: &Matrix, frame: &Frame, group: &Group, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    if group.members.is_empty() {
        let at = (frame.at.0 + plate.group_head + 16, frame.at.1 + frame.size.1 / 2 + 4);
        drawing.text(at, Phrase::key("page.group.nobody"), "t11 it i2");
        return drawing;
    }
    if !matrix.fits(group) {
        return counts(frame, group, plate);
    }
    let columns = matrix.left + matrix.indent();
    if frame.size.1 >= 50 {
        for (partition, column) in group.partitions.iter().zip(0..) {
            let x = columns + column * matrix.step + matrix.cell.0 / 2;
            drawing.centred((x, matrix.top - 5), Phrase::raw(partition), "t10 i3");
        }
        let topic = Phrase::raw(&group.topic);
        drawing.ended((columns - 6, matrix.top - 5), topic, "t10 i3");
    }
    for (member, number) in group.members.iter().zip(0..) {
        drawing.over(member_line(matrix, number, member, group));
    }
    drawing
}

/// How many partitions each member has, where there is no room for all cells; those that have no
/// room either are counted.
fn counts(frame: &Frame, group: &Group, plate: &Plate) -> Drawing {
    const ACROSS: i32 = 64;
    const PITCH: i32 = 13;
    let mut drawing = Drawing::new();
    let (left, top) = (frame.at.0 + plate.group_head + 12, frame.at.1 + 6);
    let rows = ((frame.size.1 - 12) / PITCH).max(1);
    let columns = ((frame.at.0 + frame.size.0 - left) / ACROSS).max(1);
    let seats = usize::try_from(rows * columns).expect("there is a seat");
    let members = group.members.len();
    let shown = if members > seats { seats - 1 } else { members };
    let seat = |number: i32| {
        let (column, row) = (number / rows, number % rows);
        (left + column * ACROSS, top + row * PITCH + 10)
    };
    for (member, number) in group.members[..shown].iter().zip(0..) {
        let gone = if member.life.is_gone() { " gonet" } else { "" };
        let owned = member.cells.iter().filter(|cell| cell.is_held()).count();
        let (x, y) = seat(number);
        drawing.text((x, y), Phrase::raw(&member.name), format!("t11 b{gone}"));
        drawing.ended((x + ACROSS - 12, y), Phrase::raw(format!("{owned}")), "t11 i2");
    }
    if shown < members {
        let more = Phrase::key("page.broker.more").with("n", members - shown);
        drawing.text(seat(i32::try_from(shown).expect("few are drawn")), more, "t11 it i2");
    }
    drawing
}

fn member_line(matrix: &Matrix, number: i32, member: &Member, group: &Group) -> Drawing {
    let mut drawing = Drawing::new();
    let (x, y) = matrix.seat(number);
    let base = y + matrix.cell.1 - 3;
    let gone = if member.life.is_gone() { " gonet" } else { "" };
    let tight = matrix.is_tight();
    if !tight {
        drawing.path((x + 4, y), "M4 15v-8a6 6 0 0 1 12 0v8M0 11h20", "ln1");
    }
    let name = x + if tight { 12 } else { 30 };
    drawing.text((name, base), Phrase::raw(&member.name), format!("t12 b{gone}"));
    for ((cell, partition), column) in member.cells.iter().zip(&group.partitions).zip(0..) {
        drawing.over(owned(matrix, matrix.cell_at(number, column), *cell, partition));
    }
    if matrix.across > 250 {
        let after = x
            + matrix.indent()
            + matrix.step * i32::try_from(group.partitions.len()).unwrap_or(0)
            + 10;
        drawing.text((after, base), member.note.clone(), "t11 b");
    }
    drawing
}

/// Two cells, for the legend: one that is read, one that was let go.
pub fn cells((x, y): (i32, i32)) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.rect((x, y), (16, 16), 2, "cell on");
    drawing.path((x + 4, y + 8), "M0 0l3 3l6 -6", "tick");
    drawing.rect((x + 24, y), (16, 16), 2, "cell stall");
    drawing.rect((x + 24, y), (16, 16), 2, "hatchfill");
    drawing
}

fn owned(matrix: &Matrix, (x, y): (i32, i32), cell: Cell, partition: &str) -> Drawing {
    let mut drawing = Drawing::new();
    let class = match cell {
        Cell::Owns | Cell::Empty => "cell free",
        Cell::Waits | Cell::Believes | Cell::Revoked => "cell stall",
    };
    drawing.rect((x, y), matrix.cell, 2, class);
    let middle = x + matrix.cell.0 / 2;
    match cell {
        Cell::Owns if matrix.cell.0 >= 16 && matrix.cell.1 < 16 => {
            let base = y + matrix.cell.1 - 2;
            drawing.centred((middle, base), Phrase::raw(partition), "t10 b inv");
        }
        Cell::Waits if matrix.cell.0 >= 28 => {
            let base = y + matrix.cell.1 - 4;
            drawing.centred((middle, base), Phrase::key("page.group.waits"), "t10 gonet");
        }
        Cell::Believes | Cell::Revoked => drawing.rect((x, y), matrix.cell, 2, "hatchfill"),
        _ => {}
    }
    drawing
}

//! Figure 4: the lanes. One line per server, session, broker and member, all over one axis of time.
//!
//! Left of the cursor is fact; right of it only what is armed is drawn, as expected, not promised.
//! Geometry is in tenths of a pixel, so that equal pictures are equal.
//! *Invariant:* the picture is a function of chronicle, cluster, window and selection.

use super::brokers;
use super::chronicle::{Chronicle, History, Lane, Stage, is_broker, is_member, is_server};
use super::drawing::broker;
use super::ensemble::{self, Held, Run};
use super::stage::{self, Age, Broker, Life, Role, Thread};
use crate::cluster::{Cluster, Trace};
use crate::lab::why;
use crate::sim::{EventId, Power, ProcessId, SimTime, Span};
use crate::text::Phrase;
use crate::zk::quorum_peer::QuorumPeer;

/// Height of a lane, in tenths.
pub const LANE: i32 = 170;
/// Room between groups of lanes.
pub const GAP: i32 = 60;
/// Where the first lane begins, below the ruler.
pub const TOP: i32 = 300;
/// Width of the past: from the tree's edge to the inspector's.
pub const PAST: i32 = 8320;

/// Which time the lanes show: the cursor stands at the right end of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The time under the cursor.
    pub cursor: SimTime,
    /// Simulated microseconds per pixel.
    pub micros_per_px: u64,
    /// Width of the past in tenths.
    pub past: i32,
    /// Width of the future in tenths.
    pub future: i32,
}

impl Window {
    /// Where `at` lies, in tenths from the left edge of the lanes.
    pub fn x(&self, at: SimTime) -> i32 {
        let tenths = |span: Span| {
            let tenths = span.as_micros() * 10 / self.micros_per_px.max(1);
            i32::try_from(tenths.min(1_000_000)).expect("bounded above")
        };
        match at > self.cursor {
            true => self.past + tenths(at.since(self.cursor)),
            false => self.past - tenths(self.cursor.since(at)),
        }
    }

    /// The time at `x` tenths from the left edge.
    pub fn time_at(&self, x: i32) -> SimTime {
        let micros =
            |tenths: i32| Span::micros(tenths.unsigned_abs() as u64 * self.micros_per_px / 10);
        match x >= self.past {
            true => self.cursor + micros(x - self.past),
            false => SimTime::ZERO + self.cursor.since(SimTime::ZERO + micros(self.past - x)),
        }
    }

    fn start(&self) -> SimTime {
        self.time_at(0)
    }
}

/// Everything that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanesPicture {
    /// The lanes from top to bottom.
    pub rows: Vec<Row>,
    /// Rules between groups: their heights in tenths.
    pub rules: Vec<i32>,
    /// The ruler: places and labels.
    pub ticks: Vec<Tick>,
    /// Marked moments.
    pub marks: Vec<MarkDrawn>,
    /// Causes and effects of the selection.
    pub arrows: Vec<Arrow>,
    /// Height of all, in tenths.
    pub height: i32,
    /// Where the cursor stands, in tenths.
    pub now: i32,
    /// The time under it.
    pub clock: String,
}

/// A tick of the ruler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Where.
    pub x: i32,
    /// What it says, if anything.
    pub label: Option<String>,
}

/// One lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which.
    pub lane: Lane,
    /// Its name.
    pub name: Phrase,
    /// What it is now.
    pub state: Phrase,
    /// Its top in tenths.
    pub top: i32,
    /// Nothing runs there.
    pub gone: bool,
    /// It leads.
    pub strong: bool,
    /// What is drawn on it.
    pub strokes: Vec<Stroke>,
}

/// Something drawn on a lane; places in tenths from the left edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// A band that means this.
    Band {
        /// From here.
        from: i32,
        /// To here.
        to: i32,
        /// What it means.
        kind: Band,
    },
    /// A level that sinks from beat to beat: places and heights, full at 1000.
    Level(Vec<(i32, i32)>),
    /// The rest of a level, as expected.
    Expected {
        /// The height now.
        level: i32,
        /// Where the expectation begins.
        from: i32,
        /// Where it will be empty.
        empty_at: i32,
    },
    /// The crown changes hands here.
    Crown {
        /// Where.
        x: i32,
        /// Who has it, and the epoch.
        words: Phrase,
    },
}

/// What a band means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// A server that follows.
    Follows,
    /// A server that leads or serves alone.
    Leads,
    /// A server that looks for a leader.
    Looks,
    /// Nothing runs.
    Gone,
    /// It stands still.
    Frozen,
    /// Somebody is controller.
    Held,
    /// Nobody is.
    Vacant,
    /// A broker that runs and leads so many partitions.
    Up(u16),
    /// A member that owns partitions.
    Owns,
    /// A member between two generations.
    Joins,
}

/// A marked moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkDrawn {
    /// Where.
    pub at: (i32, i32),
    /// Where its cause happened, on another lane.
    pub from: Option<(i32, i32)>,
    /// Its event.
    pub event: EventId,
    /// Somebody's command: drawn as the reader's diamond.
    pub by_you: bool,
}

/// An arrow between two events of the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// From here.
    pub from: (i32, i32),
    /// To here.
    pub to: (i32, i32),
    /// Towards a cause or an effect.
    pub kind: ArrowKind,
    /// How many steps from the selection.
    pub depth: u8,
}

/// Which way an arrow explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowKind {
    /// Why.
    Cause,
    /// So what.
    Effect,
}

/// What the lanes show; what the stage says of a broker, its lane says too.
pub fn lanes(
    run: Run<'_>,
    brokers: &[Broker],
    chronicle: &Chronicle,
    window: Window,
    events: &[EventId],
) -> LanesPicture {
    let (places, rules, height) = seats(run.cluster, chronicle, window);
    let now = Now { cluster: run.cluster, held: &ensemble::sessions(run), brokers };
    let rows = places.iter().map(|(lane, top)| {
        let name = name(run.cluster, &places, *lane);
        row(&now, chronicle, window, (*lane, *top, name))
    });
    let rows: Vec<Row> = rows.collect();
    let marks = marks(run, chronicle, window, &places);
    let arrows = events
        .iter()
        .flat_map(|event| arrows(run.cluster, run.trace, window, &places, *event))
        .collect();
    let clock = clock(window);
    LanesPicture {
        rows,
        rules,
        ticks: ticks(window),
        marks,
        arrows,
        height,
        now: window.past,
        clock,
    }
}

/// The time under the cursor, as fine as the scale shows.
fn clock(window: Window) -> String {
    let micros = window.cursor.as_micros();
    match window.micros_per_px {
        0..=999 => format!("{}.{:04} s", micros / 1_000_000, micros % 1_000_000 / 100),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}

type Places = Vec<(Lane, i32)>;

/// The lanes in their groups, each with its top.
fn seats(cluster: &Cluster, chronicle: &Chronicle, window: Window) -> (Places, Vec<i32>, i32) {
    let ids = |is: fn(&Cluster, ProcessId) -> bool| {
        cluster.processes().map(|(id, _, _)| id).filter(move |id| is(cluster, *id))
    };
    let groups: [Vec<Lane>; 5] = [
        ids(is_server).map(Lane::Server).collect(),
        sessions(chronicle, window),
        if has_controller(cluster) { vec![Lane::Controller] } else { Vec::new() },
        ids(is_broker).map(Lane::Broker).collect(),
        ids(is_member).map(Lane::Member).collect(),
    ];
    let (mut places, mut rules, mut top) = (Vec::new(), Vec::new(), TOP);
    for group in groups.into_iter().filter(|group| !group.is_empty()) {
        if top > TOP {
            rules.push(top + GAP / 2);
            top += GAP;
        }
        for lane in group {
            places.push((lane, top));
            top += LANE;
        }
    }
    (places, rules, top + 20)
}

/// Brokers without replicas have no controller.
fn has_controller(cluster: &Cluster) -> bool {
    !cluster.processes().any(|(_, _, process)| process.lone_broker().is_some())
}

/// A lane for the session of each process, and one more for what an earlier life has left behind,
/// as long as the window shows any of it.
fn sessions(chronicle: &Chronicle, window: Window) -> Vec<Lane> {
    let mut lanes = Vec::new();
    for lane in chronicle.lanes() {
        let Lane::Session(process) = lane else { continue };
        lanes.push(lane);
        if has_left_behind(chronicle, window, process) {
            lanes.push(Lane::OldSession(process));
        }
    }
    lanes
}

fn has_left_behind(chronicle: &Chronicle, window: Window, process: ProcessId) -> bool {
    let lane = |lane| chronicle.lane(lane);
    let (Some(present), Some(old)) =
        (lane(Lane::Session(process)), lane(Lane::OldSession(process)))
    else {
        return false;
    };
    let ended = |(at, stage): &(SimTime, Stage)| *stage == Stage::Ended && *at < window.start();
    present.since <= window.cursor && !old.changes.last().is_some_and(ended)
}

/// What is known at the cursor.
struct Now<'a> {
    cluster: &'a Cluster,
    held: &'a [Held],
    brokers: &'a [Broker],
}

fn row(
    known: &Now<'_>,
    chronicle: &Chronicle,
    window: Window,
    (lane, top, name): (Lane, i32, Phrase),
) -> Row {
    let Now { cluster, held, .. } = known;
    let empty = History::default();
    let history = chronicle.lane(lane).unwrap_or(&empty);
    let now = history.at(window.cursor);
    let left = match lane {
        Lane::Session(id) => left(cluster.name(id), held, false),
        Lane::OldSession(id) => left(cluster.name(id), held, true),
        _ => None,
    };
    let strokes = match lane {
        Lane::Session(id) if has_left_behind(chronicle, window, id) => {
            level(history, window, left, history.since)
        }
        Lane::Session(_) | Lane::OldSession(_) => level(history, window, left, SimTime::ZERO),
        _ => bands(history, window),
    };
    let gone = match lane {
        Lane::Server(id) | Lane::Broker(id) | Lane::Member(id) => cluster.power(id) == Power::Off,
        Lane::Session(_) | Lane::OldSession(_) => !matches!(now, Some(Stage::Open(_))),
        Lane::Controller => false,
    };
    let strong = matches!(now, Some(Stage::Leading));
    let state = match (lane, now) {
        (Lane::Broker(id), Some(Stage::Up(_))) => up(known, id),
        (Lane::Server(id), Some(Stage::Following | Stage::Leading)) => stands(cluster, id),
        _ => state(now, left),
    };
    Row { lane, name, state, top, gone, strong, strokes }
}

/// What a broker that runs is about: it starts or stops, or leads so many partitions, in the words
/// of its card.
fn up(known: &Now<'_>, id: ProcessId) -> Phrase {
    let process = known.cluster.process(id);
    let key = match process.lone_broker() {
        Some(broker) => brokers::lone_state_key(Life::Running, broker),
        None => brokers::state_key(Life::Running, process.broker()),
    };
    if key != stage::life_key(Life::Running) {
        return Phrase::key(key);
    }
    let name = known.cluster.name(id);
    let card = known.brokers.iter().find(|broker| *broker.name == **name);
    match card.filter(|card| card.received.is_none()) {
        Some(card) => Phrase::key("lanes.leads").with_phrase("leads", broker::leads(card)),
        None => Phrase::key("lanes.runs"),
    }
}

/// What a server is by its own state, from its election on: it serves in an epoch, or not yet.
fn stands(cluster: &Cluster, id: ProcessId) -> Phrase {
    let Some(server) = cluster.process(id).zk() else { return Phrase::nothing() };
    let letter = match ensemble::role(server) {
        Role::Leading => "L",
        Role::Following => "F",
        Role::Observing => "O",
        Role::Looking => return Phrase::key("lanes.looking"),
        Role::Alone => return Phrase::key("lanes.standalone"),
    };
    match server.peer().and_then(QuorumPeer::epoch) {
        Some(epoch) => Phrase::key("lanes.serves").with("letter", letter).with("epoch", epoch),
        None => Phrase::key("lanes.elected").with("letter", letter),
    }
}

fn name(cluster: &Cluster, places: &Places, lane: Lane) -> Phrase {
    match lane {
        Lane::Controller => Phrase::key("page.kind.controller"),
        Lane::Session(id) | Lane::OldSession(id) => {
            let has_two = places.iter().any(|(other, _)| *other == Lane::OldSession(id));
            let key = match lane {
                Lane::OldSession(_) => "page.session.old",
                _ if has_two => "page.session.new",
                _ => "page.session.of",
            };
            Phrase::key(key).with_phrase("owner", called(cluster.name(id)))
        }
        Lane::Server(id) | Lane::Broker(id) | Lane::Member(id) => called(cluster.name(id)),
    }
}

/// `broker1` to people.
fn called(name: &str) -> Phrase {
    match name.strip_prefix("broker") {
        Some(id) => Phrase::key("lanes.broker").with("id", id),
        None => Phrase::raw(name),
    }
}

/// What is left of a session: what the leader says, who counts it; its end is the leader's deed.
fn left(owner: &str, held: &[Held], old: bool) -> Option<Span> {
    let is_old = |held: &Held| held.age == Age::Old;
    let its = held.iter().find(|held| held.is_of(owner) && is_old(held) == old);
    let its = its.filter(|held| held.thread != Thread::Held)?;
    Some(Span::ms(u64::try_from(its.left).ok()? * 100))
}

fn state(now: Option<&Stage>, left: Option<Span>) -> Phrase {
    let line = Phrase::key;
    match now {
        None => Phrase::nothing(),
        Some(Stage::Off) => line("lanes.off"),
        Some(Stage::Frozen) => line("lanes.frozen"),
        Some(Stage::Looking) => line("lanes.looking"),
        // Those are told by what the server itself is now.
        Some(Stage::Following | Stage::Leading) => Phrase::nothing(),
        Some(Stage::Standalone) => line("lanes.standalone"),
        Some(Stage::Open(timeout)) => {
            let Some(left) = left else { return line("lanes.paused") };
            line("lanes.left").with("rest", seconds(left)).with("timeout", seconds(*timeout))
        }
        Some(Stage::Ended) => line("lanes.ended"),
        Some(Stage::Held { broker, epoch }) => {
            line("lanes.held").with("broker", broker).with("epoch", epoch)
        }
        Some(Stage::Vacant) => line("lanes.vacant"),
        Some(Stage::Up(_)) => line("lanes.runs"),
        Some(Stage::Joining) => line("lanes.joining"),
        Some(Stage::Owning(what)) => Phrase::raw(what.replace(',', ", ")),
    }
}

/// Seconds with one digit after the point.
fn seconds(span: Span) -> String {
    let tenths = span.as_ms() / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn bands(history: &History, window: Window) -> Vec<Stroke> {
    let changes = history.within(window.start(), window.cursor);
    let mut strokes = Vec::new();
    for (place, (at, stage)) in changes.iter().enumerate() {
        let until = changes.get(place + 1).map_or(window.cursor, |(next, _)| *next);
        let (from, to) = (window.x(*at).max(0), window.x(until));
        if let Some(kind) = band(stage) {
            strokes.push(Stroke::Band { from, to, kind });
        }
        if let Stage::Held { broker, epoch } = stage {
            // One that was followed soon has no room for words.
            let has_room = place + 1 == changes.len() || to - from > 150;
            let words = match has_room {
                true => Phrase::key("lanes.held").with("broker", broker).with("epoch", epoch),
                false => Phrase::nothing(),
            };
            strokes.push(Stroke::Crown { x: from, words });
        }
    }
    strokes
}

fn band(stage: &Stage) -> Option<Band> {
    Some(match stage {
        Stage::Off => Band::Gone,
        Stage::Frozen => Band::Frozen,
        Stage::Looking => Band::Looks,
        Stage::Following => Band::Follows,
        Stage::Leading | Stage::Standalone => Band::Leads,
        Stage::Held { .. } => Band::Held,
        Stage::Vacant => Band::Vacant,
        Stage::Up(count) => Band::Up(*count),
        Stage::Joining => Band::Joins,
        Stage::Owning(_) => Band::Owns,
        Stage::Open(_) | Stage::Ended => return None,
    })
}

/// A session's level: full at each sign of life, sinking to the next; at the cursor as high as the
/// leader says, and from there to where it will be empty. What was before `since` is another's.
fn level(history: &History, window: Window, left: Option<Span>, since: SimTime) -> Vec<Stroke> {
    let mut strokes = Vec::new();
    let changes = history.within(window.start(), window.cursor);
    for (place, (at, stage)) in changes.iter().enumerate() {
        let Stage::Open(timeout) = stage else { continue };
        let until = changes.get(place + 1).map_or(window.cursor, |(next, _)| *next);
        let from = (*at).max(window.start()).max(since);
        let mut points = sinking(history, window, *timeout, (from, until));
        if until == window.cursor
            && let (Some(left), Some(last)) = (left, points.last_mut())
        {
            last.1 = height(left, *timeout);
            let (level, empty_at) = (last.1, window.x(window.cursor + left));
            strokes.push(Stroke::Expected { level, from: window.past, empty_at });
        }
        strokes.push(Stroke::Level(points));
    }
    strokes
}

fn sinking(
    history: &History,
    window: Window,
    timeout: Span,
    (from, until): (SimTime, SimTime),
) -> Vec<(i32, i32)> {
    let beats = history.beats_within(from, until);
    let mut points = Vec::new();
    for (place, beat) in beats.iter().enumerate() {
        let (begin, end) = ((*beat).max(from), beats.get(place + 1).map_or(until, |next| *next));
        for at in [begin, end] {
            let left = timeout.saturating_sub(at.since(*beat));
            points.push((window.x(at).max(0), height(left, timeout)));
        }
    }
    points
}

fn height(left: Span, timeout: Span) -> i32 {
    (left.as_micros() * 1000 / timeout.as_micros().max(1)).min(1000) as i32
}

fn ticks(window: Window) -> Vec<Tick> {
    const STEPS: [u64; 12] = [
        1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 2_000_000, 5_000_000,
        10_000_000, 30_000_000, 60_000_000,
    ];
    let wide = |step: &&u64| **step / window.micros_per_px.max(1) >= 80;
    let step = *STEPS.iter().find(wide).unwrap_or(&60_000_000);
    let (first, last) = (window.start(), window.time_at(window.past + window.future));
    let mut ticks = Vec::new();
    let mut at = first.as_micros().div_ceil(step / 2) * (step / 2);
    while at <= last.as_micros() {
        let time = SimTime::micros(at);
        let near = (window.x(time) - window.past).abs() < 400;
        let inside = (150..window.past + window.future - 150).contains(&window.x(time));
        let label = (at % step == 0 && !near && inside).then(|| label(time, step));
        ticks.push(Tick { x: window.x(time), label });
        at += step / 2;
    }
    ticks
}

fn label(at: SimTime, step: u64) -> String {
    match step {
        0..=999_999 => format!("{at} s"),
        _ => format!("{} s", at.as_micros() / 1_000_000),
    }
}

fn place(places: &Places, process: ProcessId) -> Option<i32> {
    let found = places.iter().find(|(lane, _)| match lane {
        Lane::Server(id) | Lane::Broker(id) | Lane::Member(id) => *id == process,
        Lane::Session(_) | Lane::OldSession(_) | Lane::Controller => false,
    });
    found.map(|(_, top)| top + LANE / 2)
}

fn marks(run: Run<'_>, chronicle: &Chronicle, window: Window, places: &Places) -> Vec<MarkDrawn> {
    let marks = chronicle.marks_within(window.start(), window.cursor);
    let drawn = marks.iter().filter_map(|mark| {
        let at = (window.x(mark.at), place(places, mark.process?)?);
        let from = mark.from.and_then(|(from, sent)| Some((window.x(sent), place(places, from)?)));
        let by_you = run.yours.contains(&mark.event);
        Some(MarkDrawn { at, from, event: mark.event, by_you })
    });
    let mut drawn: Vec<MarkDrawn> = drawn.collect();
    drawn.dedup_by_key(|mark| (mark.at.0 / 20, mark.at.1, mark.by_you));
    drawn
}

/// How far causes and effects of the selection are drawn.
const DEPTH: u8 = 4;
/// How many records after an event are looked through for its effects.
const REACH: usize = 4_000;

fn arrows(
    cluster: &Cluster,
    trace: &Trace,
    window: Window,
    places: &Places,
    event: EventId,
) -> Vec<Arrow> {
    let spot = |event: EventId| {
        let record = trace.get(trace.find(event)?)?;
        let inside = record.at <= window.cursor;
        inside.then_some((window.x(record.at), place(places, record.process?)?))
    };
    let mut arrows = Vec::new();
    let mut here = event;
    for depth in 1..=DEPTH {
        let cause = trace.find(here).and_then(|index| why::cause(cluster, trace, index));
        let Some(cause) = cause.and_then(|cause| trace.get(cause.index)) else { break };
        let cause = cause.id;
        if let (Some(from), Some(to)) = (spot(cause), spot(here)) {
            arrows.push(Arrow { from, to, kind: ArrowKind::Cause, depth });
        }
        here = cause;
    }
    arrows.extend(effects(trace, event).into_iter().filter_map(|(from, to, depth)| {
        let (from, to) = (spot(from)?, spot(to)?);
        Some(Arrow { from, to, kind: ArrowKind::Effect, depth })
    }));
    arrows.retain(|arrow| arrow.from.1 != arrow.to.1);
    arrows
}

/// What followed from an event: pairs of cause and effect, with their distance from it.
fn effects(trace: &Trace, event: EventId) -> Vec<(EventId, EventId, u8)> {
    let Some(start) = trace.find(event) else { return Vec::new() };
    let mut reached = vec![(event, 0u8)];
    let mut found = Vec::new();
    for record in trace.since(start + 1).take(REACH) {
        let Some(cause) = record.cause else { continue };
        let Some((_, depth)) = reached.iter().find(|(id, _)| *id == cause).copied() else {
            continue;
        };
        if depth < DEPTH && found.len() < 40 {
            reached.push((record.id, depth + 1));
            found.push((cause, record.id, depth + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        cursor: SimTime::micros(43_900_000),
        micros_per_px: 12_500,
        past: PAST,
        future: 3200,
    };

    #[test]
    fn places_and_times_are_each_other_s_inverse() {
        for x in [0, 10, 4000, PAST, PAST + 500] {
            assert_eq!(WINDOW.x(WINDOW.time_at(x)), x);
        }
    }

    #[test]
    fn the_ruler_is_labelled_every_second_at_the_plate_s_scale() {
        let labels: Vec<_> = ticks(WINDOW).into_iter().filter_map(|tick| tick.label).collect();
        let expected = ["34 s", "35 s", "36 s", "37 s", "38 s", "39 s", "40 s", "41 s", "42 s"];
        assert_eq!(labels[..9], expected);
        assert!(!labels.contains(&"44 s".to_owned()), "the cursor's own label stands there");
    }

    #[test]
    fn what_an_earlier_life_left_behind_has_a_lane_of_its_own() {
        let check = |run: &str, expected: &[(&str, &str)]| {
            let text = format!("setup seed=1\nrun 20s\nkill broker1\nrun 2s\nstart broker1\n{run}");
            let lab = crate::lab::script::play(&text).expect("it is right").lab;
            let mut chronicle = Chronicle::default();
            chronicle.read(lab.cluster(), lab.trace());
            let window = Window { cursor: lab.moment().at, ..WINDOW };
            let broker = lab.cluster().find("broker1").expect("it is there");
            let its = [Lane::Session(broker), Lane::OldSession(broker)];
            let rows = lanes(Run::of(&lab), &[], &chronicle, window, &[]).rows;
            let key = |phrase: &Phrase| match phrase {
                Phrase::Line(key, _) => *key,
                Phrase::Raw(_) => "",
            };
            let rows = rows.iter().filter(|row| its.contains(&row.lane));
            let said: Vec<_> = rows.map(|row| (key(&row.name), key(&row.state))).collect();
            assert_eq!(said, expected, "{run}");
        };
        check("run 1ms", &[("page.session.of", "lanes.left")]);
        let (new, old) = (("page.session.new", "lanes.left"), ("page.session.old", "lanes.left"));
        check("run until zk-connected\nrun 1ms", &[new, old]);
        check("run until broker-fatal\nrun 2s", &[("page.session.new", "lanes.ended"), old]);
        check("run 60s", &[("page.session.of", "lanes.ended")]);
    }

    /// What the lanes say of the processes of these names, after that script.
    fn said(text: &str, names: &[&str]) -> Vec<String> {
        let lab = crate::lab::script::play(text).expect("it is right").lab;
        let mut chronicle = Chronicle::default();
        chronicle.read(lab.cluster(), lab.trace());
        let window = Window { cursor: lab.moment().at, ..WINDOW };
        let cards = brokers::brokers(Run::of(&lab));
        let rows = lanes(Run::of(&lab), &cards, &chronicle, window, &[]).rows;
        let catalog = crate::text::Catalog::of(crate::text::Language::English);
        let of = |name: &&str| {
            let its = lab.cluster().find(name).expect("it is there");
            let mut rows = rows.iter();
            let row = rows.find(|row| [Lane::Server(its), Lane::Broker(its)].contains(&row.lane));
            catalog.say(&row.expect("it has a lane").state)
        };
        names.iter().map(of).collect()
    }

    #[test]
    fn a_server_s_lane_says_what_the_figure_says_at_that_moment() {
        let text = "setup seed=1 zookeeper=3 observers=1 brokers=0";
        let mut lab = crate::lab::script::play(text).expect("it is right").lab;
        let mut told = Vec::new();
        while lab.moment().at < SimTime::micros(3_000_000) && lab.step().is_some() {
            for (id, name, server) in ensemble::processes(lab.cluster()) {
                let letter = match ensemble::role(server) {
                    Role::Leading => "L",
                    Role::Following => "F",
                    Role::Observing => "O",
                    Role::Looking | Role::Alone => continue,
                };
                let Phrase::Line(key, fields) = stands(lab.cluster(), id) else { panic!("{name}") };
                assert_eq!(fields[0].1, Phrase::raw(letter), "{name}");
                told.push((key, letter));
            }
        }
        for expected in ["lanes.elected", "lanes.serves"] {
            for letter in ["L", "F", "O"] {
                assert!(told.contains(&(expected, letter)), "{expected} {letter}");
            }
        }
        let says = |run: &str, expected: [&str; 4]| {
            let said = said(&format!("{text}\n{run}"), &["zk1", "zk2", "zk3", "zk4"]);
            assert_eq!(said, expected, "{run}");
        };
        says("run 1ms", ["? looking"; 4]);
        says("run 5s", ["F · epoch 1", "F · epoch 1", "L · epoch 1", "O · epoch 1"]);
    }

    #[test]
    fn a_broker_s_lane_counts_as_its_card_does() {
        let check = |run: &str, expected: &str| {
            let text = format!("setup seed=1\nrun 8s\ntopic orders replicas=2,1,3\n{run}");
            assert_eq!(said(&text, &["broker2"]), [expected], "{run}");
        };
        check("run 3s", "up · leads 1");
        let cut =
            ["zk1", "zk2", "zk3", "broker1", "broker3"].map(|of| format!("cut broker2 {of}\n"));
        check(&format!("run 3s\n{}run 60s", cut.concat()), "up · thinks it leads 1");
        check("run 3s\nkafka-topics --delete --topic orders\nrun 3s", "up · leads none");
    }

    #[test]
    fn a_broker_without_replicas_has_started_once_it_runs() {
        let check = |run: &str, expected: &str| {
            let text = format!("setup release=0.7.2 seed=1 brokers=2\n{run}");
            assert_eq!(said(&text, &["broker1"]), [expected], "{run}");
        };
        check("run 1ms", "starting");
        check("run 30s", "up");
        check("run 30s\nkill broker1\nrun 1s", "not running");
    }

    #[test]
    fn a_level_is_full_at_each_beat_and_sinks_between() {
        let at = |ms: u64| SimTime::micros(ms * 1000);
        let history = History {
            changes: vec![(at(40_000), Stage::Open(Span::secs(6)))],
            beats: vec![at(40_000), at(42_000)],
            since: SimTime::ZERO,
        };
        let strokes = level(&history, WINDOW, Some(Span::secs(5)), SimTime::ZERO);
        let [Stroke::Expected { level, .. }, Stroke::Level(points)] = &strokes[..] else {
            panic!("what is expected, and a level")
        };
        let heights: Vec<i32> = points.iter().map(|(_, height)| *height).collect();
        assert_eq!(heights, [1000, 666, 1000, 833]);
        assert_eq!(*level, 833, "the leader counts in ticks and is behind the last sign of life");
    }
}

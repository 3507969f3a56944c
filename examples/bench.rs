//! Prints every figure with its budget: `NAME: VALUE UNIT (goal G, limit L): met`, `near` or
//! `over`. What is measured natively is measured here; what only a browser can say is asked of the
//! built page that `ZOOTROPE_DIST` names, and of the figures that its engine printed to
//! `ZOOTROPE_FIGURES`.

use std::process::ExitCode;
use std::time::Instant;

use zootrope::cluster::{AnyProcess, Command};
use zootrope::kafka::broker::Running;
use zootrope::kafka::id::BrokerId;
use zootrope::lab::{Lab, Recording};
use zootrope::sim::{SimTime, Span};

#[path = "../tests/browser/mod.rs"]
mod browser;
#[path = "../tests/support/scenes.rs"]
mod scenes;
#[path = "../tests/support/weight.rs"]
mod weight;

use browser::{Driver, Outcome, Site, Visitor};

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
}

/// What a figure should be, and what it must be.
struct Budget {
    name: &'static str,
    unit: &'static str,
    goal: f64,
    limit: f64,
    better: Better,
}

const fn less(name: &'static str, unit: &'static str, goal: f64, limit: f64) -> Budget {
    Budget { name, unit, goal, limit, better: Better::Less }
}

const fn more(name: &'static str, unit: &'static str, goal: f64, limit: f64) -> Budget {
    Budget { name, unit, goal, limit, better: Better::More }
}

const BUDGETS: &[Budget] = &[
    less("page weight", "KB brotli", 200.0, 320.0),
    less("page weight for plain hosts", "KB gzip", 245.0, 390.0),
    more("engine, native", "k events/s", 2000.0, 800.0),
    more("engine, wasm", "k events/s", 1000.0, 400.0),
    less("runs that differ in wasm", "runs", 0.0, 0.0),
    less("copy of the dearest process", "µs", 1.0, 5.0),
    less("seek in 1 M events, native, p95", "ms", 30.0, 75.0),
    less("seek in 1 M events, wasm, p95", "ms", 60.0, 150.0),
    less("trace", "B/event", 64.0, 128.0),
    more("writes of three servers, native", "k/s", 50.0, 20.0),
    more("writes of three servers, wasm", "k/s", 25.0, 10.0),
    more("10,000 znodes and 500 sessions, native", "k events/s", 1000.0, 400.0),
    more("10,000 znodes and 500 sessions, wasm", "k events/s", 500.0, 200.0),
    less("trace of 10,000 znodes and 500 sessions", "B/event", 64.0, 128.0),
    more("100 brokers, 2,000 partitions, 60 consumers, native", "k events/s", 500.0, 200.0),
    more("100 brokers, 2,000 partitions, 60 consumers, wasm", "k events/s", 250.0, 100.0),
    less("trace of 100 brokers", "B/event", 64.0, 128.0),
    less("failover of their controller", "virtual s", 20.0, 25.0),
    less("the same", "CPU s", 1.0, 3.0),
    less("frame of the default scene, median", "ms", 4.0, 8.0),
    less("frame of the default scene, p95", "ms", 6.0, 12.0),
];

fn main() -> ExitCode {
    let mut over = 0;
    let mut tell = |name: &str, value: f64| over += u32::from(tell(name, value) == "over");
    weigh(&mut tell);
    measure_engine(&mut tell);
    repeat_figures(&mut tell);
    if let Err(reason) = measure_frames(&mut tell) {
        eprintln!("frames are not measured: {reason}");
        return ExitCode::FAILURE;
    }
    if over > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Prints a figure's line and says how it stands.
fn tell(name: &str, value: f64) -> &'static str {
    let budget = BUDGETS.iter().find(|budget| budget.name == name);
    let Budget { unit, goal, limit, better, .. } = budget.expect("each figure has its budget");
    let within = |bound: f64| match better {
        Better::Less => value <= bound,
        Better::More => value >= bound,
    };
    let word = match (within(*goal), within(*limit)) {
        (true, _) => "met",
        (false, true) => "near",
        (false, false) => "over",
    };
    println!("{name}: {} {unit} (goal {goal}, limit {limit}): {word}", rounded(value));
    word
}

/// Three digits that say something, without an exponent.
fn rounded(value: f64) -> String {
    let decimals = if value >= 100.0 || value == 0.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

fn weigh(tell: &mut impl FnMut(&str, f64)) {
    let Some(site) = std::env::var_os("ZOOTROPE_DIST") else { return };
    let files = weight::files(site.as_ref()).expect("the site has just been built");
    let weights = files.iter().map(|file| weight::Weight::of(file).expect("it is there"));
    let whole = weights.fold(weight::Weight::default(), weight::Weight::plus);
    let in_kb = |bytes: usize| f64::from(u32::try_from(bytes).expect("a site is small")) / 1024.0;
    tell("page weight", in_kb(whole.brotli));
    tell("page weight for plain hosts", in_kb(whole.gzip));
}

fn measure_engine(tell: &mut impl FnMut(&str, f64)) {
    let mut rates: Vec<f64> = (1..=3).map(|seed| rate_of(&mut busy(seed), 300_000)).collect();
    tell("engine, native", middle(&mut rates) / 1000.0);
    tell("copy of the dearest process", dearest_copy());
    let mut long = busy(1);
    rate_of(&mut long, 1_000_000);
    let per_event = count(long.trace().bytes()) / count(long.trace().len());
    tell("seek in 1 M events, native, p95", seeks(&mut long));
    tell("trace", per_event);
    measure_scenes(tell);
    measure_many(tell);
}

/// The scenes of ZooKeeper alone: how many writes it commits, and how it bears a crowd.
fn measure_scenes(tell: &mut impl FnMut(&str, f64)) {
    let (writes, seconds) = whole(&scenes::writes());
    let committed = f64::from(scenes::committed(&writes));
    tell("writes of three servers, native", committed / seconds / 1000.0);
    let (crowd, seconds) = whole(&scenes::crowd());
    let events = count(crowd.trace().len());
    tell("10,000 znodes and 500 sessions, native", events / seconds / 1000.0);
    tell("trace of 10,000 znodes and 500 sessions", count(crowd.trace().bytes()) / events);
}

/// The scene of many brokers: how it runs, and what it takes until the dead controller's work is
/// another's and all that it led has a leader again.
fn measure_many(tell: &mut impl FnMut(&str, f64)) {
    let recording = Recording::parse(&scenes::many());
    let mut lab = Lab::new(recording.expect("the scene is written rightly"));
    let begun = worked();
    scenes::play_whole(&mut lab);
    let events = count(lab.trace().len());
    let rate = events / (worked() - begun) / 1000.0;
    tell("100 brokers, 2,000 partitions, 60 consumers, native", rate);
    tell("trace of 100 brokers", count(lab.trace().bytes()) / events);
    let (virtual_time, seconds) = failover(&mut lab);
    tell("failover of their controller", count_ms(virtual_time) / 1000.0);
    tell("the same", seconds);
}

/// Kills the controller, and plays until every broker that lives has heard of other leaders.
fn failover(lab: &mut Lab) -> (Span, f64) {
    let name = controller(lab).expect("somebody is the controller");
    let dead = id_of(lab, &name);
    let kill = Command::parse(1, &format!("kill {name}")).expect("it is written rightly");
    lab.issue(kill).expect("it runs");
    let (from, mut seconds) = (lab.moment().at, 0.0);
    while is_still_leader(lab, dead) {
        assert!(lab.moment().at < from + Span::secs(120), "nobody takes over");
        let begun = worked();
        lab.advance_to(lab.moment().at + Span::ms(10));
        seconds += worked() - begun;
    }
    (lab.moment().at.since(from), seconds)
}

fn count_ms(span: Span) -> f64 {
    f64::from(u32::try_from(span.as_ms()).expect("less than weeks"))
}

/// The broker that is the controller.
fn controller(lab: &Lab) -> Option<String> {
    let active =
        |process: &AnyProcess| process.broker()?.running()?.controller().is_active().then_some(());
    let mut found = lab.cluster().processes().filter(|(_, _, process)| active(process).is_some());
    found.next().map(|(_, name, _)| name.to_owned())
}

/// The id of the broker of that name.
fn id_of(lab: &Lab, name: &str) -> BrokerId {
    let process = lab.cluster().find(name).expect("it is one of the cluster's");
    lab.cluster().process(process).broker().expect("it is a broker").id()
}

/// Whether this broker leads anything in the eyes of another, or nobody is the controller.
fn is_still_leader(lab: &Lab, broker: BrokerId) -> bool {
    let brokers = lab.cluster().processes().filter_map(|(_, _, process)| process.broker());
    let mut running = brokers.filter_map(|broker| broker.running());
    let led = |running: &Running| running.replicas().partitions().any(|p| p.leader == broker);
    running.any(led) || controller(lab).is_none()
}

/// A scene that was played to its end, and how long that took.
fn whole(text: &str) -> (Lab, f64) {
    let mut lab = Lab::new(Recording::parse(text).expect("the scene is written rightly"));
    let begun = worked();
    scenes::play_whole(&mut lab);
    (lab, worked() - begun)
}

/// The busy scene: five servers, five brokers, topics, groups and what they do.
fn busy(seed: u64) -> Lab {
    let text = include_str!("../tests/support/busy.txt").replace("seed=1", &format!("seed={seed}"));
    Lab::new(Recording::parse(&text).expect("the busy scene is written rightly"))
}

/// Plays so many events; gives back how many a second it handled.
fn rate_of(lab: &mut Lab, events: usize) -> f64 {
    let begun = worked();
    while lab.position() < events {
        let next = lab.moment().at + Span::secs(10);
        lab.advance_to(next);
        assert!(next < SimTime::ZERO + Span::secs(10_000_000), "the scene has gone to sleep");
    }
    count(lab.position()) / (worked() - begun)
}

/// How long this process has worked, in seconds: other work on the machine does not count. Where
/// the system does not tell, by the clock.
fn worked() -> f64 {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let on_cpu = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    match on_cpu {
        Some(nanoseconds) => nanoseconds / 1e9,
        None => BEGUN.get_or_init(Instant::now).elapsed().as_secs_f64(),
    }
}

/// What copying the kind of process costs most that costs most to copy, in microseconds.
fn dearest_copy() -> f64 {
    const COPIES: u32 = 1000;
    let mut lab = busy(1);
    rate_of(&mut lab, 100_000);
    let mut dearest = 0.0;
    for (_, name, process) in lab.cluster().processes() {
        let begun = Instant::now();
        for _ in 0..COPIES {
            std::hint::black_box(process.clone());
        }
        let cost = begun.elapsed().as_secs_f64() * 1e6 / f64::from(COPIES);
        eprintln!("  copy of {name}: {} µs", rounded(cost));
        dearest = f64::max(dearest, cost);
    }
    dearest
}

/// The p95 of going to a hundred places all over the history, in milliseconds.
fn seeks(lab: &mut Lab) -> f64 {
    let end = lab.position();
    let mut times: Vec<f64> = (0..100)
        .map(|number| {
            let place = (number * 7919 + 13) % 100 * (end / 100);
            let begun = Instant::now();
            lab.seek_position(place);
            begun.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    ninety_fifth(&mut times)
}

/// What the engine printed in the browser: lines `NAME: VALUE`.
fn repeat_figures(tell: &mut impl FnMut(&str, f64)) {
    let Some(file) = std::env::var_os("ZOOTROPE_FIGURES") else { return };
    let text = std::fs::read_to_string(file).expect("the figures have just been written");
    for line in text.lines() {
        let (name, value) = line.rsplit_once(": ").expect("a figure has a name");
        if name == "run hash" {
            let differing = u8::from(value != run_hash());
            tell("runs that differ in wasm", f64::from(differing));
        } else {
            tell(name, value.parse().expect("a figure is a number"));
        }
    }
}

/// The busy scene's hash after as many events as the browser played.
fn run_hash() -> String {
    let mut lab = busy(1);
    rate_of(&mut lab, 100_000);
    format!("{:016x}", lab.trace().hash())
}

/// How long the main thread works in each frame while the default scene plays.
fn measure_frames(tell: &mut impl FnMut(&str, f64)) -> Outcome {
    let Some(built) = std::env::var_os("ZOOTROPE_DIST") else { return Ok(()) };
    let site = Site::serve(built.into()).map_err(|error| error.to_string())?;
    let driver = Driver::start()?;
    let visitor = Visitor::arrive(&driver, &site)?;
    visitor.open("")?;
    visitor
        .until("a page", "document.getElementById('app').getAttribute('aria-busy') !== 'true'")?;
    let frames = visitor.run_until_called(FRAMES)?;
    let frames = frames.as_array().ok_or("no frames came")?;
    let mut times: Vec<f64> = frames.iter().filter_map(serde_json::Value::as_f64).collect();
    visitor.leave()?;
    tell("frame of the default scene, median", middle(&mut times));
    tell("frame of the default scene, p95", ninety_fifth(&mut times));
    Ok(())
}

/// From the frame's first callback to the first task after it has been laid out and painted.
const FRAMES: &str = "
    const done = arguments[arguments.length - 1], times = [], channel = new MessageChannel();
    let begun = 0;
    channel.port1.onmessage = () => { times.push(performance.now() - begun); };
    const frame = () => {
      if (times.length >= 600) return done(times.slice(60));
      requestAnimationFrame(frame);
      begun = performance.now();
      channel.port2.postMessage(0);
    };
    requestAnimationFrame(frame);";

fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn ninety_fifth(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() * 95 / 100).copied().unwrap_or(f64::NAN)
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).expect("fewer than four billion"))
}

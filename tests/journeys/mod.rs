//! What visitors do on the page and must find there. How a browser is driven is not said here.
//! *Invariant: a journey looks only at what a visitor (or their screen reader) is told, and at the
//! hash that stands for the whole state.*

use crate::browser::{Outcome, Visitor};

/// One way through the page.
pub type Journey = fn(&Visitor) -> Outcome;

/// Every journey, by the name it is reported under.
pub const ALL: &[(&str, Journey)] = &[
    ("it loads and is alive", it_loads),
    ("a broker killed by a key loses its znode", a_killed_broker_loses_its_znode),
    ("another broker becomes controller", another_broker_becomes_controller),
    ("an added consumer takes a partition over", an_added_consumer_takes_over),
    ("the console answers what is typed", the_console_answers),
    ("the logs lead to their events", the_logs_lead_to_events),
    ("a partition is opened, down to its files", a_partition_is_opened),
    ("a run is played again on another release", a_run_is_played_again),
    ("a broken law is told and leads to its cause", a_broken_law_leads_to_its_cause),
    ("the cursor goes back and comes again", the_cursor_goes_back),
    ("a link shows the same state", a_link_shows_the_same_state),
    ("a link holds every take", a_link_holds_every_take),
    ("settings stay open while one changes", settings_stay_open),
    ("a damaged link is refused", a_damaged_link_is_refused),
    ("a number chooses a situation before it begins", a_situation_is_chosen_first),
    ("a situation tells its name, its point and its end", a_situation_tells_its_point),
    ("letters search the situations", letters_search),
    ("time stands while help is read", time_stands_while_help_is_read),
    ("what happened is spoken as it goes on", it_is_spoken),
    ("marks and words are explained in one step", marks_are_explained),
    ("actions are found, and what is not is said", actions_are_found),
    ("a key that does nothing says so", a_dead_key_says_so),
    ("two sessions of one broker are two", two_sessions_are_two),
    ("a wall shows every figure large enough", a_wall_shows_every_figure),
    ("the view is kept on the device", the_view_is_kept),
    ("a panic shows the recording", a_panic_shows_the_recording),
    ("it has no barrier that axe can find", it_has_no_barrier),
];

/// At the end of every journey: nothing in the console, nothing asked of another host.
pub fn all_was_quiet(visitor: &Visitor) -> Outcome {
    let errors = visitor.console_errors()?;
    if !errors.is_empty() {
        return Err(format!("the console has errors:\n{}", errors.join("\n")));
    }
    let foreign = "performance.getEntriesByType('resource').map((entry) => entry.name)\
        .filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:'))";
    let foreign = visitor.text(foreign)?;
    if foreign == "[]" { Ok(()) } else { Err(format!("asked of other hosts: {foreign}")) }
}

/// The page has been mounted.
const ALIVE: &str = "document.getElementById('app').getAttribute('aria-busy') !== 'true'";

/// Opens the page and waits until it is there.
fn open(visitor: &Visitor, rest: &str) -> Outcome {
    visitor.open(rest)?;
    visitor.until("a page that is alive", ALIVE)
}

fn it_loads(visitor: &Visitor) -> Outcome {
    open(visitor, "")?;
    visitor.until("a title", "document.title.includes('Zootrope')")?;
    visitor.until("no panel of a stopped page", "document.getElementById('stopped').hidden")
}

/// The brokers' rows in the tree, but those of znodes that have gone.
const REGISTERED: &str = "document.querySelectorAll(\
    '#tree [data-path^=\"/brokers/ids/\"]:not(.ghost)').length";

/// The name of the broker that is told to be the controller.
const CONTROLLER: &str = "(document.querySelector(\
    '#stage [data-process^=broker][aria-label*=controller]')?.dataset.process ?? '')";

/// Opens the page and waits until all brokers are there, one of them the controller.
fn open_running(visitor: &Visitor) -> Outcome {
    open(visitor, "")?;
    visitor.until("three brokers in the tree", &format!("{REGISTERED} === 3"))?;
    visitor.until("a controller on the stage", &format!("{CONTROLLER} !== ''"))
}

/// Selects a process by the focus, as Tab would, and presses the key.
fn press_on(visitor: &Visitor, process: &str, key: char) -> Outcome {
    visitor.run(&format!("document.querySelector('#stage [data-process={process}]').focus()"))?;
    visitor.press(key)
}

fn a_killed_broker_loses_its_znode(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    press_on(visitor, "broker1", 'k')?;
    // The visit asks for a guess before it goes on.
    visitor.until("a guess to make", "document.querySelector('#sentence .option') !== null")?;
    visitor.click("#sentence .option")?;
    let gone = "document.querySelector(\
        '#tree [data-path=\"/brokers/ids/1\"]:not(.ghost)') === null";
    visitor.until("the end of broker 1's znode", gone)?;
    visitor.until("two brokers in the tree", &format!("{REGISTERED} === 2"))
}

fn another_broker_becomes_controller(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    let first = visitor.text(CONTROLLER)?;
    press_on(visitor, &first, 'k')?;
    let other = format!("{CONTROLLER} !== '' && {CONTROLLER} !== '{first}'");
    visitor.until("another controller on the stage", &other)
}

fn an_added_consumer_takes_over(visitor: &Visitor) -> Outcome {
    let told = |part: &str| {
        format!("document.querySelector('#stage .group .hit')?.ariaLabel.includes('{part}')")
    };
    open_running(visitor)?;
    visitor.until("two consumers that share", &told("Stable, generation 1"))?;
    visitor.until("who reads what", &told("c1: 0, 1; c2: 2"))?;
    visitor.press('a')?;
    visitor.until("a list of what can be added", "'first' in document.activeElement.dataset")?;
    visitor.press(ENTER)?;
    visitor.until("three consumers that share", &told("c1: 0; c2: 1; c3: 2"))
}

/// The texts of the two panes hold these words.
fn printed(words: &str) -> String {
    format!("document.getElementById('console').textContent.includes('{words}')")
}

fn the_console_answers(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    visitor.press('`')?;
    type_line(visitor, "ls /brokers/ids")?;
    visitor.until("the children", &printed("[1, 2, 3]"))?;
    visitor.run("document.querySelectorAll('#console input')[1].focus()")?;
    type_line(visitor, "kill broker1")?;
    visitor.until("what was done", &printed("◆ kill broker1"))?;
    let dead = "document.querySelector('#stage [data-process=broker1]').ariaLabel";
    visitor.until("a broker that is killed", &format!("{dead}.includes('killed')"))
}

fn a_broken_law_leads_to_its_cause(visitor: &Visitor) -> Outcome {
    let laws =
        |words: &str| format!("document.getElementById('laws').textContent.includes('{words}')");
    open_running(visitor)?;
    visitor.press('i')?;
    visitor.until("laws that hold", &laws("hold"))?;
    visitor.press('`')?;
    type_line(visitor, "set /controller_epoch 7")?;
    visitor.until(
        "a broken law in sight",
        "document.querySelector('#transport').textContent.includes('•1')",
    )?;
    visitor.run("document.querySelector('#transport .lowers button').click()")?;
    visitor.until("what was seen", &laws("path=/controller_epoch"))?;
    visitor.until("what real ones do", &laws("The real one does so too"))?;
    visitor.run("document.querySelector('#laws .broken button').click()")?;
    visitor.until(
        "its event, and why it came",
        "document.querySelector('#inspector .name').textContent.includes('/controller_epoch')\
        && document.querySelectorAll('#inspector .why li').length > 1",
    )
}

fn type_line(visitor: &Visitor, line: &str) -> Outcome {
    line.chars().try_for_each(|letter| visitor.press(letter))?;
    visitor.press(ENTER)
}

fn the_logs_lead_to_events(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    visitor.press('g')?;
    let lines = "[...document.querySelectorAll('#logs pre button')]";
    let started = "[KafkaServer id=1] started (kafka.server.KafkaServer)";
    let found = format!("{lines}.find((line) => line.textContent.includes('{started}'))");
    visitor.until("a line of broker 1", &format!("{found} !== undefined"))?;
    visitor.run("document.querySelector('#logs input').focus()")?;
    "elected as the controller".chars().try_for_each(|letter| visitor.press(letter))?;
    visitor.until("that line alone", &format!("{lines}.length === 1"))?;
    visitor.click("#logs pre button")?;
    let selected = "document.querySelector('#inspector .name').textContent";
    visitor.until("the event behind it", &format!("{selected}.includes('/controller')"))
}

fn a_partition_is_opened(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    visitor.run("document.querySelector('#stage [data-process=broker1]').focus()")?;
    let link = "[...document.querySelectorAll('#inspector .facts .link')]\
        .find((link) => link.textContent === 'orders-0')";
    visitor.until("a replica of broker 1", &format!("{link} !== undefined"))?;
    visitor.run(&format!("{link}.click()"))?;
    let open = "#inspector .verb[aria-keyshortcuts=O]";
    visitor.until("its files, offered", &format!("document.querySelector('{open}') !== null"))?;
    visitor.click(open)?;
    let segment = "document.querySelector('#files th button')?.textContent";
    visitor.until("its segment", &format!("{segment} === '00000000000000000000'"))?;
    visitor.until("its batches", "document.querySelectorAll('#files .found .is').length > 1")?;
    for steps in 1..=4 {
        visitor.click("#files .phead .btn:not(.bare)")?;
        let told = format!("document.querySelectorAll('#files li').length === {steps}");
        visitor.until("a step of the fetch", &told)?;
    }
    let violations = axe(visitor)?;
    if violations.is_empty() { Ok(()) } else { Err(violations.join("\n")) }
}

fn a_run_is_played_again(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    visitor.press('n')?;
    let field = "document.querySelector('.help textarea')";
    visitor.until("the run as text", &format!("{field} !== null"))?;
    let write = |what: &str, value: &str| {
        format!(
            "const field = document.querySelector('.help {what}'); field.value = '{value}'; \
             for (const kind of ['input', 'change']) \
             field.dispatchEvent(new Event(kind, {{ bubbles: true }}));"
        )
    };
    visitor.run(&write("textarea", "setup zookeeper=x"))?;
    let wrong = "document.querySelector('.help .wrong').textContent";
    visitor.until("what is wrong", &format!("{wrong}.includes('column 7: “x”')"))?;
    visitor.run(&write("textarea", "setup release=3.9.1"))?;
    visitor.run(&write("select", "0.8.2.2"))?;
    let text = format!("{field}.value.includes('setup release=0.8.2.2')");
    visitor.until("the release in the text", &text)?;
    visitor.click(".help .btn.ink")?;
    let meta = "document.querySelector('.head .meta').textContent";
    visitor.until("the release in the head", &format!("{meta}.includes('Kafka 0.8.2.2')"))?;
    visitor.until("three brokers in the tree", &format!("{REGISTERED} === 3"))
}

const ENTER: char = '\u{e007}';

/// Stops time; gives back the hash of the whole state.
fn hold(visitor: &Visitor) -> Outcome<String> {
    let playing = "document.querySelector('#transport .play').getAttribute('aria-pressed')";
    if visitor.text(playing)? == "true" {
        visitor.press(' ')?;
    }
    state(visitor)
}

fn state(visitor: &Visitor) -> Outcome<String> {
    visitor.until("the hash of the state", "!!document.body.dataset.stateHash")?;
    visitor.text("document.body.dataset.stateHash")
}

fn the_cursor_goes_back(visitor: &Visitor) -> Outcome {
    const HOME: char = '\u{e011}';
    const END: char = '\u{e010}';
    open_running(visitor)?;
    let at_the_end = hold(visitor)?;
    visitor.press(HOME)?;
    let other = format!("document.body.dataset.stateHash !== '{at_the_end}'");
    visitor.until("another state at the beginning", &other)?;
    visitor.until("a tree without brokers", &format!("{REGISTERED} === 0"))?;
    visitor.press(END)?;
    let same = format!("document.body.dataset.stateHash === '{at_the_end}'");
    visitor.until("the state of before", &same)
}

fn a_link_shows_the_same_state(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    press_on(visitor, "broker3", 'k')?;
    let here = hold(visitor)?;
    visitor.press('l')?;
    visitor.until("a link in the address", "location.hash.startsWith('#1')")?;
    let link = visitor.text("location.href")?;
    visitor.new_tab()?;
    visitor.go(&link)?;
    visitor.until("a page that is alive", ALIVE)?;
    let there = hold(visitor)?;
    if here == there { Ok(()) } else { Err(format!("{here} here, {there} behind the link")) }
}

fn a_link_holds_every_take(visitor: &Visitor) -> Outcome {
    const BACK: char = '\u{e012}';
    let takes = |count: usize| {
        format!("document.querySelectorAll('#transport .takes button').length === {count}")
    };
    open_running(visitor)?;
    // To the last event, and to before it.
    for _ in 0..2 {
        let later = hold(visitor)?;
        visitor.press(BACK)?;
        visitor.until("a step back", &format!("document.body.dataset.stateHash !== '{later}'"))?;
    }
    press_on(visitor, "broker3", 'k')?;
    visitor.until("two takes", &takes(2))?;
    let here = hold(visitor)?;
    visitor.press('l')?;
    visitor.until("a link in the address", "location.hash.startsWith('#1')")?;
    let link = visitor.text("location.href")?;
    visitor.new_tab()?;
    visitor.go(&link)?;
    visitor.until("a page that is alive", ALIVE)?;
    visitor.until("both takes", &takes(2))?;
    let there = hold(visitor)?;
    if here != there {
        return Err(format!("{here} here, {there} behind the link"));
    }
    visitor.click("#transport .takes button")?;
    let label = "document.querySelector('#stage [data-process=broker3]').ariaLabel";
    visitor.until("broker 3 alive in the first take", &format!("!{label}.includes('killed')"))
}

fn settings_stay_open(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    visitor.run("document.querySelector('#stage [data-process=broker1]').focus()")?;
    let list = "document.querySelector('#inspector details.properties')";
    visitor.until("its settings", &format!("{list} !== null"))?;
    visitor.click("#inspector details.properties summary")?;
    let field = "document.querySelector('#inspector [aria-label=\"message.max.bytes\"]')";
    visitor.until("a setting that can change", &format!("{field}?.readOnly === false"))?;
    visitor.run(&format!(
        "const field = {field}; field.focus(); field.value = '5000'; \
         field.dispatchEvent(new Event('change', {{ bubbles: true }}));"
    ))?;
    let told = format!("{field}.nextElementSibling.textContent === 'dynamic'");
    visitor.until("who says so now", &told)?;
    let stays = format!("{list}.open && document.activeElement === {field}");
    visitor.until("the list open, and the field under the hand", &stays)
}

fn a_damaged_link_is_refused(visitor: &Visitor) -> Outcome {
    open(visitor, "#1AAAA")?;
    visitor.until("no panel of a stopped page", "document.getElementById('stopped').hidden")?;
    visitor.until("that it is damaged", &told("This link is damaged"))?;
    visitor.click("#sentence .btn.ink")?;
    visitor.until("three brokers in the tree", &format!("{REGISTERED} === 3"))
}

/// The sentence has these words in it.
fn told(words: &str) -> String {
    format!("document.getElementById('sentence').textContent.includes('{words}')")
}

fn a_situation_tells_its_point(visitor: &Visitor) -> Outcome {
    const NEXT: &str = "document.querySelector('#sentence > .btn.ink').click()";
    const CAPTION: &str = "(document.querySelector('.head .caption')?.textContent ?? '')";
    open_running(visitor)?;
    visitor.press('1')?;
    list(visitor, "situations")?;
    "second change".chars().try_for_each(|letter| visitor.press(letter))?;
    visitor.press(ENTER)?;
    visitor.until("its name", &format!("{CAPTION}.includes('A watch misses')"))?;
    visitor.until("its aim", &format!("{CAPTION}.includes('one bell')"))?;
    hold(visitor)?;
    for _ in 0..40 {
        if visitor.text(&told("a second time"))? == "true" {
            break;
        }
        visitor.run(NEXT)?;
    }
    visitor.until("what it is watched for", &told("The value changes a second time"))?;
    for _ in 0..40 {
        if visitor.text(&format!("{CAPTION}.includes('It has ended')"))? == "true" {
            break;
        }
        visitor.run(NEXT)?;
    }
    visitor.until("its end", &format!("{CAPTION}.includes('It has ended')"))?;
    visitor.run("document.querySelector('.caption .btn:last-child').click()")?;
    visitor.until("the next one", &format!("{CAPTION}.includes('The herd')"))
}

fn letters_search(visitor: &Visitor) -> Outcome {
    const ROWS: &str = "[...document.querySelectorAll('.help .verb')]";
    open_running(visitor)?;
    visitor.press('1')?;
    list(visitor, "situations")?;
    visitor.until("a chosen line", "'first' in document.activeElement.dataset")?;
    "herd".chars().try_for_each(|letter| visitor.press(letter))?;
    let found = format!("{ROWS}.length > 0 && {ROWS}.length < 9");
    visitor.until("only those lines", &found)?;
    visitor.until("a field that was typed in", "document.activeElement.value === 'herd'")
}

fn time_stands_while_help_is_read(visitor: &Visitor) -> Outcome {
    const AT: &str = "document.querySelector('#transport .at .num').textContent";
    open_running(visitor)?;
    visitor.press('?')?;
    list(visitor, "help")?;
    let before = visitor.text(AT)?;
    std::thread::sleep(std::time::Duration::from_millis(700));
    let after = visitor.text(AT)?;
    if before != after {
        return Err(format!("time went on from {before} to {after}"));
    }
    visitor.press(ESCAPE)?;
    visitor.until("time that goes on", &format!("{AT} !== '{before}'"))
}

fn it_is_spoken(visitor: &Visitor) -> Outcome {
    const SPOKEN: &str = "document.querySelector('[role=log]').textContent";
    open_running(visitor)?;
    visitor.until("something spoken", &format!("{SPOKEN} !== ''"))?;
    let first = visitor.text(SPOKEN)?.replace('\'', "\\'");
    visitor.until("something else spoken", &format!("{SPOKEN} !== '{first}'"))
}

/// The list of this name is open.
fn list(visitor: &Visitor, over: &str) -> Outcome {
    let open = format!("document.querySelector('.wide').dataset.over === '{over}'");
    visitor.until(&format!("what lies over the page: {over}"), &open)
}

fn a_situation_is_chosen_first(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    hold(visitor)?;
    visitor.press('7')?;
    list(visitor, "situations")?;
    let chosen = "document.activeElement.textContent.startsWith('A consumer dies')";
    visitor.until("the situation of this number", chosen)?;
    visitor.until("the visit as it was", "document.querySelector('.task') !== null")?;
    visitor.press('7')?;
    list(visitor, "nothing")?;
    let instead = "document.querySelector('.task')?.textContent.includes('A consumer dies')";
    visitor.until("the situation in the visit's place", instead)?;
    let told = "document.getElementById('sentence').textContent.includes('c1 is killed')";
    visitor.until("what the recording does, not told as the reader's", told)
}

const ESCAPE: char = '\u{e00c}';

fn marks_are_explained(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    visitor.run("document.querySelector('#stage [data-process=broker1]').focus()")?;
    visitor.press('m')?;
    list(visitor, "legend")?;
    let explained = "['star', 'flag', 'HW', 'LEO', 'crown', 'ISR', 'epoch', 'generation', 'lag'] \
        .every((word) => document.querySelector('.help').textContent.includes(word))";
    visitor.until("every word of the figures", explained)?;
    visitor.press(ESCAPE)?;
    let back = "document.activeElement.dataset.process === 'broker1'";
    visitor.until("the focus where it was", back)
}

fn actions_are_found(visitor: &Visitor) -> Outcome {
    let line =
        |words: &str| format!("document.querySelector('.help').textContent.includes('{words}')");
    open_running(visitor)?;
    visitor.press('/')?;
    visitor.until("a field", "document.activeElement.type === 'search'")?;
    for letter in "freeze".chars() {
        visitor.press(letter)?;
    }
    visitor.until("an action on a broker", &line("Freeze broker 2"))?;
    visitor.press('q')?;
    visitor.until("that nothing is found", &line("Nothing of that name"))
}

fn a_dead_key_says_so(visitor: &Visitor) -> Outcome {
    open_running(visitor)?;
    visitor.until("a partition", "document.querySelector('#stage .strip .hit') !== null")?;
    visitor.run("document.querySelector('#stage .strip .hit').focus()")?;
    visitor.press('k')?;
    let said = "document.getElementById('sentence').textContent.includes('does nothing to orders')";
    visitor.until("that the key does nothing", said)
}

fn two_sessions_are_two(visitor: &Visitor) -> Outcome {
    const ON_STAGE: &str = "[...document.querySelectorAll('#stage [data-session=broker1]')]\
        .map((ring) => ring.ariaLabel.split(',')[0]).sort().join() \
        === 'new session of broker 1,old session of broker 1'";
    const IN_LANES: &str = "['old', 'new'].every((age) => document.getElementById('lanes')\
        .textContent.includes(`${age} session of broker 1`))";
    const RIGHT: char = '\u{e014}';
    open_running(visitor)?;
    hold(visitor)?;
    press_on(visitor, "broker1", 'k')?;
    visitor.press('r')?;
    let both = format!("{ON_STAGE} && {IN_LANES}");
    for _ in 0..200 {
        if visitor.text(&both)? == "true" {
            return Ok(());
        }
        visitor.press(RIGHT)?;
    }
    visitor.until("both sessions, on the stage and in the lanes", &both)
}

fn a_wall_shows_every_figure(visitor: &Visitor) -> Outcome {
    // What is written, by its size on the screen and the figure's own scale.
    const SMALL: &str = "[...document.querySelectorAll('.wide *')].filter((element) =>\
        [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) \
        && element.getClientRects().length && element.getBoundingClientRect().width > 1 \
        && getComputedStyle(element).visibility === 'visible').map((element) => {\
        const scale = element.ownerSVGElement?.getScreenCTM()?.a ?? element.currentCSSZoom ?? 1;\
        return [parseFloat(getComputedStyle(element).fontSize) * scale, element.textContent];\
        }).filter(([size]) => size < 27.95).map((found) => found.join(' ')).join('; ')";
    open(visitor, "?theme=projector")?;
    let frame = |side: &str| visitor.text(&format!("outer{side} - inner{side}"));
    let (wide, high) = (frame("Width")?.parse::<u32>(), frame("Height")?.parse::<u32>());
    visitor.resize(1920 + wide.unwrap_or(0), 1080 + high.unwrap_or(0))?;
    visitor.until("a wall of 1920 by 1080", "innerWidth === 1920 && innerHeight === 1080")?;
    visitor.until("three brokers in the tree", &format!("{REGISTERED} === 3"))?;
    visitor.run("document.querySelector('#stage [data-process=broker1]').focus()")?;
    for (seat, figure) in
        [("cluster", "stage"), ("tree", "tree"), ("lanes", "lanes"), ("selected", "inspector")]
    {
        visitor.click(&format!(".seg .to-{seat}"))?;
        let seen = format!("document.getElementById('{figure}').getClientRects().length === 1");
        visitor.until(figure, &seen)?;
        let small = visitor.text(SMALL)?;
        if !small.is_empty() {
            return Err(format!("{figure} has text below 28 pixels: {small}"));
        }
    }
    visitor.until("a transport", "document.getElementById('transport').offsetHeight > 50")
}

fn the_view_is_kept(visitor: &Visitor) -> Outcome {
    const THEME: &str = "document.documentElement.dataset.theme";
    open(visitor, "")?;
    let before = visitor.text(THEME)?;
    visitor.click(".head .sq")?;
    visitor.until("another theme", &format!("{THEME} !== '{before}'"))?;
    let chosen = visitor.text(THEME)?;
    open(visitor, "")?;
    visitor.until("the same theme again", &format!("{THEME} === '{chosen}'"))?;
    open(visitor, "?theme=light")?;
    visitor.until("what the address asks for", &format!("{THEME} === 'light'"))
}

fn a_panic_shows_the_recording(visitor: &Visitor) -> Outcome {
    // Whoever runs out of memory says no more than this, and nothing of the recording.
    let stop = "dispatchEvent(new ErrorEvent('error', { message: 'unreachable' }))";
    open_running(visitor)?;
    visitor.press(' ')?;
    press_on(visitor, "broker1", 'k')?;
    visitor
        .until("a recording that is kept", "!!document.getElementById('stopped').dataset.link")?;
    std::thread::sleep(std::time::Duration::from_millis(2500));
    visitor.run(stop)?;
    visitor.until("the panel", "!document.getElementById('stopped').hidden")?;
    let report = visitor.text("document.getElementById('stopped-report').textContent")?;
    let again = visitor.text("document.getElementById('stopped-again').getAttribute('href')")?;
    if !report.contains("unreachable") || !again.starts_with("#1") {
        return Err(format!("the panel says {report:?} and links to {again:?}"));
    }
    visitor.click("#stopped-again")?;
    visitor.until("a page that is alive again", "document.getElementById('stopped')?.hidden")?;
    visitor.until("a page that is alive", ALIVE)?;
    let dead = "document.querySelector('#stage [data-process=broker1]')?.ariaLabel";
    visitor.until("the broker that was killed", &format!("{dead}?.includes('killed')"))
}

fn it_has_no_barrier(visitor: &Visitor) -> Outcome {
    open(visitor, "")?;
    let violations = axe(visitor)?;
    if violations.is_empty() { Ok(()) } else { Err(violations.join("\n")) }
}

/// What axe finds, one line a rule and element.
fn axe(visitor: &Visitor) -> Outcome<Vec<String>> {
    visitor.run(include_str!("../vendor/axe.min.js"))?;
    let found = visitor.run_until_called(
        "const done = arguments[arguments.length - 1];
         axe.run(document, { resultTypes: ['violations'] }).then(
           ({ violations }) => done(violations.flatMap(({ id, help, nodes }) => nodes.map(
             (node) => `${id}: ${help}: ${node.target} ${node.html.slice(0, 200)}`))),
           (error) => done([`axe failed: ${error}`]));",
    )?;
    let lines = found.as_array().into_iter().flatten();
    Ok(lines.map(|line| line.as_str().unwrap_or_default().to_owned()).collect())
}

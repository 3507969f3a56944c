//! A partition's log, in the seat of the lanes: the files of a replica, the batches of a segment,
//! and how a fetch finds its offset, step by step.
//!
//! *Invariant:* it follows what is selected; what is chosen here changes nothing else.

use leptos::prelude::*;

use super::PanelHead;
use crate::picture::ensemble::Run;
use crate::picture::log_files::{Asked, Batch, LogFiles, SegmentRow, log_files};
use crate::picture::target::Target;
use crate::text::Phrase;
use crate::ui::live::{follow, lines, pushed, truth, words};
use crate::ui::mirror::use_mirror;
use crate::ui::view::{Lower, View, use_view};

/// The panel, where somebody has opened it.
#[component]
pub fn Files() -> impl IntoView {
    let view = use_view();
    move || (view.lower.get() == Lower::Files).then(|| shown(view))
}

/// What the panel's parts share: what is asked, what is shown, and which step is the last.
#[derive(Clone, Copy)]
struct Shared {
    view: View,
    asked: RwSignal<Asked>,
    picture: Memo<Option<LogFiles>>,
    step: RwSignal<usize>,
}

impl Shared {
    fn read<T: Default>(self, read: impl Fn(&LogFiles) -> T) -> T {
        self.picture.with(|picture| picture.as_ref().map(read).unwrap_or_default())
    }
}

fn shown(view: View) -> AnyView {
    let mirror = use_mirror();
    let asked = RwSignal::new(Asked::default());
    follow(move || match view.selected.get() {
        Some(Target::Partition(name)) => {
            asked.set(Asked { partition: Some(name), ..Asked::default() });
        }
        Some(Target::Process(name)) => asked.update(|asked| asked.broker = Some(name)),
        _ => {}
    });
    let picture = Memo::new(move |_| {
        mirror.track_trace();
        asked.with(|asked| mirror.with(|lab| log_files(Run::of(lab), asked)))
    });
    let shared = Shared { view, asked, picture, step: RwSignal::new(4) };
    let is_there = Memo::new(move |_| picture.with(Option::is_some));
    let inside = move || match is_there.get() {
        true => view! { {files(shared)}{batches(shared)}{fetch(shared)} }.into_any(),
        false => view! { <p class="note">{view.key("files.none")}</p> }.into_any(),
    };
    view! {
        <section class="console files" id="files" aria-label=view.label("page.panel.files")>{inside}</section>
    }
    .into_any()
}

/// The replicas, and the files of the one that is open.
fn files(shared: Shared) -> AnyView {
    let Shared { view, asked, .. } = shared;
    let replicas = Memo::new(move |_| shared.read(|p| (p.replicas.clone(), p.open)));
    let replica = move |(place, (name, does)): (usize, (String, Phrase)), open| {
        let wanted = name.clone();
        view! {
            <button class="btn bare" aria-pressed=(place == open).to_string()
                on:click=pushed(move || asked.update(|asked| asked.broker = Some(wanted.clone())))>
                {name}" "<span class="k">{view.say(&does)}</span>
            </button>
        }
        .into_any()
    };
    let replicas = lines(move || {
        let (replicas, open) = replicas.get();
        replicas.into_iter().enumerate().map(|r| replica(r, open)).collect()
    });
    let others = lines(move || {
        let line = |(name, size): (&'static str, u64)| {
            view! { <tr><th scope="row">{name}</th><td>{size}</td></tr> }.into_any()
        };
        shared.read(|p| p.others.clone()).into_iter().map(line).collect()
    });
    let segments = move || shared.read(|p| p.segments.clone());
    let kept = words(move || shared.read(|p| p.kept.clone()));
    view! {
        <div class="pane">
            <PanelHead figure="page.figure.lanes" name="page.panel.files">{replicas}</PanelHead>
            <div class="rows" tabindex="0" role="group" aria-label=view.key("page.panel.files")>
                <code class="dir">{words(move || shared.read(|p| p.directory.clone()))}</code>
                <table>
                    <thead><tr>
                        <th scope="col">{view.key("files.segment")}</th>
                        <th scope="col">".log"</th><th scope="col">".index"</th>
                        <th scope="col">".timeindex"</th><th scope="col">{view.key("files.is")}</th>
                    </tr></thead>
                    <tbody>
                        <For each=segments key=|row| row.clone() let:row>
                            {segment_row(shared, row)}
                        </For>
                        {others}
                    </tbody>
                </table>
                <code class="kept">{kept}</code>
            </div>
        </div>
    }
    .into_any()
}

fn segment_row(shared: Shared, row: SegmentRow) -> AnyView {
    let base = row.base;
    let name = format!("{base:020}");
    let is_gone = row.sizes[0].is_none();
    let name = match is_gone {
        true => view! { <s>{name}</s> }.into_any(),
        false => {
            let open = move || shared.asked.update(|asked| asked.segment = Some(base));
            view! { <button on:click=pushed(open)>{name}</button> }.into_any()
        }
    };
    let size = |size: Option<u64>| view! { <td>{size}</td> };
    let found = move || shared.step.get() > 0 && shared.read(|p| p.holds) == Some(base);
    view! {
        <tr class:sel=truth(move || !is_gone && shared.read(|p| p.segment) == base)
            class:found=truth(move || !is_gone && found())>
            <th scope="row">{name}</th>
            {row.sizes.map(size).collect_view()}
            <td class="is">{shared.view.key(row.is)}</td>
        </tr>
    }
    .into_any()
}

/// The batches of the segment that is open, with the entries of its index beside them.
fn batches(shared: Shared) -> AnyView {
    let view = shared.view;
    let column = |key| view! { <th scope="col">{view.key(key)}</th> };
    let rows = lines(move || {
        let step = shared.step.get();
        shared.read(|p| p.batches.clone()).into_iter().map(|b| batch_row(b, step)).collect()
    });
    view! {
        <div class="pane">
            <PanelHead figure="page.figure.lanes" name="files.batches">
                <span class="k">{words(move || shared.read(|p| view.say(&p.bounds)))}</span>
            </PanelHead>
            <div class="rows" tabindex="0" role="group" aria-label=view.key("files.batches")>
                <table>
                    <thead><tr>
                        <th scope="col">".index"</th>
                        {["files.position", "files.offset", "files.epoch", "files.bytes", "files.records"].map(column).collect_view()}
                    </tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </div>
    }
    .into_any()
}

fn batch_row(batch: Batch, step: usize) -> AnyView {
    let (first, last) = batch.offsets;
    let offsets = if first == last { first.to_string() } else { format!("{first}–{last}") };
    let entry = batch.entry.map(|entry| format!("{entry} → {}", batch.position));
    let is_found = batch.found && step > 2;
    let is_met = batch.met.is_some_and(|met| met <= step);
    view! {
        <tr class:later=!batch.committed class:passed=is_met class:found=is_found>
            <td class="entry">{entry}</td><td>{batch.position}</td><td>{offsets}</td>
            <td>{batch.epoch}</td><td>{batch.size}</td><td class="is">{batch.records}</td>
        </tr>
    }
    .into_any()
}

/// How a fetch finds an offset, one step after the other.
fn fetch(shared: Shared) -> AnyView {
    let Shared { view, asked, step, .. } = shared;
    let seek = move |event| {
        let offset = event_target_value(&event).parse().ok();
        asked.update(|asked| (asked.offset, asked.segment) = (offset, None));
    };
    let count = move || shared.read(|p| p.steps.len());
    let next = move || {
        step.update(|step| *step = if *step >= count() { 1 } else { *step + 1 });
        asked.update(|asked| asked.segment = None);
    };
    let steps = lines(move || {
        let line = |words: &Phrase| view! { <li>{view.say(words)}</li> }.into_any();
        let steps = shared.read(|p| p.steps.clone());
        steps.iter().take(step.get()).map(line).collect()
    });
    view! {
        <div class="pane">
            <PanelHead figure="page.figure.lanes" name="files.fetch">
                <input type="number" min="0" aria-label=view.key("files.fetch")
                    prop:value=words(move || shared.read(|p| p.offset).to_string()) on:change=seek/>
                <button class="btn" on:click=pushed(next)>{view.label("files.next")}</button>
            </PanelHead>
            <div class="told" role="status" tabindex="0"><ol>{steps}</ol></div>
        </div>
    }
    .into_any()
}

//! Fig. 1, the znode tree: a window on its rows, each in one of some fifty slots.
//!
//! *Invariant:* the number of elements does not grow with the number of znodes.

use std::sync::Arc;

use leptos::html;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::PanelHead;
use crate::picture::drawing::icon::Icon;
use crate::picture::legend;
use crate::picture::shape::tenths;
use crate::picture::story;
use crate::picture::target::Target;
use crate::picture::tree::{Change, Kind, Row, TreePicture, Watch};
use crate::text::Phrase;
use crate::ui::icon::IconOf;
use crate::ui::live::{in_words, part, pushed, truth, words};
use crate::ui::scene::{Scene, use_scene};
use crate::ui::view::{View, use_view};

/// The height of a row.
const HEIGHT: usize = 21;
/// How many slots there are.
const SLOTS: usize = 48;

/// A line: a row, or the old and new value under it.
#[derive(Clone, PartialEq)]
enum Line {
    Row(Arc<Row>),
    Values { depth: i32, old: String, new: String },
}

fn lines(picture: &TreePicture) -> Vec<Line> {
    let mut lines = Vec::new();
    for row in &picture.rows {
        lines.push(Line::Row(Arc::new(row.clone())));
        if let Change::Changed { old, new, .. } = &row.change {
            lines.push(Line::Values { depth: row.depth, old: old.clone(), new: new.clone() });
        }
    }
    lines
}

/// The tree panel.
#[component]
pub fn Tree() -> impl IntoView {
    let (view, scene) = (use_view(), use_scene());
    let lines = Memo::new(move |_| scene.tree.with(lines));
    let first = RwSignal::new(0usize);
    let seen = NodeRef::<html::Div>::new();
    let scrolled = move |_| {
        if let Some(element) = seen.get_untracked() {
            let top = usize::try_from(element.scroll_top()).unwrap_or(0) / HEIGHT;
            first.set(top.saturating_sub(4));
        }
    };
    let active = move || {
        let path = selected_path(view)?;
        let number = lines.with(|lines| position(lines, &path))?;
        Some(format!("znode-{}", number % SLOTS))
    };
    let note = part(move || {
        let note = scene.tree.with(|tree| tree.note.clone());
        note.map(|note| view! { <p class="note">{view.say(&note)}</p> }.into_any())
    });
    let height = words(move || format!("{}px", lines.with(Vec::len) * HEIGHT));
    view! {
        <section class="tree" id="tree" aria-label=view.label("page.panel.tree")>
            <PanelHead figure="page.figure.tree" name="page.panel.tree"/>
            <div class="field">
                <IconOf icon=Icon::Search/>
                <input type="search" aria-label=view.label("page.tree.filter")
                    placeholder=view.label("page.tree.filter")
                    prop:value=words(move || view.filter.get())
                    on:input=move |event| view.filter.set(event_target_value(&event))/>
            </div>
            {note}
            <div class="rows" role="tree" tabindex="0" node_ref=seen on:scroll=scrolled
                aria-label=view.label("page.panel.tree")
                aria-activedescendant=active
                on:keydown=move |event| walk(view, scene, lines, &event)>
                <div class="all" style:height=height role="presentation">
                    {(0..SLOTS)
                        .map(|number| view! { <Place number=number first=first lines=lines/> })
                        .collect_view()}
                </div>
            </div>
        </section>
    }
}

fn selected_path(view: View) -> Option<String> {
    match view.selected.get() {
        Some(Target::Znode(path)) => Some(path),
        _ => None,
    }
}

fn position(lines: &[Line], path: &str) -> Option<usize> {
    lines.iter().position(|line| matches!(line, Line::Row(row) if row.path == path))
}

/// The tree's own keys while it has the focus: up and down walk the rows, right opens, left
/// closes or goes to the parent, Home and End go to the ends.
fn walk(view: View, scene: Scene, lines: Memo<Vec<Line>>, event: &KeyboardEvent) {
    let rows: Vec<Arc<Row>> =
        lines.with_untracked(|lines| lines.iter().filter_map(row_of).collect());
    let now = selected_path(view);
    let at = now.and_then(|path| rows.iter().position(|row| row.path == path));
    let last = rows.len().saturating_sub(1);
    let next = match (event.key().as_str(), at) {
        ("ArrowDown", at) => at.map_or(0, |at| (at + 1).min(last)),
        ("ArrowUp", at) => at.map_or(0, |at| at.saturating_sub(1)),
        ("Home", _) => 0,
        ("End", _) => last,
        ("ArrowRight", Some(at)) => open_or_enter(scene, &rows[at], at, last),
        ("ArrowLeft", Some(at)) => close_or_leave(scene, &rows, at),
        _ => return,
    };
    event.prevent_default();
    event.stop_propagation();
    if let Some(row) = rows.get(next) {
        view.select(Target::Znode(row.path.clone()));
    }
}

fn open_or_enter(scene: Scene, row: &Row, at: usize, last: usize) -> usize {
    if row.open {
        return (at + 1).min(last);
    }
    if row.children > 0 {
        scene.turn(&row.path);
    }
    at
}

fn close_or_leave(scene: Scene, rows: &[Arc<Row>], at: usize) -> usize {
    let row = &rows[at];
    if row.open {
        scene.turn(&row.path);
        return at;
    }
    let parent = rows[..at].iter().rposition(|above| above.depth < row.depth);
    parent.unwrap_or(at)
}

fn row_of(line: &Line) -> Option<Arc<Row>> {
    match line {
        Line::Row(row) => Some(row.clone()),
        Line::Values { .. } => None,
    }
}

/// A slot: whichever line of the window falls to it.
#[component]
fn Place(
    /// Which slot.
    number: usize,
    /// The first line of the window.
    first: RwSignal<usize>,
    /// All lines.
    lines: Memo<Vec<Line>>,
) -> impl IntoView {
    let slot = number;
    let view = use_view();
    let number = Memo::new(move |_| {
        let first = first.get();
        first + (slot + SLOTS - first % SLOTS) % SLOTS
    });
    let line = Memo::new(move |_| lines.with(|lines| lines.get(number.get()).cloned()));
    let top = move || format!("{}px", number.get() * HEIGHT);
    part(move || {
        let shown = match line.get()? {
            Line::Row(row) => row_view(view, slot, row).into_any(),
            Line::Values { depth, old, new } => values_view(depth, old, new).into_any(),
        };
        let slot =
            view! { <div class="slot" role="presentation" style:top=words(top)>{shown}</div> };
        Some(slot.into_any())
    })
}

fn indent(depth: i32) -> String {
    format!("{}px", 14 + depth * 15)
}

fn values_view(depth: i32, old: String, new: String) -> impl IntoView {
    view! {
        <div class="row chg values" aria-hidden="true" style:padding-left=indent(depth + 2)>
            <s>{old}</s><span>{new}</span>
        </div>
    }
}

fn row_view(view: View, slot: usize, row: Arc<Row>) -> impl IntoView {
    let target = Target::Znode(row.path.clone());
    let is_selected = {
        let target = target.clone();
        move || view.selected.get().as_ref() == Some(&target)
    };
    let lit = is_selected.clone();
    let expanded = (row.children > 0).then(|| row.open.to_string());
    let (class, gutter) = match row.change {
        Change::None => ("row", ""),
        Change::Created => ("row add", "+"),
        Change::Changed { .. } => ("row chg", "Δ"),
        Change::Deleted | Change::Ended => ("row ghost", "−"),
    };
    let label = row.label();
    let scene = use_scene();
    let path = row.path.clone();
    let icon = if row.open { Icon::Down } else { Icon::Right };
    let twist = (row.children > 0).then(|| view! { <IconOf icon=icon/> });
    view! {
        <div class=class class:lit=truth(lit) id=format!("znode-{slot}") role="treeitem" data-path=row.path.clone()
            aria-setsize=row.place.1.to_string()
            aria-posinset=row.place.0.to_string() aria-expanded=expanded
            aria-selected=in_words(is_selected) style:padding-left=indent(row.depth)
            on:click=pushed(move || view.select(target.clone()))>
            <span class="gut">{gutter}</span>
            <span class="tw" on:click=pushed(move || scene.turn(&path))>{twist}</span>
            <span class="kd"><IconOf icon=kind_icon(row.kind)/></span>
            <span class="nm"><bdi>{row.name().to_string()}</bdi></span>
            {value_view(view, &row)}
            {end_view(view, &row)}
            <span class="spoken">{words(move || view.say(&label))}</span>
        </div>
    }
    .attr("aria-level", (row.depth + 1).to_string())
}

fn kind_icon(kind: Kind) -> Icon {
    match kind {
        Kind::Persistent => Icon::Persistent,
        Kind::Ephemeral => Icon::Ephemeral,
        Kind::Container => Icon::Container,
        Kind::Ttl => Icon::Ttl,
    }
}

fn value_view(view: View, row: &Row) -> Option<impl IntoView + use<>> {
    let said = match (&row.owner, &row.value) {
        (Some(owner), value) if *value == Phrase::nothing() => {
            let key = match &owner.session {
                Some(Target::OldSession(_)) => "page.session.whose-old",
                _ if owner.silent => "page.znode.still",
                _ => "page.znode.owner",
            };
            Phrase::key(key).with("owner", story::short(&owner.process))
        }
        (_, value) if *value == Phrase::nothing() && !row.open && row.children > 0 => {
            let key = if row.children == 1 { "page.znode.child" } else { "page.znode.children" };
            Phrase::key(key).with("n", row.children)
        }
        (_, value) => value.clone(),
    };
    Some(view! { <span class="vl">{words(move || view.say(&said))}</span> })
}

fn end_view(view: View, row: &Row) -> AnyView {
    if let Change::Changed { versions: (old, new), .. } = row.change {
        return view! { <span class="end">{format!("v{old} → v{new}")}</span> }.into_any();
    }
    let gone = match row.change {
        Change::Deleted => Some("page.znode.was-deleted"),
        Change::Ended => Some("page.znode.gone"),
        _ => None,
    };
    if let Some(key) = gone {
        return view! { <span class="end gonec">{view.label(key)}</span> }.into_any();
    }
    let silent = row.owner.as_ref().is_some_and(|owner| owner.silent);
    let ring = row.owner.clone().map(|owner| {
        let rest = (owner.left * 1000 / owner.timeout.max(1)).clamp(0, 1000);
        // The seconds of who is heard would say at every sign of life what the ring says as well.
        let left = row.left().filter(|_| silent).unwrap_or_else(Phrase::nothing);
        let (process, session) = (Target::Process(owner.process), owner.session);
        let lit = Memo::new(move |_| {
            let selected = view.selected.get();
            silent && (selected == session || selected.as_ref() == Some(&process))
        });
        let wanes = move || silent && !lit.get() && rest < 333;
        let lit_now = move || lit.get();
        let dashes = format!("0 {} 100", tenths((1000 - rest) * 314 / 1000));
        view! {
            <svg class="draw mini" width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
                <circle cx="7" cy="7" r="5" class="ringtrack"></circle>
                <circle cx="7" cy="7" r="5" class="ring" class:sel=truth(lit_now) class:wane=truth(wanes) transform="rotate(-90 7 7)" stroke-dasharray=dashes></circle>
            </svg>
            <span class="left" class:b=truth(lit_now) class:wanec=truth(wanes)>{words(move || view.say(&left))}</span>
        }
    });
    let watches: Vec<_> =
        row.watches.iter().map(|(watch, who)| watch_view(*watch, who, silent)).collect();
    let strung = !watches.is_empty();
    view! { <span class="end" class:w=strung>{ring}{watches}</span> }.into_any()
}

/// A watch: a bell or a fork on its string, which runs to the panel's edge.
/// Where the owner is missed there is no room for who watches.
fn watch_view(watch: Watch, who: &str, missed: bool) -> impl IntoView {
    let who = (!missed).then(|| who.to_string());
    let path = match watch {
        Watch::Data | Watch::Exists => legend::BELL,
        Watch::Children => legend::FORK,
    };
    view! {
        <span class="who">{who}</span>
        <svg class="draw string" class:dashed=watch == Watch::Exists width="28" height="16" viewBox="0 0 28 16" aria-hidden="true">
            <path d=path class="ln1 nofill"></path>
            <path d="M12 7H28" class="edge"></path>
        </svg>
    }
}

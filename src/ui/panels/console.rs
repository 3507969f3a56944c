//! The console, in the seat of the lanes: `zkCli.sh` on the left, Kafka's tools on the right, and
//! beside these every command that a button gives.
//!
//! *Invariant:* what is typed becomes commands, as a button's push does; nothing else is done here.

use leptos::html;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::PanelHead;
use crate::lab::Lab;
use crate::picture::console::{self, Pane, Program, Said, Voice};
use crate::ui::live::{follow, lines, part, words};
use crate::ui::mirror::use_mirror;
use crate::ui::scene::use_scene;
use crate::ui::view::{Lower, View, use_view};

/// The console panel, where somebody has opened it.
#[component]
pub fn Console() -> impl IntoView {
    let view = use_view();
    part(move || (view.lower.get() == Lower::Console).then(|| panes(view)))
}

fn panes(view: View) -> AnyView {
    view! {
        <section class="console" id="console" aria-label=view.label("page.panel.console")>
            {pane(Program::ZkCli)}{pane(Program::Tools)}
        </section>
    }
    .into_any()
}

/// What is being typed.
#[derive(Clone, Copy)]
struct Typing {
    program: Program,
    input: NodeRef<html::Input>,
    /// How many lines back in the history it is.
    back: StoredValue<usize>,
    /// What the last word could be.
    could_be: RwSignal<String>,
}

fn pane(program: Program) -> AnyView {
    let (view, mirror, scene) = (use_view(), use_mirror(), use_scene());
    let typing = Typing {
        program,
        input: NodeRef::new(),
        back: StoredValue::new(0),
        could_be: RwSignal::new(String::new()),
    };
    let shown = Memo::new(move |_| {
        mirror.track_trace();
        mirror.with(|lab| console::pane(program, lab))
    });
    let screen = NodeRef::<html::Pre>::new();
    follow(move || {
        shown.track();
        typing.could_be.track();
        if let Some(screen) = screen.get() {
            request_animation_frame(move || screen.set_scroll_top(screen.scroll_height()));
        }
    });
    if program == Program::ZkCli {
        follow(move || {
            if let Some(input) = typing.input.get() {
                let _ = input.focus();
            }
        });
    }
    let name = match program {
        Program::ZkCli => "console.zk",
        Program::Tools => "console.tools",
    };
    let keydown = move |event: KeyboardEvent| match event.key().as_str() {
        "Enter" => {
            let line = typing.line();
            let lines = mirror.with(|lab| console::meant(program, &line, lab));
            if !line.trim().is_empty() {
                lines.iter().for_each(|line| scene.send(line));
            }
            typing.write("");
        }
        "Escape" => view.lower.set(Lower::Lanes),
        key => {
            let done = mirror.with(|lab| typing.press(key, lab));
            if done {
                event.prevent_default();
            }
        }
    };
    let said = lines(move || shown.with(|pane| pane.lines.iter().map(line).collect()));
    view! {
        <div class="pane">
            <PanelHead figure="page.figure.lanes" name=name>
                <span class="k">{words(move || shown.with(|pane| view.say(&pane.about)))}</span>
            </PanelHead>
            <pre node_ref=screen role="log" aria-live="polite">{said}
                <span class="could">{words(move || typing.could_be.get())}</span>
            </pre>
            <label class="typed">
                <span class="prompt">{words(move || shown.with(|pane| pane.prompt.clone()))}</span>
                <input node_ref=typing.input type="text" autocomplete="off" autocapitalize="off"
                    spellcheck="false" aria-label=view.label(name) on:keydown=keydown/>
                <kbd class="kbd">"Tab"</kbd>
            </label>
        </div>
    }
    .into_any()
}

fn line(said: &Said) -> AnyView {
    let class = match said.voice {
        Voice::Person => "person",
        Voice::Program => "program",
        Voice::Watch => "watch",
        Voice::Deed => "deed",
    };
    let prompt = (!said.prompt.is_empty())
        .then(|| view! { <span class="prompt">{said.prompt.clone()}</span> });
    view! { <span class=class>{prompt}{said.text.clone()}"\n"</span> }.into_any()
}

impl Typing {
    fn line(self) -> String {
        self.input.get_untracked().map_or(String::new(), |input| input.value())
    }

    fn write(self, line: &str) {
        self.back.set_value(0);
        self.could_be.set(String::new());
        if let Some(input) = self.input.get_untracked() {
            input.set_value(line);
        }
    }

    /// What a key does in the line; false if nothing.
    fn press(self, key: &str, lab: &Lab) -> bool {
        match key {
            "Tab" => {
                let line = self.line();
                let (completed, could_be) = console::completed(self.program, &line, lab);
                let is_open = completed == line && could_be.len() > 1;
                // An empty line, or one that is complete, leaves the key to the page.
                if line.is_empty() || (completed == line && !is_open) {
                    return false;
                }
                self.write(&completed);
                self.could_be.set(if is_open { could_be.join("  ") } else { String::new() });
            }
            "ArrowUp" => self.recall(1, console::pane(self.program, lab)),
            "ArrowDown" => self.recall(-1, console::pane(self.program, lab)),
            _ => return false,
        }
        true
    }

    fn recall(self, by: isize, pane: Pane) {
        let back = self.back.get_value().saturating_add_signed(by).min(pane.history.len());
        let line = pane.history.len().checked_sub(back).and_then(|at| pane.history.get(at));
        self.write(line.map_or("", |line| line));
        self.back.set_value(back);
    }
}

//! The console, in the seat of the lanes: `zkCli.sh` on the left, Kafka's tools on the right, and
//! beside these every command that a button gives.
//!
//! *Invariant:* what is typed becomes commands, as a button's push does; nothing else is done here.

use leptos::html;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::PanelHead;
use crate::lab::Lab;
use crate::picture::console::{self, Pane, Program, Said, Tried, Voice};
use crate::ui::live::{follow, lines, part, words};
use crate::ui::mirror::{Mirror, use_mirror};
use crate::ui::playback::use_playback;
use crate::ui::scene::{Scene, use_scene};
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
    /// What was typed at the tools in vain.
    tried: RwSignal<(u16, Vec<Tried>)>,
}

fn pane(program: Program) -> AnyView {
    let (view, mirror, scene) = (use_view(), use_mirror(), use_scene());
    let playback = use_playback();
    let typing = Typing {
        program,
        input: NodeRef::new(),
        back: StoredValue::new(0),
        could_be: RwSignal::new(String::new()),
        tried: view.tried,
    };
    let shown = Memo::new(move |_| {
        mirror.track_trace();
        let tried = typing.tried_in(mirror.take().0);
        mirror.with(|lab| console::pane(program, lab, &tried))
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
        typing.focus();
    }
    let name = match program {
        Program::ZkCli => "console.zk",
        Program::Tools => "console.tools",
    };
    let keydown = move |event: KeyboardEvent| match event.key().as_str() {
        "Enter" => {
            // An answer takes time; what sends nothing leaves it as it is.
            if typing.enter(mirror, scene) {
                playback.playing.set(true);
            }
            typing.write("");
        }
        "Escape" => view.lower.set(Lower::Lanes),
        "d" if event.ctrl_key() && program == Program::Tools => {
            event.prevent_default();
            mirror.with(console::ended).iter().for_each(|line| scene.send(line));
        }
        key => {
            let tried = typing.tried_in(mirror.take().0);
            let done = mirror.with(|lab| typing.press(key, lab, &tried));
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
        Voice::Refusal => "refusal",
    };
    let prompt = (!said.prompt.is_empty())
        .then(|| view! { <span class="prompt">{said.prompt.clone()}</span> });
    view! { <span class=class>{prompt}{said.text.clone()}"\n"</span> }.into_any()
}

impl Typing {
    /// Whoever opens the console can type.
    fn focus(self) {
        follow(move || {
            if let Some(input) = self.input.get() {
                let _ = input.focus();
            }
        });
    }

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

    /// Does what the line says, or keeps why that cannot be; says whether something was sent.
    fn enter(self, mirror: Mirror, scene: Scene) -> bool {
        let line = self.line();
        if line.trim().is_empty() {
            return false;
        }
        let is_tool = self.program == Program::Tools;
        let answered = is_tool.then(|| mirror.with(|lab| console::answered(&line, lab)));
        let Some(tried) = answered.flatten() else {
            let lines = mirror.with(|lab| console::meant(self.program, &line, lab));
            lines.iter().for_each(|line| scene.send(line));
            return !lines.is_empty();
        };
        let run = mirror.take().0;
        let mut all = self.tried_in(run);
        all.push(tried);
        self.tried.set((run, all));
        false
    }

    /// What was typed in vain in that run.
    fn tried_in(self, run: u16) -> Vec<Tried> {
        self.tried.with(|(of, all)| if *of == run { all.clone() } else { Vec::new() })
    }

    /// What a key does in the line; false if nothing.
    fn press(self, key: &str, lab: &Lab, tried: &[Tried]) -> bool {
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
            "ArrowUp" => self.recall(1, console::pane(self.program, lab, tried)),
            "ArrowDown" => self.recall(-1, console::pane(self.program, lab, tried)),
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

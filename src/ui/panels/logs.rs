//! The logs, in the seat of the lanes: what the processes would have written, to be searched as
//! `grep` does; each line leads to its event.
//!
//! *Invariant:* whoever selects a process sees that process's log.

use leptos::html;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::PanelHead;
use crate::lab::logs::{LogLine, Wanted, logs};
use crate::picture::target::Target;
use crate::text::Phrase;
use crate::ui::live::{follow, lines, part, pushed, truth, words};
use crate::ui::mirror::use_mirror;
use crate::ui::view::{Lower, View, use_view};

/// The logs panel, where somebody has opened it.
#[component]
pub fn Logs() -> impl IntoView {
    let view = use_view();
    part(move || (view.lower.get() == Lower::Logs).then(|| panel(view)))
}

fn panel(view: View) -> AnyView {
    let mirror = use_mirror();
    let sought = RwSignal::new(String::new());
    let wanted = Memo::new(move |_| Wanted { process: process(view), words: sought.get() });
    let found = Memo::new(move |_| {
        mirror.track_trace();
        wanted.with(|wanted| mirror.with(|lab| logs(lab, wanted)))
    });
    let screen = NodeRef::<html::Pre>::new();
    follow(move || {
        found.track();
        if let Some(screen) = screen.get() {
            request_animation_frame(move || screen.set_scroll_top(screen.scroll_height()));
        }
    });
    let input = NodeRef::<html::Input>::new();
    let typed = move |_| sought.set(input.get_untracked().map_or(String::new(), |i| i.value()));
    let keydown = move |event: KeyboardEvent| {
        if event.key() == "Escape" {
            view.lower.set(Lower::Lanes);
        }
    };
    let rows = lines(move || found.with(|found| found.iter().map(|l| line(view, l)).collect()));
    let whose = words(move || {
        wanted.with(|wanted| match &wanted.process {
            None => view.key("logs.all"),
            Some(name) => view.say(&Phrase::key("logs.of").with("who", name)),
        })
    });
    view! {
        <section class="console logs" id="logs" aria-label=view.label("page.panel.logs")>
            <div class="pane">
                <PanelHead figure="page.figure.lanes" name="page.panel.logs">
                    <span class="k">{whose}</span>
                </PanelHead>
                <pre node_ref=screen tabindex="0">{rows}</pre>
                <label class="typed">
                    <span class="prompt">"grep -i "</span>
                    <input node_ref=input type="text" autocomplete="off" autocapitalize="off"
                        spellcheck="false" aria-label=view.label("logs.grep")
                        on:input=typed on:keydown=keydown/>
                </label>
            </div>
        </section>
    }
    .into_any()
}

/// Whose log is wanted: that of the process that is selected.
fn process(view: View) -> Option<String> {
    match view.selected.get() {
        Some(Target::Process(name) | Target::Session(name) | Target::OldSession(name)) => {
            Some(name)
        }
        _ => None,
    }
}

fn line(view: View, line: &LogLine) -> AnyView {
    let event = line.event;
    let class = match line.level.as_str() {
        "WARN" | "ERROR" | "FATAL" => "bad",
        _ => "",
    };
    let on = truth(move || view.selected.get() == Some(Target::Event(event)));
    view! {
        <button class=class class:sel=on on:click=pushed(move || view.select(Target::Event(event)))>
            <span class="prompt">{line.process.clone()}" "{line.time.clone()}</span>
            " "<b>{line.level.clone()}</b>" "{line.words.clone()}
        </button>
    }
    .into_any()
}

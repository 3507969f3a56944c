//! What a panel's view is fed with: words and truths that follow signals, and what a push does.
//!
//! Each closure in a `view!` is a type of its own, for which the library's code is made once more;
//! in a box all of them are one type. *Invariant: whatever a panel says more than once is boxed.*

use leptos::prelude::*;
use web_sys::MouseEvent;

/// Words that follow signals.
pub type Words = Box<dyn FnMut() -> String + Send>;

/// A truth that follows signals.
pub type Truth = Box<dyn FnMut() -> bool + Send>;

/// A part of a panel that is there at times.
pub type Part = Box<dyn FnMut() -> Option<AnyView> + Send>;

/// Lines that follow signals.
pub type Lines = Box<dyn FnMut() -> Vec<AnyView> + Send>;

/// What is done when somebody pushes a button.
pub type Pushed = Box<dyn FnMut(MouseEvent)>;

/// The words that this says now.
pub fn words(now: impl FnMut() -> String + Send + 'static) -> Words {
    Box::new(now)
}

/// Whether this is so now.
pub fn truth(now: impl FnMut() -> bool + Send + 'static) -> Truth {
    Box::new(now)
}

/// The same as the words `true` and `false`, for who reads attributes.
pub fn in_words(mut now: impl FnMut() -> bool + Send + 'static) -> Words {
    Box::new(move || String::from(if now() { "true" } else { "false" }))
}

/// A part that is there whenever this makes one.
pub fn part(now: impl FnMut() -> Option<AnyView> + Send + 'static) -> Part {
    Box::new(now)
}

/// A part that stays as it is while something is so, and is made anew when it is so again.
pub fn part_while<V: IntoView + 'static>(
    is_so: impl Fn() -> bool + Send + Sync + 'static,
    make: impl Fn() -> V + Send + 'static,
) -> Part {
    let is_so = kept(Box::new(is_so));
    part(move || is_so.get().then(|| make().into_any()))
}

fn kept(is_so: Box<dyn Fn() -> bool + Send + Sync>) -> Memo<bool> {
    Memo::new(move |_| is_so())
}

/// The lines that this makes now.
pub fn lines(now: impl FnMut() -> Vec<AnyView> + Send + 'static) -> Lines {
    Box::new(now)
}

/// Does this now, and again whenever a signal that it read has changed.
pub fn follow(act: impl FnMut() + 'static) {
    let act: Box<dyn FnMut()> = Box::new(act);
    Effect::new(act);
}

/// Does this at each push.
pub fn pushed(mut act: impl FnMut() + 'static) -> Pushed {
    Box::new(move |_| act())
}

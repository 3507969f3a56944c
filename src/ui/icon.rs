//! Icons in the document.

use leptos::prelude::*;

use crate::picture::drawing::icon::Icon;
use crate::ui::live::words;

/// An icon at a size; it is silent, so that the words beside it speak.
#[component]
pub fn IconOf(
    /// Which.
    #[prop(into)]
    icon: Signal<Icon>,
    /// Its width and height.
    #[prop(default = 16)]
    size: u32,
) -> impl IntoView {
    view! {
        <svg class="ic" width=size height=size viewBox="0 0 16 16" aria-hidden="true">
            <path d=words(move || icon.get().paths().0.to_owned())></path>
            <path class="fill" d=words(move || icon.get().paths().1.to_owned())></path>
        </svg>
    }
}

/// The mark: a zoetrope drum seen from the front, slits in its wall.
#[component]
pub fn Mark() -> impl IntoView {
    view! {
        <svg class="ic mark" width="22" height="22" viewBox="0 0 22 22" aria-hidden="true">
            <path d="M20 6a9 3 0 1 1 -18 0a9 3 0 1 1 18 0z"></path>
            <path d="M2 6v6.5c0 1.7 4 3 9 3s9-1.3 9-3V6"></path>
            <path d="M5 9.2v3.2M8.2 10v3.4M11.4 10.2v3.4M14.6 9.9v3.3M17.4 9v3"></path>
            <path d="M11 15.5V19M7.5 19.5h7"></path>
        </svg>
    }
}

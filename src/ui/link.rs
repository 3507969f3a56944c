//! The link: the recording's text in the address's fragment, packed by the browser's own tool.
//!
//! What a fragment looks like is told by `lab::link`; here are the browser's streams, the clipboard
//! and the address. Nothing is sent anywhere.
//! *Invariant:* whatever stands in a fragment is opened or refused with a reason; it never panics.

use js_sys::{Array, Uint8Array};
use leptos::prelude::{document, window};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, CustomEvent, CustomEventInit, ReadableWritablePair, Response};

use crate::lab::{Recording, link};

/// A fragment may be this long; what it unpacks to is then bounded too.
const LONGEST: usize = 8 * 1024;

/// How the browser packs: deflate without a head.
const FORMAT: &str = "deflate-raw";

#[wasm_bindgen]
extern "C" {
    /// The browser's packing stream, a pair of a writable and a readable end.
    type CompressionStream;
    #[wasm_bindgen(constructor, catch)]
    fn new(format: &str) -> Result<CompressionStream, JsValue>;

    /// The browser's unpacking stream, a pair of the same kind.
    type DecompressionStream;
    #[wasm_bindgen(constructor, catch)]
    fn new(format: &str) -> Result<DecompressionStream, JsValue>;
}

/// The fragment that the page was opened with, if it has one.
pub fn opened() -> Option<String> {
    let hash = window().location().hash().ok()?;
    (hash.len() > 1).then_some(hash)
}

/// Packs a recording into a fragment, `#` in front.
pub async fn pack(recording: &Recording) -> Result<String, String> {
    let stream = CompressionStream::new(FORMAT).map_err(said)?;
    let text = recording.to_string();
    let packed = through(text.as_bytes(), stream.unchecked_ref()).await;
    Ok(format!("#{}", link::fragment(&packed.map_err(said)?)))
}

/// Opens the recording in a fragment.
pub async fn open(fragment: &str) -> Result<Recording, String> {
    if fragment.len() > LONGEST {
        return Err(format!("the link has {} characters; expected at most 8,192", fragment.len()));
    }
    let packed = link::packed(fragment).map_err(|error| error.to_string())?;
    let stream = DecompressionStream::new(FORMAT).map_err(said)?;
    let unpacked = through(&packed, stream.unchecked_ref()).await;
    let unpacked = unpacked.map_err(|_| "the link is damaged: it does not unpack".to_owned())?;
    let text = link::text(unpacked).map_err(|error| error.to_string())?;
    Recording::parse(&text).map_err(|trouble| trouble.to_string())
}

/// Puts the first of these recordings that a link can hold into the address and the clipboard; says
/// afterwards which of the two it was, and which recording.
pub fn copy(recordings: Vec<Recording>, done: impl FnOnce(Copied, usize) + 'static) {
    spawn_local(async move {
        let (mut found, mut missing) = (None, Copied::TooLong);
        for (place, recording) in recordings.iter().enumerate() {
            match pack(recording).await {
                Ok(fragment) if fragment.len() > LONGEST => {}
                Ok(fragment) => {
                    found = Some((place, fragment));
                    break;
                }
                Err(_) => missing = Copied::Nothing,
            }
        }
        let Some((place, fragment)) = found else { return done(missing, 0) };
        let replaced = window().history().and_then(|history| {
            history.replace_state_with_url(&JsValue::NULL, "", Some(&fragment))
        });
        let address = window().location().href().unwrap_or_default();
        let written = JsFuture::from(window().navigator().clipboard().write_text(&address)).await;
        let copied = match (replaced, written) {
            (_, Ok(_)) => Copied::Clipboard,
            (Ok(()), _) => Copied::Address,
            _ => Copied::Nothing,
        };
        done(copied, place);
    });
}

/// Where a copied link went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Into the clipboard, and the address too.
    Clipboard,
    /// Into the address alone: the browser gives no clipboard.
    Address,
    /// Nowhere: no link is long enough.
    TooLong,
    /// Nowhere.
    Nothing,
}

/// Packs a recording ahead, for the panel of a page that has stopped: it lies in the panel itself,
/// since a page that has run out of memory runs no line more.
pub fn keep(recording: Recording) {
    spawn_local(async move {
        let Ok(fragment) = pack(&recording).await else { return };
        if let Some(panel) = document().get_element_by_id("stopped") {
            panel.set_attribute("data-link", &fragment).expect("this is an attribute's name");
        }
    });
}

/// From now on a panic is written to the console and told to the static panel of `index.html`.
pub fn watch_for_panics() {
    std::panic::set_hook(Box::new(|panic| {
        console_error_panic_hook::hook(panic);
        tell(&panic.to_string());
    }));
}

fn tell(message: &str) {
    let detail = js_sys::Object::new();
    // A fresh object takes every property.
    let _ = js_sys::Reflect::set(&detail, &"message".into(), &message.into());
    let told = CustomEventInit::new();
    told.set_detail(&detail);
    if let Ok(event) = CustomEvent::new_with_event_init_dict("zootrope-panic", &told) {
        let _ = window().dispatch_event(&event);
    }
    if let Some(body) = document().body() {
        let _ = body.set_attribute("data-stopped", "true");
    }
}

/// Sends bytes through a transforming stream of the browser.
async fn through(bytes: &[u8], pair: &ReadableWritablePair) -> Result<Vec<u8>, JsValue> {
    let blob = Blob::new_with_u8_array_sequence(&Array::of1(&Uint8Array::from(bytes)))?;
    let stream = blob.stream().pipe_through(pair);
    let response = Response::new_with_opt_readable_stream(Some(&stream))?;
    let buffer = JsFuture::from(response.array_buffer()?).await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

/// What the browser says of its refusal.
fn said(error: JsValue) -> String {
    let message = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    message.unwrap_or_else(|| "the browser cannot pack links".into())
}

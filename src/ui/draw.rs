//! Puts drawings in the document and keeps them there: equal shapes are left alone, changed ones
//! get new attributes, and only a shape of another kind is a new element.
//!
//! *Invariant:* after a patch the children of a group are its shapes, in order.

use std::mem::discriminant;

use leptos::prelude::document;
use wasm_bindgen::JsCast;
use web_sys::Element;

use crate::picture::shape::Shape;
use crate::text::Catalog;

const SVG: &str = "http://www.w3.org/2000/svg";

/// Makes the children of a group, which are `old`, into `new`.
pub fn patch(group: &Element, old: &[Shape], new: &[Shape], catalog: &Catalog) {
    let mut child = group.first_element_child();
    for (number, shape) in new.iter().enumerate() {
        let next = child.as_ref().and_then(Element::next_element_sibling);
        match (child, old.get(number)) {
            (Some(element), Some(before)) => renew(group, &element, before, shape, catalog),
            _ => append(group, shape, catalog),
        }
        child = next;
    }
    while let Some(element) = child {
        child = element.next_element_sibling();
        element.remove();
    }
}

fn renew(group: &Element, element: &Element, old: &Shape, new: &Shape, catalog: &Catalog) {
    if old == new {
        return;
    }
    if discriminant(old) == discriminant(new) {
        describe(element, new, catalog);
        patch(element, old.inside(), new.inside(), catalog);
    } else {
        let fresh = create(new, catalog);
        group.replace_child(&fresh, element).expect("the element is a child of its group");
    }
}

fn append(group: &Element, shape: &Shape, catalog: &Catalog) {
    group.append_child(&create(shape, catalog)).expect("a group takes children");
}

fn create(shape: &Shape, catalog: &Catalog) -> Element {
    let name = shape.element(catalog).name;
    let element = document().create_element_ns(Some(SVG), name).expect("SVG has this element");
    describe(&element, shape, catalog);
    patch(&element, &[], shape.inside(), catalog);
    element.unchecked_into()
}

fn describe(element: &Element, shape: &Shape, catalog: &Catalog) {
    let described = shape.element(catalog);
    for (name, value) in described.attributes {
        element.set_attribute(name, &value).expect("shapes have known attributes");
    }
    if let Some(words) = described.words {
        element.set_text_content(Some(&words));
    }
}

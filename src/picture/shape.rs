//! The few shapes that drawings are made of, and their notation as SVG text.
//!
//! A drawing is a list of shapes with classes; what a class looks like is said in `style/`, and
//! who puts shapes on a screen is `ui`. Words in a drawing are phrases, so that a drawing has no
//! language. Positions are whole pixels of the plate; finer geometry is inside a path's text.
//! *Invariant:* equal drawings are equal values, so nothing is redrawn that has not changed.

use std::borrow::Cow;

use crate::text::{Catalog, Phrase};

/// Where a text hangs at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// One shape. Classes name what the shape means; the style sheet says how that looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A path, its text as SVG writes it, moved to a place.
    Path {
        /// Where the path's origin is.
        at: (i32, i32),
        /// The path's text.
        d: Cow<'static, str>,
        /// Its class.
        class: Cow<'static, str>,
    },
    /// A circle; the radius is in tenths of a pixel.
    Circle {
        /// Its centre.
        at: (i32, i32),
        /// Its radius, in tenths of a pixel.
        tenths: i32,
        /// Its class.
        class: Cow<'static, str>,
    },
    /// A part of a circle that empties clockwise from twelve o'clock.
    Ring {
        /// Its centre.
        at: (i32, i32),
        /// Its radius in whole pixels.
        radius: i32,
        /// What is left of it, in thousandths.
        rest: i32,
        /// Its class.
        class: Cow<'static, str>,
    },
    /// Words.
    Text {
        /// Where they hang: the anchor on the base line.
        at: (i32, i32),
        /// Which of their ends is there.
        anchor: Anchor,
        /// What they say.
        words: Phrase,
        /// Their class.
        class: Cow<'static, str>,
    },
    /// Shapes that turn together around a point, by tenths of a degree.
    Turned {
        /// The point that stays.
        about: (i32, i32),
        /// How far, in tenths of a degree, clockwise.
        tenths: i32,
        /// What is turned.
        shapes: Vec<Shape>,
    },
}

/// A list of shapes in the making. Its methods are the drawing's vocabulary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The shapes, those in front last.
    pub shapes: Vec<Shape>,
}

type Class = Cow<'static, str>;

impl Drawing {
    /// An empty drawing.
    pub fn new() -> Drawing {
        Drawing::default()
    }

    /// A path at a place.
    pub fn path(
        &mut self,
        at: (i32, i32),
        d: impl Into<Cow<'static, str>>,
        class: impl Into<Class>,
    ) {
        self.shapes.push(Shape::Path { at, d: d.into(), class: class.into() });
    }

    /// A straight line.
    pub fn line(&mut self, from: (i32, i32), to: (i32, i32), class: impl Into<Class>) {
        let d = format!("M0 0L{} {}", to.0 - from.0, to.1 - from.1);
        self.path(from, d, class);
    }

    /// A box with round corners.
    pub fn rect(&mut self, at: (i32, i32), size: (i32, i32), r: i32, class: impl Into<Class>) {
        self.path(at, rounded(size, r), class);
    }

    /// A circle, its radius in tenths of a pixel.
    pub fn circle(&mut self, at: (i32, i32), tenths: i32, class: impl Into<Class>) {
        self.shapes.push(Shape::Circle { at, tenths, class: class.into() });
    }

    /// What is left of a ring, in thousandths.
    pub fn ring(&mut self, at: (i32, i32), radius: i32, rest: i32, class: impl Into<Class>) {
        self.shapes.push(Shape::Ring { at, radius, rest, class: class.into() });
    }

    /// Words that begin at a place.
    pub fn text(&mut self, at: (i32, i32), words: Phrase, class: impl Into<Class>) {
        self.words(at, Anchor::Start, words, class);
    }

    /// Words whose middle is at a place.
    pub fn centred(&mut self, at: (i32, i32), words: Phrase, class: impl Into<Class>) {
        self.words(at, Anchor::Middle, words, class);
    }

    /// Words that end at a place.
    pub fn ended(&mut self, at: (i32, i32), words: Phrase, class: impl Into<Class>) {
        self.words(at, Anchor::End, words, class);
    }

    /// Another drawing, turned about a point by tenths of a degree.
    pub fn turned(&mut self, about: (i32, i32), tenths: i32, inner: Drawing) {
        self.shapes.push(Shape::Turned { about, tenths, shapes: inner.shapes });
    }

    /// Another drawing on top of this one.
    pub fn over(&mut self, inner: Drawing) {
        self.shapes.extend(inner.shapes);
    }

    fn words(&mut self, at: (i32, i32), anchor: Anchor, words: Phrase, class: impl Into<Class>) {
        self.shapes.push(Shape::Text { at, anchor, words, class: class.into() });
    }
}

/// The outline of a box with round corners, from its upper left corner.
fn rounded((w, h): (i32, i32), r: i32) -> String {
    if r == 0 {
        return format!("M0 0h{w}v{h}h-{w}z");
    }
    let (across, down) = (w - 2 * r, h - 2 * r);
    format!(
        "M{r} 0h{across}a{r} {r} 0 0 1 {r} {r}v{down}a{r} {r} 0 0 1 -{r} {r}\
         h-{across}a{r} {r} 0 0 1 -{r} -{r}v-{down}a{r} {r} 0 0 1 {r} -{r}z"
    )
}

/// A number of tenths as SVG writes it: `85` is `8.5`.
pub fn tenths(value: i32) -> String {
    let sign = if value < 0 { "-" } else { "" };
    match value.abs() % 10 {
        0 => format!("{sign}{}", value.abs() / 10),
        rest => format!("{sign}{}.{rest}", value.abs() / 10),
    }
}

/// A shape as SVG knows it: the element's name, its attributes, and what it says.
pub struct Element {
    /// The element's name.
    pub name: &'static str,
    /// Its attributes, always the same ones in the same order for a name.
    pub attributes: Vec<(&'static str, String)>,
    /// Its words, if it is a text.
    pub words: Option<String>,
}

impl Shape {
    /// The element that draws this shape (without what is inside a turned group).
    pub fn element(&self, catalog: &Catalog) -> Element {
        match self {
            Shape::Path { at, d, class } => path_element(*at, d, class),
            Shape::Circle { at, tenths: r, class } => circle_element(*at, tenths(*r), class),
            Shape::Ring { at, radius, rest, class } => ring_element(*at, *radius, *rest, class),
            Shape::Text { at, anchor, words, class } => {
                Element { words: Some(catalog.say(words)), ..text_element(*at, *anchor, class) }
            }
            Shape::Turned { about: (x, y), tenths: turn, .. } => Element {
                name: "g",
                attributes: vec![("transform", format!("rotate({} {x} {y})", tenths(*turn)))],
                words: None,
            },
        }
    }

    /// What is inside this shape.
    pub fn inside(&self) -> &[Shape] {
        match self {
            Shape::Turned { shapes, .. } => shapes,
            _ => &[],
        }
    }
}

fn path_element((x, y): (i32, i32), d: &str, class: &str) -> Element {
    let transform = format!("translate({x} {y})");
    let attributes =
        vec![("class", class.to_string()), ("d", d.to_string()), ("transform", transform)];
    Element { name: "path", attributes, words: None }
}

fn circle_element((x, y): (i32, i32), r: String, class: &str) -> Element {
    let attributes =
        vec![("class", class.to_string()), ("cx", x.to_string()), ("cy", y.to_string()), ("r", r)];
    Element { name: "circle", attributes, words: None }
}

/// The rest of a ring ends at twelve o'clock: dashes of a path whose length is called 1000 need
/// no arithmetic of angles. The circle starts at three o'clock, hence the quarter turn.
fn ring_element((x, y): (i32, i32), radius: i32, rest: i32, class: &str) -> Element {
    let mut ring = circle_element((x, y), radius.to_string(), class);
    let gone = 1000 - rest.clamp(0, 1000);
    let dashes = if gone == 0 { "none".to_string() } else { format!("0 {gone} 2000") };
    ring.attributes.push(("pathLength", "1000".to_string()));
    ring.attributes.push(("stroke-dasharray", dashes));
    ring.attributes.push(("transform", format!("rotate(-90 {x} {y})")));
    ring
}

fn text_element((x, y): (i32, i32), anchor: Anchor, class: &str) -> Element {
    let hung = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let attributes = vec![
        ("class", class.to_string()),
        ("x", x.to_string()),
        ("y", y.to_string()),
        ("text-anchor", hung.to_string()),
    ];
    Element { name: "text", attributes, words: None }
}

/// Shapes as SVG text, an element a line: how a drawing is read in a test.
pub fn notation(shapes: &[Shape], catalog: &Catalog) -> String {
    shapes.iter().map(|shape| element_notation(shape, catalog)).collect()
}

fn element_notation(shape: &Shape, catalog: &Catalog) -> String {
    let element = shape.element(catalog);
    let written = |(name, value): &(&str, String)| format!(" {name}=\"{value}\"");
    let attributes: String = element.attributes.iter().map(written).collect();
    let inside = match element.words {
        Some(words) => words,
        None => notation(shape.inside(), catalog),
    };
    format!("<{}{attributes}>{inside}</{}>\n", element.name, element.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Language;

    #[test]
    fn tenths_are_written_as_svg_reads_them() {
        let cases = [(0, "0"), (85, "8.5"), (-5, "-0.5"), (160, "16"), (-31, "-3.1")];
        for (value, expected) in cases {
            assert_eq!(tenths(value), expected);
        }
    }

    #[test]
    fn a_ring_empties_clockwise_from_the_top() {
        let mut drawing = Drawing::new();
        drawing.ring((38, 38), 30, 600, "ring");
        drawing.ring((38, 38), 30, 1000, "ring");
        let text = notation(&drawing.shapes, &Catalog::of(Language::English));
        let dashes: Vec<bool> =
            text.lines().map(|line| line.contains("stroke-dasharray=\"0 400 2000\"")).collect();
        assert_eq!(dashes, [true, false]);
        assert!(text.contains("rotate(-90 38 38)"));
    }

    #[test]
    fn turned_shapes_are_written_inside_their_group() {
        let mut inner = Drawing::new();
        inner.text((1, 2), Phrase::raw("1"), "bid");
        let mut drawing = Drawing::new();
        drawing.turned((10, 20), 40, inner);
        let text = notation(&drawing.shapes, &Catalog::of(Language::English));
        assert!(text.starts_with("<g transform=\"rotate(4 10 20)\"><text class=\"bid\""), "{text}");
        assert!(text.contains(">1</text>"));
    }
}

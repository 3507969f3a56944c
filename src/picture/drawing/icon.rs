//! The page's icons: each two paths in a box of sixteen pixels, one stroked, one filled.
//!
//! *Invariant:* an icon stands beside a word or carries a label; it never speaks alone.

/// An icon by what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Icon {
    Persistent,
    Ephemeral,
    Container,
    Ttl,
    Down,
    Right,
    First,
    Last,
    Back,
    Forward,
    Pause,
    Play,
    Search,
    Hold,
    Share,
    Help,
    Theme,
    Console,
    Branch,
    Why,
    Next,
    Close,
    Menu,
    Check,
    Kill,
    Stop,
    Restart,
    Freeze,
    Cut,
    RunTo,
    Add,
    Legend,
    Disk,
}

impl Icon {
    /// The path that is stroked, and the one that is filled.
    pub fn paths(self) -> (&'static str, &'static str) {
        match self {
            Icon::Persistent => (
                "",
                "M5 4h6a1 1 0 0 1 1 1v6a1 1 0 0 1 -1 1H5a1 1 0 0 1 -1 -1V5\
                                      a1 1 0 0 1 1 -1z",
            ),
            Icon::Ephemeral => (DASHED, ""),
            Icon::Container => (
                "M4.2 3.2h7.6a1 1 0 0 1 1 1v7.6a1 1 0 0 1 -1 1H4.2a1 1 0 0 1 -1 -1\
                                 V4.2a1 1 0 0 1 1 -1z",
                "M6 6h4v4H6z",
            ),
            Icon::Ttl => ("M12.8 8a4.8 4.8 0 1 1 -9.6 0a4.8 4.8 0 1 1 9.6 0zM8 5.2V8l2 1.4", ""),
            Icon::Down => ("M4.5 6.5L8 10l3.5-3.5", ""),
            Icon::Right => ("M6.5 4.5L10 8l-3.5 3.5", ""),
            Icon::First => ("M4 3.5v9M13 3.5L6.5 8l6.5 4.5z", ""),
            Icon::Last => ("M12 3.5v9M3 3.5L9.5 8L3 12.5z", ""),
            Icon::Back => ("M11 3.5L4.5 8l6.5 4.5z", ""),
            Icon::Forward => ("M5 3.5L11.5 8L5 12.5z", ""),
            Icon::Pause => ("", "M4.3 3h2.4v10H4.3zM9.3 3h2.4v10H9.3z"),
            Icon::Play => ("", "M4.5 2.8L13 8l-8.5 5.2z"),
            Icon::Search => ("M11 7a4 4 0 1 1 -8 0a4 4 0 1 1 8 0zM10 10l3.5 3.5", ""),
            Icon::Hold => (HAND, ""),
            Icon::Share => ("M8 10V2.5M5 5l3-3l3 3M3 8.5V13.5h10V8.5", ""),
            Icon::Help => (QUESTION, ""),
            Icon::Theme => {
                ("M13.5 8a5.5 5.5 0 1 1 -11 0a5.5 5.5 0 1 1 11 0z", "M8 2.5a5.5 5.5 0 0 1 0 11z")
            }
            Icon::Console => (
                "M3.5 3h9a1.5 1.5 0 0 1 1.5 1.5v7a1.5 1.5 0 0 1 -1.5 1.5h-9a1.5 1.5 \
                               0 0 1 -1.5 -1.5v-7A1.5 1.5 0 0 1 3.5 3zM4.5 6l2 2l-2 2M8.5 10h3",
                "",
            ),
            Icon::Branch => (
                "M4 2.5v11M4 10c0-3 8-2 8-6",
                "M13.5 3.5a1.5 1.5 0 1 1 -3 0a1.5 1.5 0 \
                              1 1 3 0z",
            ),
            Icon::Why => ("M12.5 12.5C12.5 7 9 5 4 5M7 2L4 5l3 3", ""),
            Icon::Next => ("M3 8h9M9 4.5L12.5 8L9 11.5", ""),
            Icon::Close => ("M4 4l8 8M12 4l-8 8", ""),
            Icon::Menu => ("M2.5 4.5h11M2.5 8h11M2.5 11.5h11", ""),
            Icon::Check => ("M3 8.5l3.5 3.5L13 4.5", ""),
            Icon::Kill => ("M3.5 3.5l9 9M12.5 3.5l-9 9", ""),
            Icon::Stop => ("M4 4h8v8H4z", ""),
            Icon::Restart => ("M12.5 8a4.5 4.5 0 1 1-1.5-3.4M11.3 1.8v3h-3", ""),
            Icon::Freeze => ("M8 2v12M2.8 5l10.4 6M13.2 5L2.8 11", ""),
            Icon::Cut => ("M2 8h4M10 8h4M7 4.5l-1 7M10 4.5l-1 7", ""),
            Icon::RunTo => ("M2.5 8h7M7 5l3 3l-3 3M13 3v10", ""),
            Icon::Add => ("M8 3v10M3 8h10", ""),
            Icon::Disk => ("M3 4.5v7c0 2.7 10 2.7 10 0v-7c0-2.7-10-2.7-10 0c0 2.7 10 2.7 10 0", ""),
            Icon::Legend => (
                "M3 3.5h3v3H3zM9 5h4.5M6.2 11a1.6 1.6 0 1 1 -3.2 0a1.6 1.6 0 1 1 3.2 0zM9 11h4.5",
                "",
            ),
        }
    }
}

/// Eight dashes around a circle of radius 4.6.
const DASHED: &str = "M8 3.4a4.6 4.6 0 0 1 2.3 .6M11.7 5.3a4.6 4.6 0 0 1 .9 2.1M12.4 9.5\
                      a4.6 4.6 0 0 1 -1.2 1.9M9.6 12.3a4.6 4.6 0 0 1 -2.4 .2M5.4 11.8\
                      a4.6 4.6 0 0 1 -1.6 -1.8M3.4 8a4.6 4.6 0 0 1 .6 -2.3M5.3 4.3\
                      a4.6 4.6 0 0 1 .9 -.6";
const HAND: &str = "M5 8V4.2a1 1 0 0 1 2 0V7M7 7V3.3a1 1 0 0 1 2 0V7M9 7V4a1 1 0 0 1 2 0v5.5\
                    c0 2.5-1.5 4-3.6 4C5.6 13.5 4.6 12.3 3 9.6c-.5-1 .6-1.7 1.3-.9L5 9.5";
const QUESTION: &str = "M14 8a6 6 0 1 1 -12 0a6 6 0 1 1 12 0zM6.2 6.4c0-2.4 3.6-2.4 3.6 0\
                        c0 1.5-1.8 1.5-1.8 3M8 11.2v.6";

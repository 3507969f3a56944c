//! The recorded stories of real clusters in `tests/vectors`, told by ours and judged.

mod support;

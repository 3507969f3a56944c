//! Zootrope.

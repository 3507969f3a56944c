//! Facts: what a process tells of itself, in one notation for tests, traces and catalogs.
//!
//! The [`facts!`](crate::facts) macro declares them; the kernel's own are here.
//! *Invariant:* a fact's notation is its key and its fields, and no prose:
//! `session-expired session=0x1a`.

use super::time::{ProcessId, Span};
use std::fmt;
use std::sync::Arc;

/// A field of a fact: its name, and what it holds.
pub type Field<'a> = (&'static str, &'a dyn fmt::Display);

/// What can be told: it has a key, fields, and prints in notation (`key field=value …`).
pub trait Telling: fmt::Display {
    /// The key, as catalogs and scripts name it: `session-expired`.
    fn key(&self) -> &'static str;

    /// The fields in the order of declaration.
    fn said(&self) -> Vec<Field<'_>>;

    /// The same, what they hold in notation.
    fn fields(&self) -> Vec<(&'static str, String)> {
        in_notation(&self.said())
    }
}

fn in_notation(said: &[Field<'_>]) -> Vec<(&'static str, String)> {
    said.iter().map(|(name, value)| (*name, value.to_string())).collect()
}

/// Prints a fact in notation. For all facts alike: they are many.
pub fn print(fact: &dyn Telling, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(fact.key())?;
    fact.said().iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
}

/// Declares an enum of facts, each in one line: key in notation, variant, fields.
///
/// Yields the enum, its notation (`Display`), [`Telling`](crate::sim::Telling) and `KEYS`, the
/// table of all keys with their fields, which the catalogs are tested against. Every field needs
/// `Clone`, `Debug`, `Hash`, `Eq` and `Display`.
#[macro_export]
macro_rules! facts {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$vmeta:meta])*
               $key:literal => $variant:ident { $($field:ident : $ty:ty),* $(,)? } ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum $name { $( $(#[$vmeta])* $variant { $($field: $ty),* } ),* }

        impl $name {
            /// Every key with the names of its fields.
            #[allow(dead_code)]
            pub const KEYS: &'static [(&'static str, &'static [&'static str])] =
                &[ $( ($key, &[$(stringify!($field)),*]) ),* ];
        }

        impl $crate::sim::Telling for $name {
            fn key(&self) -> &'static str {
                match self { $( $name::$variant { .. } => $key ),* }
            }

            fn said(&self) -> Vec<$crate::sim::fact::Field<'_>> {
                match self {
                    $( $name::$variant { $($field),* } =>
                        vec![ $( (stringify!($field), $field) ),* ] ),*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::sim::fact::print(self, f)
            }
        }
    };
}

facts! {
    /// What the kernel tells: the faults and the power of processes.
    pub enum KernelFact {
        "process-started" => Started { process: ProcessName },
        "process-killed" => Killed { process: ProcessName },
        "process-exited" => Exited { process: ProcessName, code: u8 },
        "process-frozen" => Frozen { process: ProcessName },
        "process-thawed" => Thawed { process: ProcessName },
        "link-cut" => Cut { from: ProcessName, to: ProcessName },
        "link-healed" => Healed { from: ProcessName, to: ProcessName },
        "message-dropped" => Dropped { from: ProcessName, to: ProcessName },
        "message-delayed" => Delayed { from: ProcessName, to: ProcessName, by: Span },
        "draw-fixed" => Fixed { process: ProcessName, draw: Arc<str>, value: u64 },
        "disk-slowed" => DiskSlowed { process: ProcessName, by: Span },
        "disk-wiped" => DiskWiped { process: ProcessName },
        "disk-filled" => DiskFilled { process: ProcessName },
        "disk-freed" => DiskFreed { process: ProcessName },
        "clock-changed" => ClockChanged { process: ProcessName, percent: u32 },
    }
}

/// The name of a process, as scripts and facts spell it: `broker1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessName(pub Arc<str>);

impl fmt::Display for ProcessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A process named where its name is not at hand: `#3`.
impl From<ProcessId> for ProcessName {
    fn from(id: ProcessId) -> Self {
        ProcessName(id.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_prints_its_key_and_fields() {
        let name = |n: &str| ProcessName(n.into());
        let fact = KernelFact::Cut { from: name("zk1"), to: name("zk2") };
        assert_eq!(fact.to_string(), "link-cut from=zk1 to=zk2");
        assert_eq!(fact.key(), "link-cut");
        let fields = vec![("from", "zk1".to_owned()), ("to", "zk2".to_owned())];
        assert_eq!(fact.fields(), fields);
    }
}

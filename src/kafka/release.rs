//! The releases of Kafka that a cluster can run, and what each of them does differently.
//!
//! *Invariant: a behaviour is a named function of the release; nobody else compares releases.*

use std::fmt;
use std::str::FromStr;

macro_rules! releases {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A release, in the order of their age.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Release { $($(#[$doc])* $name),* }

        impl Release {
            /// All of them, the oldest first.
            pub const ALL: &'static [Release] = &[$(Release::$name),*];

            /// Its number, as people write it.
            pub fn name(self) -> &'static str {
                match self { $(Release::$name => $text),* }
            }
        }
    };
}

releases! {
    /// Without replication and controller.
    V0_7_2 = "0.7.2";
    /// The first controller.
    V0_8_2_2 = "0.8.2.2";
    /// The new consumer.
    V0_10_2_2 = "0.10.2.2";
    /// The pipelined ZooKeeper client.
    V1_1_1 = "1.1.1";
    /// Broker epochs, static members.
    V2_3_1 = "2.3.1";
    /// ISR changes through the controller.
    V2_8_2 = "2.8.2";
    /// The last line with ZooKeeper.
    V3_9_1 = "3.9.1";
}

/// A text that names no release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no release {0:?} here; there are 0.7.2, 0.8.2.2, 0.10.2.2, 1.1.1, 2.3.1, 2.8.2, 3.9.1")]
pub struct UnknownRelease(String);

impl FromStr for Release {
    type Err = UnknownRelease;

    fn from_str(text: &str) -> Result<Release, UnknownRelease> {
        let found = Release::ALL.iter().find(|release| release.name() == text);
        found.copied().ok_or_else(|| UnknownRelease(text.into()))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_what_its_number_says() {
        for &release in Release::ALL {
            assert_eq!(release.to_string().parse(), Ok(release));
        }
        assert!("3.9".parse::<Release>().is_err());
    }
}

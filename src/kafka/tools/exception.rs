//! Java's exceptions, as tools show them.
//!
//! Not here: what they say (`admin::Failure`), and how each tool shows that.
//!
//! *Invariant: who throws an exception does not say its package; that is a matter of the release.*

use crate::kafka::error::Error;
use crate::kafka::release::Release;

/// An exception's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// What a broker refuses with.
    Refusal(Error),
    /// An argument that makes no sense.
    IllegalArgument,
    /// A text that is no number.
    NumberFormat,
    /// Settings that make no sense.
    Config,
    /// What cannot be done in ZooKeeper.
    AdminOperation,
    /// What cannot be done by a tool.
    AdminCommandFailed,
    /// None: the tool says it in its own words.
    Unthrown,
}

impl Exception {
    /// The class with its package.
    pub fn class(self, release: Release) -> String {
        let (package, name) = match self {
            Exception::Refusal(error) if release.topics_tool_is_the_first() => {
                ("kafka.common", error.exception(release))
            }
            Exception::Refusal(error) => {
                ("org.apache.kafka.common.errors", error.exception(release))
            }
            Exception::IllegalArgument => ("java.lang", "IllegalArgumentException"),
            Exception::NumberFormat => ("java.lang", "NumberFormatException"),
            Exception::Config => ("org.apache.kafka.common.config", "ConfigException"),
            Exception::AdminOperation if release.tools_are_in_scala() => {
                ("kafka.admin", "AdminOperationException")
            }
            Exception::AdminOperation => {
                ("org.apache.kafka.server.common", "AdminOperationException")
            }
            Exception::AdminCommandFailed if release.tools_are_in_scala() => {
                ("kafka.common", "AdminCommandFailedException")
            }
            Exception::AdminCommandFailed => {
                ("org.apache.kafka.server.common", "AdminCommandFailedException")
            }
            Exception::Unthrown => return String::new(),
        };
        format!("{package}.{name}")
    }
}

#[cfg(test)]
mod table {
    use super::*;

    #[test]
    fn a_class_has_the_package_of_its_release() {
        let check = |exception: Exception, release, expected| {
            assert_eq!(exception.class(release), expected);
        };
        let exists = Exception::Refusal(Error::TopicAlreadyExists);
        check(exists, Release::V0_8_2_2, "kafka.common.TopicExistsException");
        check(exists, Release::V3_9_1, "org.apache.kafka.common.errors.TopicExistsException");
        let failed = Exception::AdminCommandFailed;
        check(failed, Release::V2_3_1, "kafka.common.AdminCommandFailedException");
        let newer = "org.apache.kafka.server.common.AdminCommandFailedException";
        check(failed, Release::V3_9_1, newer);
        let illegal = Exception::IllegalArgument;
        check(illegal, Release::V0_8_2_2, "java.lang.IllegalArgumentException");
        check(illegal, Release::V3_9_1, "java.lang.IllegalArgumentException");
    }
}

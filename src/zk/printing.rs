//! How ZooKeeper's programs write values for people: times, Stats, ACLs, watch events.
//!
//! *Invariant: texts are those of the real programs, to the letter.*

use std::fmt::Write as _;

use super::acl::{Acl, Perms};
use super::stat::{Millis, Stat};

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A time as Java prints a `Date` in UTC: `Thu Jan 01 00:00:02 UTC 1970`.
// Source: java.util.Date.toString.
pub fn date(time: Millis) -> String {
    let seconds = time.0.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let weekday = WEEKDAYS[days.rem_euclid(7) as usize];
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let month = MONTHS[month as usize - 1];
    format!("{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} UTC {year}")
}

/// Year, month and day of the day so many days after 1 January 1970, counted in years that begin
/// in March, so that the day that some years lack comes last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// A Stat, a field a line.
// Source: StatPrinter.print.
pub fn stat(stat: &Stat) -> String {
    let lines = [
        ("cZxid", stat.czxid.to_string()),
        ("ctime", date(stat.ctime)),
        ("mZxid", stat.mzxid.to_string()),
        ("mtime", date(stat.mtime)),
        ("pZxid", stat.pzxid.to_string()),
        ("cversion", stat.cversion.to_string()),
        ("dataVersion", stat.version.to_string()),
        ("aclVersion", stat.aversion.to_string()),
        ("ephemeralOwner", stat.ephemeral_owner.to_string()),
        ("dataLength", stat.data_length.to_string()),
        ("numChildren", stat.num_children.to_string()),
    ];
    lines.iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
}

/// An ACL, two lines an entry.
// Source: GetAclCommand.exec; Id.toString.
pub fn acl(acl: &Acl) -> String {
    let mut text = String::new();
    for entry in acl.entries() {
        let (scheme, id) = (entry.who.scheme, entry.who.id);
        let perms = Perms(entry.perms.0 & Perms::ALL.0);
        writeln!(text, "'{scheme},'{id}\n: {perms}").expect("a string takes whatever comes");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::date;
    use crate::zk::stat::Millis;

    #[test]
    fn dates_are_javas() {
        let check = |ms, expected: &str| assert_eq!(date(Millis(ms)), expected);
        check(0, "Thu Jan 01 00:00:00 UTC 1970");
        check(951_782_400_000, "Tue Feb 29 00:00:00 UTC 2000");
        check(1_732_924_934_567, "Sat Nov 30 00:02:14 UTC 2024");
        check(4_107_542_399_000, "Sun Feb 28 23:59:59 UTC 2100");
    }
}

//! What `show` shows of the cluster, in notation: one row each.
//!
//! *Invariant:* showing changes nothing.

use super::Lab;
use crate::cluster::Trouble;
use crate::cluster::notation::{Line, Told};
use crate::sim::Power;

/// Something to be shown, and of what.
#[derive(Clone, Debug)]
pub struct Show {
    row: &'static Row,
    line: Line,
}

/// One thing that can be shown.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// How it is written.
    pub usage: &'static str,
    lines: fn(&Lab, &mut Line) -> Result<Vec<String>, Trouble>,
}

/// Everything that can be shown.
pub const SHOWS: &[Row] = &[
    Row { name: "moment", usage: "show moment", lines: moment },
    Row { name: "hash", usage: "show hash", lines: hash },
    Row { name: "processes", usage: "show processes", lines: processes },
    Row { name: "timers", usage: "show timers PROCESS", lines: timers },
];

impl Show {
    /// Reads what follows the word `show`.
    pub fn parse(line: &mut Line) -> Result<Show, Trouble> {
        let word = line.word("something to show")?;
        let row = SHOWS.iter().find(|row| row.name == word.text);
        let names = || SHOWS.iter().map(|row| row.name).collect::<Vec<_>>().join(" or ");
        let row = row.ok_or_else(|| word.is_not(names()))?;
        Ok(Show { row, line: line.take() })
    }
}

/// The lines that show it.
pub fn lines(show: &Show, lab: &Lab) -> Result<Vec<String>, Trouble> {
    let mut line = show.line.clone();
    let lines = (show.row.lines)(lab, &mut line)?;
    line.finish()?;
    Ok(lines)
}

fn moment(lab: &Lab, _: &mut Line) -> Result<Vec<String>, Trouble> {
    Ok(vec![format!("moment={}", Told(lab.moment()))])
}

fn hash(lab: &Lab, _: &mut Line) -> Result<Vec<String>, Trouble> {
    let mut trace = lab.trace().clone();
    trace.truncate(lab.position());
    Ok(vec![format!("run={:016x} state={:016x}", trace.hash(), lab.cluster().hash())])
}

fn processes(lab: &Lab, _: &mut Line) -> Result<Vec<String>, Trouble> {
    let cluster = lab.cluster();
    let line = |(id, name, _): (_, &str, _)| {
        let power = match cluster.power(id) {
            Power::Off => "off",
            Power::Running => "running",
            Power::Frozen => "frozen",
        };
        format!("{name:<7}  {power}")
    };
    Ok(cluster.processes().map(line).collect())
}

fn timers(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    use crate::sim::Vocabulary;
    let word = line.word("a process")?;
    let cluster = lab.cluster();
    let id = cluster.find(&word.text).ok_or_else(|| word.is_not("the name of a process"))?;
    let name = |timer| crate::cluster::Words::timer_name(&timer);
    Ok(cluster.timers(id).map(|(timer, at)| format!("{at} {}", name(timer))).collect())
}

//! Settings that change while brokers run, and the features: what watches them, and reads them
//! anew.
//!
//! *Invariant: each note of a change is worked off once, in the order of their numbers.*
// Source: ZkNodeChangeNotificationListener, ZkConfigManager, FinalizedFeatureChangeListener (3.9)
// Real: notes older than 15 minutes are removed by whoever sees them; here too, counted from the
// znode's time.

use super::Turn;
use crate::kafka::znodes::{self, Config};
use crate::kafka::zookeeper::{Asker, Replies, Reply, children, data, found};
use crate::sim::{Span, sort};
use crate::zk::path::Path;
use crate::zk::reply::{EventKind, WatchEvent};
use crate::zk::request::Op;

/// For how long a note stays.
// Source: ZkNodeChangeNotificationListener.defaultChangeExpirationMs
const NOTES_STAY: Span = Span::secs(15 * 60);

/// What the watcher waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Step {
    /// A change.
    #[default]
    Idle,
    /// The list of notes.
    List,
    /// What the new notes say.
    Notes(Vec<Path>),
    /// The settings that they name.
    Entities(Vec<String>),
    /// Whether old notes are gone.
    Purged,
}

/// The watchers of one broker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Configs {
    last_done: i64,
    step: Step,
    /// Something changed while it was busy.
    again: bool,
    features_again: bool,
    features_busy: bool,
    started: bool,
}

/// Settings that were read anew, by entity.
pub(super) type Changed = Vec<(String, Config)>;

impl Configs {
    /// Takes the notes that there were at the start: they are done.
    pub(super) fn begin(&mut self, notes: &Reply) {
        let numbers = children(notes);
        let numbers = numbers.iter().filter_map(|note| znodes::sequence_number(note));
        self.last_done = numbers.max().unwrap_or(-1);
        self.started = true;
    }

    pub(super) fn watched(&mut self, event: &WatchEvent, turn: &mut Turn<'_, '_>) {
        if event.path == znodes::config_changes() && event.kind == EventKind::NodeChildrenChanged {
            self.read_list(turn);
        }
        if event.path == znodes::feature() {
            self.read_features(turn);
        }
    }

    /// There is a new session: everything is read anew, so that it is watched.
    pub(super) fn session(&mut self, turn: &mut Turn<'_, '_>) {
        if self.started {
            self.read_list(turn);
        }
        self.read_features(turn);
    }

    /// What was asked for will not come.
    pub(super) fn forget(&mut self) {
        self.step = Step::Idle;
        self.again = false;
        self.features_again = false;
        self.features_busy = false;
    }

    fn read_features(&mut self, turn: &mut Turn<'_, '_>) {
        if !turn.settings.release.features_are_finalized() {
            return;
        }
        if self.features_busy {
            self.features_again = true;
            return;
        }
        self.features_busy = true;
        let reads = vec![turn.zk.get_data(znodes::feature())];
        turn.zk.ask(Asker::Features, reads, turn.out);
    }

    pub(super) fn features_read(&mut self, turn: &mut Turn<'_, '_>) {
        self.features_busy = false;
        if std::mem::take(&mut self.features_again) {
            self.read_features(turn);
        }
    }

    fn read_list(&mut self, turn: &mut Turn<'_, '_>) {
        if self.step != Step::Idle {
            self.again = true;
            return;
        }
        self.again = false;
        let read = turn.zk.get_children(znodes::config_changes());
        self.ask(vec![read], Step::List, turn);
    }

    fn ask(&mut self, ops: Vec<Op>, then: Step, turn: &mut Turn<'_, '_>) {
        let asked = turn.zk.ask(Asker::Configs, ops, turn.out);
        self.step = if asked { then } else { Step::Idle };
        if !asked && self.again {
            self.read_list(turn);
        }
    }

    /// Takes an answer; gives what was read anew.
    pub(super) fn answered(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) -> Changed {
        match std::mem::take(&mut self.step) {
            Step::Idle => {}
            Step::List => self.list_read(&replies[0], turn),
            Step::Notes(notes) => self.notes_read(&notes, replies, turn),
            Step::Entities(entities) => {
                let configs = replies.iter().map(|reply| found(reply, znodes::decode_config));
                let configs = configs.map(Option::unwrap_or_default);
                let changed = entities.into_iter().zip(configs).collect();
                self.ask(Vec::new(), Step::Idle, turn);
                return changed;
            }
            Step::Purged => self.ask(Vec::new(), Step::Idle, turn),
        }
        Vec::new()
    }

    fn list_read(&mut self, list: &Reply, turn: &mut Turn<'_, '_>) {
        let names = children(list);
        let mut notes: Vec<(i64, Path)> = names
            .iter()
            .filter_map(|name| {
                let number = znodes::sequence_number(name)?;
                Some((number, znodes::config_changes().child(name)))
            })
            .filter(|(number, _)| *number > self.last_done)
            .collect();
        sort::sort(&mut notes);
        self.last_done = notes.last().map_or(self.last_done, |(number, _)| *number);
        let notes: Vec<Path> = notes.into_iter().map(|(_, path)| path).collect();
        let reads = notes.iter().map(|path| turn.zk.get_data(path.clone())).collect();
        self.ask(reads, Step::Notes(notes), turn);
    }

    fn notes_read(&mut self, notes: &[Path], replies: &Replies, turn: &mut Turn<'_, '_>) {
        let now = i64::try_from(turn.out.now().as_ms()).expect("a run is shorter than the ages");
        let stay = i64::try_from(NOTES_STAY.as_ms()).expect("a constant");
        let old = |reply: &Reply| data(reply).is_some_and(|(_, stat)| now - stat.ctime.0 > stay);
        let old: Vec<Op> = notes
            .iter()
            .zip(replies)
            .filter(|(_, reply)| old(reply))
            .map(|(path, _)| Op::Delete { path: path.clone(), version: -1 })
            .collect();
        if !old.is_empty() {
            return self.ask(old, Step::Purged, turn);
        }
        let entities =
            replies.iter().filter_map(|reply| found(reply, znodes::decode_config_change));
        let mut entities: Vec<String> = entities.map(|entity| entity.to_string()).collect();
        entities.dedup();
        let path = |entity: &String| Path::new(&format!("{}/{entity}", znodes::CONFIG_ROOT));
        let reads = entities.iter().map(|entity| turn.zk.get_data(path(entity))).collect();
        self.ask(reads, Step::Entities(entities), turn);
    }
}

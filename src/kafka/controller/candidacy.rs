//! Being registered, running for controller, winning, losing and resigning.
//!
//! Not here: what a new controller does first (`failover`).
//!
//! *Invariant: a broker looks at `/controller` with a watch before it runs for it; it wins by one
//! multi that also raises `/controller_epoch`.*
// Source: KafkaController.elect, maybeResign;
// KafkaZkClient.registerControllerAndIncrementControllerEpoch (3.9)

use super::{Controller, Knowledge, failover};
use crate::kafka::broker::Turn;
use crate::kafka::id::{BrokerEpoch, BrokerId, ControllerEpoch};
use crate::kafka::release::Release;
use crate::kafka::words::{BrokerFact, BrokerTimer, Text};
use crate::kafka::znodes::{self, BrokerZnode, ControllerZnode};
use crate::kafka::zookeeper::{
    Replies, create, create_above, create_ephemeral, data, found, parts,
};
use crate::zk::path::Path;
use crate::zk::reply::{Answer, Error, OpResult};
use crate::zk::request::Op;
use crate::zk::stat::{Bytes, SessionId, Stat};

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The first look at `/controller`.
    Startup,
    /// Takes the answer to that.
    Started,
    /// Registers the broker in a new session, then takes part again.
    Register,
    /// Takes the answer.
    Registered,
    /// Takes the znode that was in the way.
    InTheWay,
    /// The znode of an earlier session is removed.
    Removed,
    /// Resigns if another is controller, then runs.
    Reelect,
    /// Looks who is controller, and resigns if it is another.
    MaybeResign,
    /// Takes the answer.
    Looked,
    /// Runs if nobody is controller.
    Run,
    /// Takes who is controller.
    RunSeen,
    /// Takes whether the race was won, before the epoch is raised (to 2.0).
    Won,
    /// Takes what is there now that it seems lost (to 2.0).
    NotWon,
    /// Takes the epoch.
    RunEpoch,
    /// Takes whether the epoch's znode could be made.
    RunEpochMade,
    /// Takes whether the epoch is raised (to 2.0).
    Raised(ControllerEpoch),
    /// Takes whether the race was won.
    Claimed(ControllerEpoch, i32),
    /// Takes what is there now that it seems lost.
    Disputed(ControllerEpoch),
    /// Has waited for its own znode of another session to go (0.8).
    Backoff,
}

impl BrokerEpoch {
    /// That of a broker that has none.
    pub const NONE: BrokerEpoch = BrokerEpoch(-1);

    /// That of the broker whose registration this is.
    pub fn of(registration: &Stat, release: Release) -> BrokerEpoch {
        match release.brokers_have_epochs() {
            true => BrokerEpoch(registration.czxid.0),
            false => BrokerEpoch::NONE,
        }
    }
}

/// How this broker is registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Registration {
    broker: BrokerId,
    epoch: BrokerEpoch,
    /// The session in which it was registered last.
    session: SessionId,
}

/// What a try to register came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    /// It is registered.
    Yes,
    /// Something is in the way; this request tells what.
    Ask(Op),
    /// What is in the way was written by this broker in another session, and will go.
    Wait,
    /// It cannot be: the id is taken.
    Taken,
}

impl Registration {
    /// A broker that is not registered yet.
    pub fn new(broker: BrokerId) -> Registration {
        Registration { broker, epoch: BrokerEpoch::NONE, session: SessionId::NONE }
    }

    /// The czxid of the registration.
    pub fn epoch(&self) -> BrokerEpoch {
        self.epoch
    }

    fn path(&self) -> Path {
        znodes::broker(self.broker)
    }

    /// What is to be written there.
    fn data(turn: &Turn<'_, '_>) -> Bytes {
        let settings = turn.settings;
        let znode = BrokerZnode {
            host: settings.host.clone(),
            port: settings.port,
            rack: settings.broker_rack.clone(),
            timestamp: turn.out.now().as_ms(),
        };
        znode.encode(settings.release)
    }

    /// The write that registers the broker.
    // Source: KafkaZkClient.CheckedEphemeral.create
    fn write(&self, turn: &Turn<'_, '_>) -> Op {
        let (data, settings) = (Registration::data(turn), turn.settings);
        if !settings.release.brokers_have_epochs() {
            return create_ephemeral(self.path(), data);
        }
        let set = Op::SetData { path: self.path(), data, version: 0 };
        Op::Multi([create_ephemeral(self.path(), Bytes::NULL), set].into())
    }

    /// The writes of a try: where it is done so, those of what is above come first.
    // Source: ZKCheckedEphemeral.createRecursive (0.9 to 1.0)
    pub fn writes(&self, turn: &Turn<'_, '_>) -> Vec<Op> {
        let mut writes = vec![self.write(turn)];
        if turn.settings.release.registering_makes_parents() {
            writes.splice(0..0, create_above(&self.path()));
        }
        writes
    }

    /// Takes the answers to these.
    pub fn written(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) -> Registered {
        let Some(reply) = replies.last() else { return Registered::Taken };
        if !turn.settings.release.brokers_have_epochs() && reply.is_ok() {
            self.is_own(BrokerEpoch::NONE, turn);
            return Registered::Yes;
        }
        match parts(reply) {
            Ok(results) => {
                let OpResult::Set(stat) = &results[1] else { return Registered::Taken };
                self.is_own(BrokerEpoch::of(stat, turn.settings.release), turn);
                Registered::Yes
            }
            Err((_, Error::NodeExists)) => Registered::Ask(turn.zk.get_data(self.path())),
            Err(_) => Registered::Taken,
        }
    }

    /// The znode is this process's.
    fn is_own(&mut self, epoch: BrokerEpoch, turn: &mut Turn<'_, '_>) {
        self.epoch = epoch;
        self.session = turn.zk.session();
        let (broker, epoch) = (self.broker, self.epoch);
        turn.out.tell(BrokerFact::BrokerRegistered { broker, epoch });
    }

    /// Takes what was in the way: gone meanwhile, this process's own of an earlier session, or
    /// another's.
    // Source: CheckedEphemeral.getAfterNodeExists; KAFKA-7165;
    // ZkUtils.createEphemeralPathExpectConflictHandleZKBug (0.8.2)
    pub fn in_the_way(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) -> Registered {
        let waits = turn.settings.release.brokers_wait_for_their_ids();
        // Who registers twice in a session takes its znode for that of another (KAFKA-1387).
        let known = waits && self.session == turn.zk.session();
        match data(&replies[0]) {
            None => Registered::Ask(self.write(turn)),
            // The write had been done, and its answer was lost with the connection.
            Some((_, stat)) if stat.ephemeral_owner == turn.zk.session() && !known => {
                self.is_own(BrokerEpoch::of(stat, turn.settings.release), turn);
                Registered::Yes
            }
            Some((written, _)) if waits => {
                let own = |znode: BrokerZnode| {
                    (znode.host, znode.port) == (turn.settings.host.clone(), turn.settings.port)
                };
                let own = BrokerZnode::decode(written).is_some_and(own);
                self.tell_conflict(written, own, turn);
                if own { Registered::Wait } else { Registered::Taken }
            }
            Some((_, stat)) if stat.ephemeral_owner == self.session => {
                Registered::Ask(Op::Delete { path: self.path(), version: -1 })
            }
            Some(_) if turn.settings.release.registering_throws_advice() => Registered::Taken,
            Some((_, stat)) => {
                let (owner, session) = (stat.ephemeral_owner, turn.zk.session());
                let path = self.path();
                turn.out.tell(BrokerFact::NodeInTheWay { path, owner, session });
                Registered::Taken
            }
        }
    }

    // Source: ZkUtils.createEphemeralPathExpectConflictHandleZKBug (0.8.2)
    fn tell_conflict(&self, written: &Bytes, own: bool, turn: &mut Turn<'_, '_>) {
        let data = Registration::data(turn);
        turn.out.tell(BrokerFact::NodeConflict {
            path: self.path(),
            data: Text::from(&*data.to_text()),
            stored: Text::from(&*written.to_text()),
            whose: if own { "own" } else { "another" },
        });
    }
}

impl Controller {
    pub(super) fn candidacy(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::Startup => {
                turn.zk.watch_node(znodes::controller());
                let look = turn.zk.exists(znodes::controller());
                self.ask(vec![look], Step::Started, turn);
            }
            Step::Started => self.next(Step::Run),
            Step::Register => self.ask(self.registration.writes(turn), Step::Registered, turn),
            Step::Registered => self.registered(replies, turn),
            Step::InTheWay => self.in_the_way(replies, turn),
            Step::Removed | Step::Backoff => self.next(Step::Register),
            Step::Reelect => self.next_all([Step::MaybeResign.into(), Step::Run.into()]),
            Step::MaybeResign => self.look(Step::Looked, turn),
            Step::Looked => self.looked(replies, turn),
            Step::Run => {
                self.ask(vec![turn.zk.get_data(znodes::controller())], Step::RunSeen, turn);
            }
            Step::RunSeen => self.run_seen(replies, turn),
            Step::Won => match replies[0] {
                Ok(_) => self.read_epoch(turn),
                Err(_) => self.look(Step::NotWon, turn),
            },
            Step::NotWon => self.not_won(replies, turn),
            Step::RunEpoch => self.run_epoch(replies, turn),
            Step::Raised(epoch) => self.raised(epoch, replies, turn),
            Step::RunEpochMade => self.run_epoch_made(replies, turn),
            Step::Claimed(epoch, version) => self.claimed(epoch, version, replies, turn),
            Step::Disputed(epoch) => self.disputed(epoch, replies, turn),
        }
    }

    fn registered(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match self.registration.written(replies, turn) {
            Registered::Yes => self.next(Step::Reelect),
            Registered::Ask(op) => self.ask(vec![op], Step::InTheWay, turn),
            Registered::Wait => self.wait(turn),
            Registered::Taken => self.warn("NodeExists", turn),
        }
    }

    fn in_the_way(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match self.registration.in_the_way(replies, turn) {
            Registered::Yes => self.next(Step::Reelect),
            Registered::Ask(op @ Op::Delete { .. }) => self.ask(vec![op], Step::Removed, turn),
            Registered::Ask(op) => self.ask(vec![op], Step::Registered, turn),
            Registered::Wait => self.wait(turn),
            Registered::Taken => self.warn("NodeExists", turn),
        }
    }

    fn look(&mut self, then: Step, turn: &mut Turn<'_, '_>) {
        turn.zk.watch_node(znodes::controller());
        let look = turn.zk.exists(znodes::controller());
        let read = turn.zk.get_data(znodes::controller());
        self.ask(vec![look, read], then, turn);
    }

    /// The race was lost, or the answer to the claim was, with the connection: then the znode is of
    /// the own session.
    // Source: ZKCheckedEphemeral.create; ZkUtils.createEphemeralPathExpectConflict (0.8.2)
    fn not_won(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let owner = data(&replies[1]).map(|(_, stat)| stat.ephemeral_owner);
        match owner == Some(turn.zk.session()) {
            true => self.read_epoch(turn),
            false => self.looked(replies, turn),
        }
    }

    /// The broker tries to register again after a session's time. The thread that hears of sessions
    /// and watches sleeps until then, so everything else has to wait.
    // Source: ZkUtils.createEphemeralPathExpectConflictHandleZKBug (0.8.2), in ZkEventThread
    // Real: notes of changed settings wait, too; here what concerns the controller does, because
    // that is what is missed.
    fn wait(&mut self, turn: &mut Turn<'_, '_>) {
        turn.out.arm(BrokerTimer::RegisterAgain, turn.settings.zookeeper_session_timeout);
        self.work.asked = Some(Step::Backoff.into());
    }

    /// It has waited for that long.
    pub(super) fn has_waited(&self) -> bool {
        self.work.asked == Some(Step::Backoff.into())
    }

    /// Whether it is about to register.
    pub(super) fn is_registering(&self) -> bool {
        let steps = [Step::Registered, Step::InTheWay, Step::Removed, Step::Backoff];
        steps.into_iter().any(|step| self.work.asked == Some(step.into()))
    }

    fn looked(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let was_active = self.is_active();
        self.active = controller_in(&replies[1]);
        if was_active && !self.is_active() {
            self.resign(turn);
        }
    }

    fn run_seen(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        self.active = controller_in(&replies[0]);
        match self.active == BrokerId::NONE {
            true if self.release.controller_writes_are_fenced() => self.read_epoch(turn),
            true => self.ask(vec![self.own_claim(turn)], Step::Won, turn),
            false => {}
        }
    }

    fn read_epoch(&mut self, turn: &mut Turn<'_, '_>) {
        let read = turn.zk.get_data(znodes::controller_epoch());
        self.ask(vec![read], Step::RunEpoch, turn);
    }

    fn own_claim(&self, turn: &Turn<'_, '_>) -> Op {
        let znode = ControllerZnode { broker: self.me, timestamp: turn.out.now().as_ms() };
        create_ephemeral(znodes::controller(), znode.encode(self.release))
    }

    fn run_epoch(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        if !self.release.controller_writes_are_fenced() {
            return self.raise_controller_epoch(replies, turn);
        }
        match data(&replies[0]) {
            Some((epoch, stat)) => {
                let epoch = znodes::decode_controller_epoch(epoch).unwrap_or(ControllerEpoch(0));
                self.claim(epoch, stat.version, turn);
            }
            None => {
                let first = znodes::encode_controller_epoch(ControllerEpoch(0));
                let make = create(znodes::controller_epoch(), first);
                self.ask(vec![make], Step::RunEpochMade, turn);
            }
        }
    }

    /// Raises the epoch, the race being won; where there is none yet that is refused first.
    // Source: KafkaController.incrementControllerEpoch (0.8.2 to 2.0), elect and
    // triggerControllerMove (1.1)
    fn raise_controller_epoch(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let read = data(&replies[0]);
        let last = read.and_then(|(epoch, _)| znodes::decode_controller_epoch(epoch));
        let epoch = ControllerEpoch(last.map_or(0, |epoch| epoch.0) + 1);
        let version = read.map_or(0, |(_, stat)| stat.version);
        let data = znodes::encode_controller_epoch(epoch);
        let raise = Op::SetData { path: znodes::controller_epoch(), data, version };
        self.ask(vec![raise], Step::Raised(epoch), turn);
    }

    fn raised(&mut self, epoch: ControllerEpoch, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match &replies[0] {
            Ok(Answer::Stat(stat)) => self.win(epoch, stat.version, turn),
            Ok(_) => self.win(epoch, 0, turn),
            Err(Error::NoNode) => {
                let data = znodes::encode_controller_epoch(epoch);
                let make = create(znodes::controller_epoch(), data);
                self.ask(vec![make], Step::Raised(epoch), turn);
            }
            // Another has raised it meanwhile; or it did so itself, and the answer was lost.
            Err(_) if self.release.refused_controller_epochs_are_kept() => {
                self.win(ControllerEpoch(epoch.0 - 1), 0, turn);
            }
            Err(_) => {
                let leave = Op::Delete { path: znodes::controller(), version: -1 };
                self.ask(vec![leave], Step::MaybeResign, turn);
            }
        }
    }

    fn run_epoch_made(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match replies[0] {
            Ok(_) => self.claim(ControllerEpoch(0), 0, turn),
            Err(_) => {
                let read = turn.zk.get_data(znodes::controller_epoch());
                self.ask(vec![read], Step::RunEpoch, turn);
            }
        }
    }

    fn claim(&mut self, epoch: ControllerEpoch, version: i32, turn: &mut Turn<'_, '_>) {
        let epoch = ControllerEpoch(epoch.0 + 1);
        let create = self.own_claim(turn);
        let data = znodes::encode_controller_epoch(epoch);
        let raise = Op::SetData { path: znodes::controller_epoch(), data, version };
        self.ask(vec![Op::Multi([create, raise].into())], Step::Claimed(epoch, version), turn);
    }

    fn claimed(
        &mut self,
        epoch: ControllerEpoch,
        version: i32,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        if parts(&replies[0]).is_ok() {
            return self.win(epoch, version + 1, turn);
        }
        let controller = turn.zk.get_data(znodes::controller());
        let read = turn.zk.get_data(znodes::controller_epoch());
        self.ask(vec![controller, read], Step::Disputed(epoch), turn);
    }

    /// The answer to a claim may have been lost with the connection; then the znodes are ours.
    fn disputed(&mut self, epoch: ControllerEpoch, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let written = data(&replies[1]);
        let found = written.and_then(|(data, _)| znodes::decode_controller_epoch(data));
        match written {
            Some((_, stat)) if controller_in(&replies[0]) == self.me && found == Some(epoch) => {
                self.win(epoch, stat.version, turn);
            }
            _ => self.next(Step::MaybeResign),
        }
    }

    fn win(&mut self, epoch: ControllerEpoch, version: i32, turn: &mut Turn<'_, '_>) {
        self.epoch = epoch;
        self.epoch_version = version;
        self.active = self.me;
        turn.out.tell(BrokerFact::ControllerElected { broker: self.me, epoch });
        self.next(failover::Step::Features);
    }

    pub(super) fn expired(&mut self, turn: &mut Turn<'_, '_>) {
        let was_active = self.is_active();
        self.active = BrokerId::NONE;
        if was_active {
            self.resign(turn);
        }
    }

    /// Gives up everything that only a controller has.
    // Source: KafkaController.onControllerResignation
    pub(super) fn resign(&mut self, turn: &mut Turn<'_, '_>) {
        for path in [znodes::reassign_partitions(), znodes::preferred_replica_election()] {
            turn.zk.unwatch_node(&path);
        }
        for path in failover::watched_children(turn.settings) {
            turn.zk.unwatch_children(&path);
        }
        let brokers: Vec<BrokerId> = self.knowledge.registered();
        brokers.into_iter().for_each(|id| turn.zk.unwatch_node(&znodes::broker(id)));
        for (topic, _) in self.knowledge.topics.iter() {
            turn.zk.unwatch_node(&znodes::topic(topic));
        }
        self.knowledge.reassigning.iter().for_each(|tp| turn.zk.unwatch_node(&znodes::state(tp)));
        turn.out.disarm(BrokerTimer::LeaderBalance);
        self.channels.close(turn);
        self.knowledge = Knowledge::default();
        turn.out.tell(BrokerFact::ControllerResigned { broker: self.me, epoch: self.epoch });
    }
}

/// Who is controller, by the answer to a getData.
fn controller_in(reply: &crate::kafka::zookeeper::Reply) -> BrokerId {
    let znode = found(reply, ControllerZnode::decode);
    znode.map_or(BrokerId::NONE, |znode| znode.broker)
}

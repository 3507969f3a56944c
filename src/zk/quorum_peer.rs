//! A server of an ensemble while it runs: it looks, leads or learns, and answers those who look.
//!
//! *Invariant: a server has one role at a time, and every role ends in looking.*

use super::database::{Database, Disk};
use super::election::{Decision, Looking};
use super::ensemble::{Ensemble, ServerId};
use super::epochs::Epoch;
use super::leader::{Leader, Turn};
use super::learner::Learner;
use super::member::Member;
use super::peer::{PeerMessage, PeerTimer};
use super::read_only::ReadOnly;
use super::serving::Serving;
use super::settings::{Settings, Switch};
use super::vote::{Notification, Round, Standing};
use super::words::{Fact, Flaw, Message, Request, Timer, Words, Write};
use crate::sim::{Event, Outbox, ProcessId, Span};

/// One running server of an ensemble.
// Source: QuorumPeer.run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct QuorumPeer {
    member: Member,
    role: PeerRole,
    /// What it serves while it looks, if it may.
    read_only: Option<Box<ReadOnly>>,
}

/// For how long at least a server looks before it serves reads.
// Source: QuorumPeer.run (case LOOKING).
const READ_ONLY_GRACE: Span = Span::secs(2);

/// What it does at the moment. `Looking` becomes one of the others; these become `Looking`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PeerRole {
    /// It looks for a leader.
    Looking(Looking),
    /// It leads, or tries to.
    Leading(Box<Leader>),
    /// It follows or observes.
    Learning(Box<Learner>),
}

impl QuorumPeer {
    /// Starts on `disk`, and looks.
    pub fn start(
        place: (ServerId, Ensemble),
        settings: Settings,
        disk: Disk,
        out: &mut Outbox<'_, Words>,
    ) -> QuorumPeer {
        let mut member = Member::boot(place, settings, disk);
        let role = look(&mut member, out);
        QuorumPeer { member, role, read_only: None }
    }

    /// The server stops; its disk remains.
    pub fn into_disk(self) -> Disk {
        self.member.disk
    }

    /// What is on its disk.
    pub fn disk(&self) -> &Disk {
        &self.member.disk
    }

    /// What it has in memory.
    pub fn database(&self) -> &Database {
        &self.member.database
    }

    /// All but its role.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// What it does at the moment.
    pub fn role(&self) -> &PeerRole {
        &self.role
    }

    /// What it is within its ensemble.
    pub fn standing(&self) -> Standing {
        match &self.role {
            PeerRole::Looking(_) => Standing::Looking,
            PeerRole::Leading(_) => Standing::Leading,
            PeerRole::Learning(_) if self.member.ensemble.is_voter(self.member.me) => {
                Standing::Following
            }
            PeerRole::Learning(_) => Standing::Observing,
        }
    }

    /// The epoch in which it serves, if it serves.
    pub fn epoch(&self) -> Option<Epoch> {
        match &self.role {
            PeerRole::Looking(_) => None,
            PeerRole::Leading(leader) => leader.epoch(),
            PeerRole::Learning(learner) => learner.epoch(),
        }
    }

    /// Whom it leads itself by or follows.
    pub fn leader(&self) -> Option<ServerId> {
        match &self.role {
            PeerRole::Looking(_) => None,
            PeerRole::Leading(_) => Some(self.member.me),
            PeerRole::Learning(learner) => Some(learner.leader()),
        }
    }

    /// Its clients, if it may have any.
    pub fn serving(&self) -> Option<&Serving> {
        match &self.role {
            PeerRole::Looking(_) => self.read_only.as_ref().map(|served| served.serving()),
            PeerRole::Leading(leader) => Some(leader.serving()),
            PeerRole::Learning(learner) => Some(learner.serving()),
        }
    }

    /// Takes one event.
    pub fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        let event = match event {
            Event::Failed(write) => return self.failed(write, out),
            Event::Request(Request::Break(flaw)) => return self.break_down(flaw, out),
            event => event,
        };
        if let Event::Written(Write::Epochs(written)) = event {
            let epochs = self.member.disk.epochs;
            self.member.disk.epochs = epochs.raised_to(written);
            if let PeerRole::Leading(_) = self.role {
                self.member.save_unlogged();
            }
        }
        if let Event::Message { from, message: Message::Peer(PeerMessage::Notification(heard)) } =
            event
        {
            return self.hear_notification(from, heard, out);
        }
        let turn = match &mut self.role {
            PeerRole::Looking(looking) => {
                let rest = serve_reads(&mut self.read_only, &mut self.member, event, out);
                let decision = rest.and_then(|event| while_looking(looking, event, out));
                return self.decided(decision, out);
            }
            PeerRole::Leading(leader) => leader.handle(event, &mut self.member, out),
            PeerRole::Learning(learner) => learner.handle(event, &mut self.member, out),
        };
        if turn == Turn::Look {
            self.look_again(out);
        }
    }

    /// Those who look are answered by whoever does not.
    // Source: FastLeaderElection.Messenger.WorkerReceiver.run.
    fn hear_notification(
        &mut self,
        from: ProcessId,
        heard: Notification,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some(id) = self.member.ensemble.id_of(from) else { return };
        if let PeerRole::Looking(looking) = &mut self.role {
            let decision = looking.hear(id, heard, out);
            return self.decided(decision, out);
        }
        if heard.standing == Standing::Looking {
            let Member { vote, round, .. } = self.member;
            let answer = Notification { vote, round, standing: self.standing() };
            out.send(from, PeerMessage::Notification(answer));
        }
    }

    fn decided(&mut self, decision: Option<Decision>, out: &mut Outbox<'_, Words>) {
        let Some(Decision { vote, round }) = decision else { return };
        let member = &mut self.member;
        if let Some(mut served) = self.read_only.take() {
            served.end(member, out);
        }
        for timer in PeerTimer::ALL {
            out.disarm(timer);
        }
        member.vote = vote;
        member.round = round;
        self.role = match vote.candidate == member.me {
            true => PeerRole::Leading(Box::new(Leader::start(member, out))),
            false => {
                member.forget_unlogged();
                PeerRole::Learning(Box::new(Learner::start(vote.candidate, member, out)))
            }
        };
    }

    /// A write has found no room. If it was the log's, the role ends when it looks around next.
    ///
    /// Real: a leader that finds no room exits over the snapshot that it writes first of all; here
    /// over its epoch, which it writes next.
    // Source: ZooKeeperCriticalThread.handleException, Learner.registerWithLeader, syncWithLeader,
    // ZooKeeperServer.takeSnapshot, ExitCode.TXNLOG_ERROR_TAKING_SNAPSHOT.
    fn failed(&mut self, write: Write, out: &mut Outbox<'_, Words>) {
        match (write, &self.role) {
            (Write::Log { through }, _) => {
                if self.member.writer.failed(through) {
                    out.tell(Fact::LogNotWritten {});
                }
            }
            (Write::Epochs(_), PeerRole::Looking(_)) => {}
            (Write::Epochs(_), PeerRole::Leading(_)) => {
                out.tell(Fact::SnapshotNotWritten {});
                out.exit(10);
            }
            (Write::Epochs(_), PeerRole::Learning(_)) => {
                out.tell(Fact::EpochNotWritten {});
                self.look_again(out);
            }
        }
    }

    /// An error in its code shows. Whoever looks has no threads that could end.
    ///
    /// Real: from 3.4.7 and 3.5.1 on most threads that end take the server's role with them
    /// (`ZooKeeperCriticalThread`, ZOOKEEPER-1907); here nobody notices, as before, and as in what
    /// was overlooked then (ZOOKEEPER-4712).
    fn break_down(&mut self, flaw: Flaw, out: &mut Outbox<'_, Words>) {
        if let PeerRole::Looking(_) = self.role {
            return;
        }
        self.member.break_down(flaw);
        if flaw == Flaw::Requests {
            out.tell(Fact::ThreadDied {});
        }
    }

    /// A role has ended.
    fn look_again(&mut self, out: &mut Outbox<'_, Words>) {
        match &mut self.role {
            PeerRole::Looking(_) => {}
            PeerRole::Leading(leader) => leader.end(&self.member, out),
            PeerRole::Learning(learner) => learner.end(&mut self.member, out),
        }
        self.member.leave_role(out);
        self.role = look(&mut self.member, out);
    }
}

fn look(member: &mut Member, out: &mut Outbox<'_, Words>) -> PeerRole {
    member.lookings += 1;
    if member.settings.read_only_mode == Switch::On {
        out.arm(PeerTimer::ReadOnly, member.settings.tick_time.max(READ_ONLY_GRACE));
    }
    member.round = Round(member.round.0 + 1);
    let place = (member.me, member.ensemble.clone());
    PeerRole::Looking(Looking::start(place, member.round, member.own_vote(), out))
}

/// Takes what is a read-only server's, and gives back the rest.
// Source: QuorumPeer.run (case LOOKING), ReadOnlyZooKeeperServer.
fn serve_reads(
    read_only: &mut Option<Box<ReadOnly>>,
    member: &mut Member,
    event: Event<Words>,
    out: &mut Outbox<'_, Words>,
) -> Option<Event<Words>> {
    match (event, read_only) {
        (Event::Timer(Timer::Peer(PeerTimer::ReadOnly)), read_only) => {
            let mut served =
                read_only.take().unwrap_or_else(|| Box::new(ReadOnly::start(member, out)));
            served.end_silent(member, out);
            out.arm(PeerTimer::ReadOnly, member.settings.tick_time);
            *read_only = Some(served);
        }
        (Event::Message { from, message }, Some(served))
            if matches!(message, Message::Connect(_) | Message::Request { .. }) =>
        {
            served.hear(from, message, member, out);
        }
        (Event::Hangup { peer }, Some(served)) if member.ensemble.id_of(peer).is_none() => {
            served.lose(peer, member);
        }
        (event, _) => return Some(event),
    }
    None
}

/// Whoever looks serves nobody else: learners find no leader here, clients no server.
fn while_looking(
    looking: &mut Looking,
    event: Event<Words>,
    out: &mut Outbox<'_, Words>,
) -> Option<Decision> {
    match event {
        Event::Timer(Timer::Peer(timer)) => looking.timer(timer, out),
        Event::Message { from, message: Message::Peer(PeerMessage::LearnerInfo { .. }) } => {
            out.send(from, PeerMessage::Refused);
            None
        }
        Event::Message { from, message: Message::Connect(_) | Message::Request { .. } } => {
            out.hangup(from);
            None
        }
        _ => None,
    }
}

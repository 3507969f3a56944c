//! Fast leader election: how servers that look for a leader come to agree on one.
//!
//! ```text
//!   zk1  looking ── vote zk1 ─▶ hears zk3, which beats it ── vote zk3 ─▶ ┐ a quorum for zk3, and
//!   zk3  looking ── vote zk3 ──────────────────────────────────────────▶ ┘ 200 ms without a better
//! ```
//!
//! *Invariant: within a round a server's vote only rises; a server that finds a quorum which has
//! decided joins it, whatever its own vote.*

use super::ensemble::{Ensemble, ServerId};
use super::peer::{PeerMessage, PeerTimer};
use super::vote::{Notification, Round, Standing, Vote};
use super::words::{Fact, Words};
use crate::sim::{OrdMap, OrdSet, Outbox, Span};

/// How long a server waits for a better vote once it has a quorum.
// Source: FastLeaderElection.finalizeWait.
const FINALIZE_WAIT: Span = Span::ms(200);
/// After how long without a word a vote is sent again, at first and at most.
// Source: FastLeaderElection.minNotificationInterval, maxNotificationInterval.
const NOTIFICATION_INTERVAL: (Span, Span) = (Span::ms(200), Span::secs(60));

/// What a server remembers that is looking for a leader.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Looking {
    me: ServerId,
    ensemble: Ensemble,
    round: Round,
    /// For itself.
    own: Vote,
    /// For whom it votes now.
    proposed: Vote,
    /// The votes of this round.
    received: OrdMap<ServerId, Notification>,
    /// What those say who have decided, in whatever round.
    decided: OrdMap<ServerId, Notification>,
    interval: Span,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    /// Collects votes.
    Gathering,
    /// Has a quorum; a better vote leads back to `Gathering`.
    Finalizing,
}

/// How an election has ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Decision {
    /// The elected.
    pub vote: Vote,
    /// In which election.
    pub round: Round,
}

impl Looking {
    /// Begins to look, in `round`, with a vote for itself.
    // Source: FastLeaderElection.lookForLeader.
    pub fn start(
        (me, ensemble): (ServerId, Ensemble),
        round: Round,
        own: Vote,
        out: &mut Outbox<'_, Words>,
    ) -> Looking {
        let own = if ensemble.is_voter(me) { own } else { Vote::of_observer() };
        out.tell(Fact::Looking { round, epoch: own.epoch, zxid: own.zxid });
        let mut looking = Looking {
            me,
            ensemble,
            round,
            own,
            proposed: own,
            received: OrdMap::new(),
            decided: OrdMap::new(),
            interval: NOTIFICATION_INTERVAL.0,
            stage: Stage::Gathering,
        };
        looking.vote_for(own, out);
        looking.wait(out);
        looking.count(out);
        looking
    }

    /// The election it takes part in.
    pub fn round(&self) -> Round {
        self.round
    }

    /// For whom it votes now.
    pub fn proposed(&self) -> Vote {
        self.proposed
    }

    /// The votes it has of this round, its own among them.
    pub fn received(&self) -> &OrdMap<ServerId, Notification> {
        &self.received
    }

    /// What it says of itself.
    pub fn notification(&self) -> Notification {
        Notification { vote: self.proposed, round: self.round, standing: Standing::Looking }
    }

    /// Takes a notification.
    // Source: FastLeaderElection.Messenger.WorkerReceiver.run, lookForLeader.
    pub fn hear(
        &mut self,
        from: ServerId,
        heard: Notification,
        out: &mut Outbox<'_, Words>,
    ) -> Option<Decision> {
        let voter = self.ensemble.is_voter(from);
        let looks = heard.standing == Standing::Looking;
        if !voter || (looks && heard.round < self.round) {
            self.send(from, out);
        }
        if !voter {
            return None;
        }
        if self.stage == Stage::Finalizing {
            if !heard.vote.beats(&self.proposed) {
                out.arm(PeerTimer::Finalize, FINALIZE_WAIT);
                return None;
            }
            self.stage = Stage::Gathering;
            out.disarm(PeerTimer::Finalize);
        }
        self.wait(out);
        match heard.standing {
            Standing::Looking => {
                self.hear_vote(from, heard, out);
                None
            }
            Standing::Following | Standing::Leading => self.hear_decided(from, heard, out),
            Standing::Observing => None,
        }
    }

    fn hear_vote(&mut self, from: ServerId, heard: Notification, out: &mut Outbox<'_, Words>) {
        if heard.round < self.round || !self.ensemble.is_voter(heard.vote.candidate) {
            return;
        }
        if heard.round > self.round {
            self.round = heard.round;
            self.received.clear();
            self.vote_for(heard.vote.max(self.own), out);
        } else if heard.vote.beats(&self.proposed) {
            self.vote_for(heard.vote, out);
        }
        self.received.insert(from, heard);
        self.count(out);
    }

    /// With a quorum for its own vote, a server waits a little for a better one.
    fn count(&mut self, out: &mut Outbox<'_, Words>) {
        let mine = self.notification();
        if self.ensemble.is_quorum(&supporters(&self.received, &mine)) {
            self.stage = Stage::Finalizing;
            out.disarm(PeerTimer::VoteAgain);
            out.arm(PeerTimer::Finalize, FINALIZE_WAIT);
        }
    }

    /// Joins those who have decided, if they are a quorum and the elected says so itself.
    fn hear_decided(
        &mut self,
        from: ServerId,
        heard: Notification,
        out: &mut Outbox<'_, Words>,
    ) -> Option<Decision> {
        if heard.round == self.round {
            self.received.insert(from, heard);
            if self.is_settled(&self.received, &heard) {
                return Some(self.decide(heard.vote, out));
            }
        }
        self.decided.insert(from, heard);
        if self.is_settled(&self.decided, &heard) {
            self.round = heard.round;
            return Some(self.decide(heard.vote, out));
        }
        None
    }

    // Source: FastLeaderElection.checkLeader.
    fn is_settled(&self, votes: &OrdMap<ServerId, Notification>, heard: &Notification) -> bool {
        let leader = heard.vote.candidate;
        let confirmed = match leader == self.me {
            true => heard.round == self.round,
            false => votes.get(&leader).is_some_and(|n| n.standing == Standing::Leading),
        };
        confirmed && self.ensemble.is_quorum(&supporters(votes, heard))
    }

    /// A timer has run out.
    pub fn timer(&mut self, timer: PeerTimer, out: &mut Outbox<'_, Words>) -> Option<Decision> {
        match (timer, self.stage) {
            (PeerTimer::Finalize, Stage::Finalizing) => Some(self.decide(self.proposed, out)),
            (PeerTimer::VoteAgain, Stage::Gathering) => {
                self.send_to_all(out);
                self.interval = (self.interval * 2).min(NOTIFICATION_INTERVAL.1);
                self.wait(out);
                None
            }
            _ => None,
        }
    }

    fn decide(&self, vote: Vote, out: &mut Outbox<'_, Words>) -> Decision {
        out.tell(Fact::Elected { leader: vote.candidate, round: self.round });
        Decision { vote, round: self.round }
    }

    fn wait(&self, out: &mut Outbox<'_, Words>) {
        out.arm(PeerTimer::VoteAgain, self.interval);
    }

    /// Votes for somebody, and tells everybody so.
    fn vote_for(&mut self, vote: Vote, out: &mut Outbox<'_, Words>) {
        if vote != self.own {
            let Vote { candidate, epoch, zxid } = vote;
            out.tell(Fact::VoteChanged { candidate, epoch, zxid });
        }
        self.proposed = vote;
        self.received.insert(self.me, self.notification());
        self.send_to_all(out);
    }

    fn send_to_all(&self, out: &mut Outbox<'_, Words>) {
        for voter in self.ensemble.voters().filter(|voter| voter.id != self.me) {
            self.send(voter.id, out);
        }
    }

    fn send(&self, to: ServerId, out: &mut Outbox<'_, Words>) {
        let message = PeerMessage::Notification(self.notification());
        out.send(self.ensemble.host_of(to), message);
    }
}

/// Who has said the same as `outcome`.
// Source: FastLeaderElection.getVoteTracker.
fn supporters(votes: &OrdMap<ServerId, Notification>, outcome: &Notification) -> OrdSet<ServerId> {
    votes.iter().filter(|(_, vote)| vote.agrees_with(outcome)).map(|(id, _)| *id).collect()
}

//! A ZooKeeper server: a disk, and the role it has while it runs.
//!
//! What it does in a role is in that role's file; the server only passes events on.
//!
//! *Invariant: a server that is down has its disk and nothing else.*

use super::database::{Database, Disk};
use super::ensemble::{Ensemble, ServerId};
use super::four_letter;
use super::front::Front;
use super::local_sessions::LocalSessions;
use super::quorum_peer::{PeerRole, QuorumPeer};
use super::reply::Access;
use super::serving::Serving;
use super::session::Tracker;
use super::settings::Settings;
use super::standalone::Standalone;
use super::words::{Fact, Message, Request, Words};
use crate::sim::{Event, Outbox, Process};

/// One server process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Server {
    settings: Settings,
    /// Which server of which ensemble it is, unless it is alone.
    place: Option<(ServerId, Ensemble)>,
    /// While it runs in an ensemble, its role holds the disk.
    disk: Disk,
    role: Role,
    /// What somebody has done to the file `myid`.
    myid: Option<MyId>,
}

/// What is in the file `myid` if it is not the server's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MyId {
    /// This number.
    Number(u8),
    /// There is no such file.
    Missing,
}

/// What a server is at the moment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// It does not run, or has not begun to.
    Down,
    /// It is alone.
    Standalone(Box<Standalone>),
    /// It is one of an ensemble.
    Peer(Box<QuorumPeer>),
}

impl Server {
    /// A server without an ensemble, whose disk is empty.
    pub fn standalone(settings: Settings) -> Server {
        Server::on_disk(settings, Disk::of_release(settings.release))
    }

    /// A server without an ensemble that finds `disk`.
    pub fn on_disk(settings: Settings, disk: Disk) -> Server {
        Server { settings, place: None, disk, role: Role::Down, myid: None }
    }

    /// The server `me` of an ensemble, whose disk is empty.
    pub fn of_ensemble(me: ServerId, ensemble: Ensemble, settings: Settings) -> Server {
        let place = Some((me, ensemble));
        Server { place, ..Server::standalone(settings) }
    }

    /// Whether it belongs to no ensemble.
    pub fn is_alone(&self) -> bool {
        self.place.is_none()
    }

    /// The same with this on its disk.
    pub fn finding(self, disk: Disk) -> Server {
        Server { disk, ..self }
    }

    /// How it is configured.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is on its disk.
    pub fn disk(&self) -> &Disk {
        match &self.role {
            Role::Peer(peer) => peer.disk(),
            Role::Down | Role::Standalone(_) => &self.disk,
        }
    }

    /// It as a server of an ensemble, while it runs.
    pub fn peer(&self) -> Option<&QuorumPeer> {
        match &self.role {
            Role::Peer(peer) => Some(peer),
            Role::Down | Role::Standalone(_) => None,
        }
    }

    /// What it is at the moment.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// What it has in memory, while it runs.
    pub fn database(&self) -> Option<&Database> {
        match &self.role {
            Role::Down => None,
            Role::Standalone(role) => Some(role.database()),
            Role::Peer(peer) => Some(peer.database()),
        }
    }

    /// When sessions expire, if it is the one that decides.
    pub fn tracker(&self) -> Option<&Tracker> {
        match &self.role {
            Role::Standalone(role) => Some(role.tracker()),
            Role::Peer(peer) => match peer.role() {
                PeerRole::Leading(leader) => leader.epoch().map(|_| leader.tracker()),
                PeerRole::Looking(_) | PeerRole::Learning(_) => None,
            },
            Role::Down => None,
        }
    }

    /// The sessions that only it knows, if it serves and may have such.
    pub fn local_sessions(&self) -> Option<&LocalSessions> {
        self.peer()?.serving()?.local()
    }

    /// What it takes, if it serves.
    pub fn access(&self) -> Option<Access> {
        self.front().map(Front::access).filter(|access| {
            let serves = self.peer().is_none_or(|peer| peer.epoch().is_some());
            serves || *access == Access::ReadOnly
        })
    }

    /// The same with this in its file `myid`.
    pub fn set_myid(&mut self, myid: MyId) {
        let own = self.place.as_ref().map(|(me, _)| MyId::Number(me.0));
        self.myid = Some(myid).filter(|_| own != Some(myid));
    }

    /// Its clients, if it serves.
    pub fn front(&self) -> Option<&Front> {
        match &self.role {
            Role::Down => None,
            Role::Standalone(role) => Some(role.front()),
            Role::Peer(peer) => peer.serving().map(Serving::front),
        }
    }
}

impl Server {
    fn boot(&mut self, out: &mut Outbox<'_, Words>) {
        if let (Some(myid), Some((_, ensemble))) = (self.myid, &self.place) {
            return refuse(myid, ensemble, out);
        }
        self.role = match self.place.clone() {
            None => {
                let role = Standalone::start(self.settings, &mut self.disk, out);
                Role::Standalone(Box::new(role))
            }
            Some(place) => {
                let disk = std::mem::take(&mut self.disk);
                Role::Peer(Box::new(QuorumPeer::start(place, self.settings, disk, out)))
            }
        };
    }
}

/// A server that is not who its file says does not get far.
///
/// Real: it tries for three seconds to listen at another's address, and talks meanwhile; with
/// `quorumListenOnAllIPs` it succeeds, and connections of two servers of one id replace each other;
/// here it ends at once.
// Source: QuorumPeerConfig.setupMyId, QuorumPeer.start, QuorumCnxManager.Listener.run;
// ExitCode.INVALID_INVOCATION, UNEXPECTED_ERROR, UNABLE_TO_BIND_QUORUM_PORT.
fn refuse(myid: MyId, ensemble: &Ensemble, out: &mut Outbox<'_, Words>) {
    let known = |number| ensemble.addresses().iter().any(|address| address.id.0 == number);
    let (found, why, code) = match myid {
        MyId::Missing => ("-".into(), "missing", 2),
        MyId::Number(number) if known(number) => (number.to_string(), "taken", 14),
        MyId::Number(number) => (number.to_string(), "unknown", 1),
    };
    out.tell(Fact::MyIdRefused { found: found.into(), why });
    out.exit(code);
}

impl Process for Server {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match (event, &mut self.role) {
            (Event::Boot, _) => self.boot(out),
            (Event::Request(Request::Stop), _) => out.exit(0),
            (_, Role::Down) => {}
            (Event::Message { from, message: Message::AskAccess }, _) => {
                out.send(from, Message::Access(self.access()));
            }
            (Event::Message { from, message: Message::Word(word) }, _) => {
                let answer = four_letter::answer(self, &word, out.now()).unwrap_or_default();
                out.send(from, Message::Said(answer.into()));
            }
            (event, Role::Standalone(role)) => role.handle(event, &mut self.disk, out),
            (event, Role::Peer(peer)) => peer.handle(event, out),
        }
    }

    fn crash(&mut self) {
        if let Role::Peer(peer) = std::mem::replace(&mut self.role, Role::Down) {
            self.disk = peer.into_disk();
        }
    }

    fn wipe(&mut self) {
        self.disk = Disk::of_release(self.settings.release);
    }
}

//! A ZooKeeper server: a disk, and the role it has while it runs.
//!
//! What it does in a role is in that role's file; the server only passes events on.
//!
//! *Invariant: a server that is down has its disk and nothing else.*

use super::database::{Database, Disk};
use super::ensemble::{Ensemble, ServerId};
use super::front::Front;
use super::quorum_peer::{PeerRole, QuorumPeer};
use super::serving::Serving;
use super::session::Tracker;
use super::settings::Settings;
use super::standalone::Standalone;
use super::words::{Request, Words};
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
        Server::on_disk(settings, Disk::default())
    }

    /// A server without an ensemble that finds `disk`.
    pub fn on_disk(settings: Settings, disk: Disk) -> Server {
        Server { settings, place: None, disk, role: Role::Down }
    }

    /// The server `me` of an ensemble, whose disk is empty.
    pub fn of_ensemble(me: ServerId, ensemble: Ensemble, settings: Settings) -> Server {
        let place = Some((me, ensemble));
        Server { settings, place, disk: Disk::default(), role: Role::Down }
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

impl Process for Server {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match (event, &mut self.role) {
            (Event::Boot, _) => self.boot(out),
            (Event::Request(Request::Stop), _) => out.exit(0),
            (_, Role::Down) => {}
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
        self.disk = Disk::default();
    }
}

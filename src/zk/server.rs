//! A ZooKeeper server: a disk, and the role it has while it runs.
//!
//! What it does in a role is in that role's file; the server only passes events on.
//!
//! *Invariant: a server that is down has its disk and nothing else.*

use super::database::{Database, Disk};
use super::front::Front;
use super::settings::Settings;
use super::standalone::Standalone;
use super::words::{Request, Words};
use crate::sim::{Event, Outbox, Process};

/// One server process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Server {
    settings: Settings,
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
}

impl Server {
    /// A server without an ensemble, whose disk is empty.
    pub fn standalone(settings: Settings) -> Server {
        Server::on_disk(settings, Disk::default())
    }

    /// A server without an ensemble that finds `disk`.
    pub fn on_disk(settings: Settings, disk: Disk) -> Server {
        Server { settings, disk, role: Role::Down }
    }

    /// What is on its disk.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// What it is at the moment.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// What it has in memory, if it serves.
    pub fn database(&self) -> Option<&Database> {
        match &self.role {
            Role::Down => None,
            Role::Standalone(role) => Some(role.database()),
        }
    }

    /// Its clients, if it serves.
    pub fn front(&self) -> Option<&Front> {
        match &self.role {
            Role::Down => None,
            Role::Standalone(role) => Some(role.front()),
        }
    }
}

impl Process for Server {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match (event, &mut self.role) {
            (Event::Boot, _) => {
                let role = Standalone::start(self.settings, &mut self.disk, out);
                self.role = Role::Standalone(Box::new(role));
            }
            (Event::Request(Request::Stop), _) => out.exit(0),
            (_, Role::Down) => {}
            (event, Role::Standalone(role)) => role.handle(event, &mut self.disk, out),
        }
    }

    fn crash(&mut self) {
        self.role = Role::Down;
    }
}

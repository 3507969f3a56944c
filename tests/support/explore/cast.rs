//! The servers that take part in an exploration: each state of one server is known by a number, and
//! what an event does to it is asked of the real process once. Laws about one server and one event
//! are checked here.
//!
//! A server's clock stands still while it keeps its role: it tells how often the server has started
//! and looked. So no two sessions get one number, and nothing that a server remembers of times
//! tells two of its states apart that behave alike. It may stand still because no limit is asked
//! of the clock here: each is a timer that may run out at any moment (`stage`), and what a leader
//! finds too long by its clock, a cut or broken cable brings about at any moment too.
//!
//! *Invariant: equal numbers mean equal servers, timers and unfinished writes.*

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use zootrope::sim::{Effect, Event, Process, ProcessId, SimTime, Span, wishes};
use zootrope::zk::peer::{PeerMessage, PeerTimer};
use zootrope::zk::quorum_peer::PeerRole;
use zootrope::zk::request::{Connect, Password};
use zootrope::zk::server::Server;
use zootrope::zk::stat::{Millis, SessionId};
use zootrope::zk::txn::TxnBody;
use zootrope::zk::words::{Message, Timer, Told, Words, Write};
use zootrope::zk::zxid::Zxid;

/// How many servers there are. Those who have higher process ids are clients.
pub const SERVERS: usize = 3;

/// A law that is broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    pub law: &'static str,
    pub what: String,
}

/// One server with what the kernel keeps for it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Actor {
    pub server: Server,
    pub runs: bool,
    /// How often it was started.
    pub boots: u8,
    pub timers: Vec<PeerTimer>,
    pub writes: VecDeque<Write>,
}

/// What may happen to a server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Happening {
    Boot,
    Hears {
        from: u8,
        message: u32,
    },
    Loses {
        peer: u8,
    },
    RunsOut(PeerTimer),
    Written,
    /// A new client wants a session.
    Asked {
        client: u8,
    },
    /// It loses all but what was written; a lying disk loses the last txn as well.
    Dies {
        disk: Loyalty,
    },
}

/// Whether a disk keeps what it has said to be written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Loyalty {
    Keeps,
    Loses,
}

/// What a server does about it, as far as others see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    Send {
        to: u8,
        message: u32,
    },
    HangUp {
        peer: u8,
    },
    /// A client has its session.
    Answer {
        session: u16,
    },
    GiveUp,
}

/// What comes of an event.
pub struct Outcome {
    pub actor: u32,
    pub deeds: Vec<Deed>,
    pub breach: Option<Breach>,
}

/// What the laws ask of a server, found out once.
pub struct Known {
    pub actor: Actor,
    /// The number of its server, whatever its timers and writes are.
    pub server: u32,
    /// The sessions on its disk, each made by a write of its own.
    pub on_disk: Vec<u16>,
    /// The same in memory, if it serves.
    pub applied: Option<Vec<u16>>,
    /// The epoch that it leads, if a quorum has founded it.
    pub leads: Option<u32>,
}

/// All states of servers and all messages that have been seen.
#[derive(Default)]
pub struct Cast {
    known: Vec<Known>,
    numbers: HashMap<Actor, u32>,
    servers: HashMap<Server, u32>,
    messages: Vec<Message>,
    message_numbers: HashMap<Message, u32>,
    sessions: Vec<SessionId>,
    outcomes: HashMap<(u32, Happening), Rc<Outcome>>,
}

impl Actor {
    /// A server that does not run.
    pub fn new(server: Server) -> Actor {
        Actor { server, runs: false, boots: 0, timers: Vec::new(), writes: VecDeque::new() }
    }

    /// How often it has looked for a leader since it started.
    pub fn lookings(&self) -> u32 {
        self.server.peer().map_or(0, |peer| peer.member().lookings)
    }

    fn now(&self) -> SimTime {
        SimTime::ZERO + Span::ms(u64::from(self.boots) * 64 + u64::from(self.lookings()))
    }

    fn die(&mut self, disk: Loyalty) {
        self.server.crash();
        self.runs = false;
        self.timers.clear();
        self.writes.clear();
        if disk == Loyalty::Loses {
            let mut disk = self.server.disk().clone();
            disk.log.pop();
            self.server = self.server.clone().finding(disk);
        }
    }

    /// Lets the real process handle an event, and keeps what the kernel would.
    fn handle(&mut self, me: ProcessId, event: Event<Words>) -> Vec<Effect<Words>> {
        let now = self.now();
        let mut rest = wishes(&mut self.server, event, (me, now));
        rest.retain(|effect| match effect {
            Effect::Arm { timer: Timer::Peer(timer), .. } => {
                if !self.timers.contains(timer) {
                    self.timers.push(*timer);
                    self.timers.sort_unstable();
                }
                false
            }
            Effect::Disarm(Timer::Peer(timer)) => {
                self.timers.retain(|armed| armed != timer);
                false
            }
            Effect::Write(write) => {
                self.writes.push_back(*write);
                false
            }
            _ => true,
        });
        rest
    }
}

impl Cast {
    pub fn known(&self, actor: u32) -> &Known {
        &self.known[actor as usize]
    }

    pub fn message(&self, number: u32) -> &Message {
        &self.messages[number as usize]
    }

    /// How many states of one server have been seen.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// The number of a server's state.
    pub fn number(&mut self, actor: Actor) -> u32 {
        if let Some(number) = self.numbers.get(&actor) {
            return *number;
        }
        let number = self.known.len() as u32;
        let known = self.look_at(&actor);
        self.known.push(known);
        self.numbers.insert(actor, number);
        number
    }

    fn look_at(&mut self, actor: &Actor) -> Known {
        let next = self.servers.len() as u32;
        let server = *self.servers.entry(actor.server.clone()).or_insert(next);
        let disk = actor.server.disk();
        let logged = disk.log.iter().filter_map(|txn| match txn.body {
            TxnBody::CreateSession { .. } => Some(txn.session),
            _ => None,
        });
        let saved = disk.snapshot.sessions.keys().copied();
        let mut on_disk: Vec<SessionId> = logged.chain(saved).collect();
        on_disk.dedup();
        let peer = actor.server.peer();
        let epoch = peer.and_then(|peer| peer.epoch());
        let serving = peer.filter(|_| epoch.is_some());
        let applied = serving.map(|peer| peer.database().sessions.keys().copied().collect());
        let leads = peer.filter(|peer| matches!(peer.role(), PeerRole::Leading(_)));
        let mut sessions = |found: Vec<SessionId>| -> Vec<u16> {
            found.into_iter().map(|session| self.session(session)).collect()
        };
        Known {
            server,
            on_disk: sessions(on_disk),
            applied: applied.map(sessions),
            leads: leads.and(epoch).map(|epoch| epoch.0),
            actor: actor.clone(),
        }
    }

    /// The number of a session; from 1 on.
    fn session(&mut self, session: SessionId) -> u16 {
        let found = self.sessions.iter().position(|known| *known == session);
        let place = found.unwrap_or_else(|| {
            self.sessions.push(session);
            self.sessions.len() - 1
        });
        u16::try_from(place + 1).expect("few sessions")
    }

    /// What comes of an event at the server `me`.
    pub fn outcome(&mut self, me: u8, actor: u32, happening: Happening) -> Rc<Outcome> {
        if let Some(outcome) = self.outcomes.get(&(actor, happening)) {
            return outcome.clone();
        }
        let before = self.known(actor).actor.clone();
        let outcome = Rc::new(match self.carry_out(me, &before, happening) {
            Ok((after, effects)) => self.told(&before, after, effects),
            Err(breach) => Outcome { actor, deeds: Vec::new(), breach: Some(breach) },
        });
        self.outcomes.insert((actor, happening), outcome.clone());
        outcome
    }

    /// Lets it happen to a copy.
    pub fn carry_out(
        &self,
        me: u8,
        before: &Actor,
        happening: Happening,
    ) -> Result<(Actor, Vec<Effect<Words>>), Breach> {
        let mut actor = before.clone();
        if let Happening::Dies { disk } = happening {
            actor.die(disk);
            return Ok((actor, Vec::new()));
        }
        let event = self.event(&mut actor, happening);
        let handled = catch_unwind(AssertUnwindSafe(|| {
            let effects = actor.handle(ProcessId(u16::from(me)), event);
            (actor, effects)
        }));
        handled.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let what = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()));
            Breach { law: "no-server-panics", what: what.unwrap_or_default() }
        })
    }

    fn event(&self, actor: &mut Actor, happening: Happening) -> Event<Words> {
        match happening {
            Happening::Boot => {
                actor.runs = true;
                actor.boots += 1;
                Event::Boot
            }
            Happening::Hears { from, message } => {
                let message = self.message(message).clone();
                Event::Message { from: ProcessId(u16::from(from)), message }
            }
            Happening::Loses { peer } => Event::Hangup { peer: ProcessId(u16::from(peer)) },
            Happening::RunsOut(timer) => {
                actor.timers.retain(|armed| *armed != timer);
                Event::Timer(Timer::Peer(timer))
            }
            Happening::Written => {
                Event::Written(actor.writes.pop_front().expect("a write is under way"))
            }
            Happening::Asked { client } => {
                let from = ProcessId(SERVERS as u16 + u16::from(client));
                Event::Message { from, message: Message::Connect(hello()) }
            }
            Happening::Dies { .. } => unreachable!("a server is not asked about its death"),
        }
    }

    fn told(&mut self, before: &Actor, after: Actor, effects: Vec<Effect<Words>>) -> Outcome {
        let breach = breach_by_one(before, &after, &effects);
        let deeds = effects.into_iter().filter_map(|effect| self.deed(effect)).collect();
        Outcome { actor: self.number(after), deeds, breach }
    }

    fn deed(&mut self, effect: Effect<Words>) -> Option<Deed> {
        let server =
            |id: ProcessId| u8::try_from(id.0).ok().filter(|id| usize::from(*id) < SERVERS);
        match effect {
            Effect::Send { to, message } => match (server(to), message) {
                (Some(to), message) => Some(Deed::Send { to, message: self.word(message) }),
                (None, Message::ConnectReply(reply)) if reply.session != SessionId::NONE => {
                    Some(Deed::Answer { session: self.session(reply.session) })
                }
                _ => None,
            },
            Effect::Hangup { peer } => server(peer).map(|peer| Deed::HangUp { peer }),
            Effect::Exit(_) => Some(Deed::GiveUp),
            _ => None,
        }
    }

    fn word(&mut self, message: Message) -> u32 {
        if let Some(number) = self.message_numbers.get(&message) {
            return *number;
        }
        let number = self.messages.len() as u32;
        self.messages.push(message.clone());
        self.message_numbers.insert(message, number);
        number
    }
}

/// A client's first message.
fn hello() -> Connect {
    Connect {
        last_zxid: Zxid::ZERO,
        timeout: Millis(30_000),
        session: SessionId::NONE,
        password: Password(0),
        can_be_read_only: false,
    }
}

/// The facts among what a server wishes for, in notation.
pub fn facts(effects: &[Effect<Words>]) -> Vec<String> {
    let told = effects.iter().filter_map(|effect| match effect {
        Effect::Tell(Told::Zk(fact)) => Some(fact.to_string()),
        _ => None,
    });
    told.collect()
}

/// What one server may not do in one event, whatever the others are.
fn breach_by_one(before: &Actor, after: &Actor, effects: &[Effect<Words>]) -> Option<Breach> {
    let (old, new) = (before.server.disk().epochs, after.server.disk().epochs);
    if new.accepted < old.accepted || new.current < old.current {
        let what =
            format!("{}/{} fell to {}/{}", old.accepted, old.current, new.accepted, new.current);
        return Some(Breach { law: "epochs-never-fall", what });
    }
    if let (Some(PeerRole::Looking(old)), Some(PeerRole::Looking(new))) =
        (role(before), role(after))
        && old.round() == new.round()
        && old.proposed().beats(&new.proposed())
    {
        let what = format!("in round {} a vote fell", new.round());
        return Some(Breach { law: "votes-only-rise-in-a-round", what });
    }
    let logged = after.server.disk().last_zxid();
    effects.iter().find_map(|effect| match effect {
        Effect::Send { message: Message::Peer(PeerMessage::Ack { zxid }), .. }
            if zxid.counter() > 0 && *zxid > logged =>
        {
            let what = format!("{zxid} is acknowledged, but the disk ends at {logged}");
            Some(Breach { law: "acknowledged-is-on-disk", what })
        }
        _ => None,
    })
}

fn role(actor: &Actor) -> Option<&PeerRole> {
    actor.server.peer().map(|peer| peer.role())
}

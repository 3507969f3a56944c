//! A broker's end of its connections: requests to others and their responses, responses to others'
//! requests, and what it says to itself.
//!
//! Not here: what the messages say.
//!
//! *Invariant: a call ends once: by its response, or by the hangup of the process called. A request
//! is answered on the connection that it came on, or not at all.*

use std::collections::VecDeque;

use super::id::{BrokerId, ClientId, CorrelationId};
use super::message::{Request, RequestMessage, Response, ResponseMessage};
use super::words::{BrokerTimer, Message, Words};
use crate::sim::{OrdMap, Outbox, ProcessId, Span};

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// The controller orders this broker.
    Order(BrokerId),
    /// A follower fetches from this leader.
    Fetch(BrokerId),
    /// A leader asks the controller for another ISR.
    AlterPartition,
    /// This broker wants to stop.
    ControlledShutdown,
    /// This broker needs producer ids.
    AllocateProducerIds,
    /// A transaction coordinator has a leader write markers; which transaction.
    WriteTxnMarkers(u32),
}

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// The process at the other end.
    pub process: ProcessId,
    /// Its request, as the [`Wire`] has numbered it.
    pub correlation_id: CorrelationId,
}

/// A call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Call {
    to: ProcessId,
    purpose: Purpose,
}

/// All connections of one broker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wire {
    name: ClientId,
    last: CorrelationId,
    calls: OrdMap<CorrelationId, Call>,
    last_asked: CorrelationId,
    /// What others wait for, and by which number of theirs. A process that was started again counts
    /// from the beginning, and must not take the answer to an earlier one's request for its own.
    asked: OrdMap<CorrelationId, Caller>,
    to_itself: VecDeque<Message>,
}

/// How long a message to the own machine takes.
const LOOPBACK: Span = Span::micros(50);

impl Wire {
    /// Nothing is under way yet.
    pub fn new(broker: BrokerId) -> Wire {
        Wire {
            name: format!("broker-{broker}").into(),
            last: CorrelationId(0),
            calls: OrdMap::new(),
            last_asked: CorrelationId(0),
            asked: OrdMap::new(),
            to_itself: VecDeque::new(),
        }
    }

    /// Sends a request.
    pub fn call(
        &mut self,
        to: ProcessId,
        purpose: Purpose,
        request: impl Into<Request>,
        out: &mut Outbox<'_, Words>,
    ) {
        self.last = CorrelationId(self.last.0 + 1);
        self.calls.insert(self.last, Call { to, purpose });
        let message = RequestMessage {
            correlation_id: self.last,
            client_id: self.name.clone(),
            request: request.into(),
        };
        self.send(to, message.into(), out);
    }

    /// Takes a request in: whom to answer.
    pub fn take(&mut self, process: ProcessId, correlation_id: CorrelationId) -> Caller {
        self.last_asked = CorrelationId(self.last_asked.0.wrapping_add(1));
        self.asked.insert(self.last_asked, Caller { process, correlation_id });
        Caller { process, correlation_id: self.last_asked }
    }

    /// The caller waits for no answer.
    pub fn leave_unanswered(&mut self, caller: Caller) {
        self.asked.remove(&caller.correlation_id);
    }

    /// Answers a request, unless the connection that it came on is no more.
    // Source: kafka.network.SocketServer.Processor.sendResponse
    pub fn answer(
        &mut self,
        caller: Caller,
        response: impl Into<Response>,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some(asked) = self.asked.remove(&caller.correlation_id) else { return };
        let (correlation_id, response) = (asked.correlation_id, response.into());
        self.send(asked.process, ResponseMessage { correlation_id, response }.into(), out);
    }

    /// What the call was for that this response ends, if it is still awaited.
    pub fn answered(&mut self, from: ProcessId, id: CorrelationId) -> Option<Purpose> {
        let call = self.calls.get(&id).filter(|call| call.to == from)?;
        let purpose = call.purpose;
        self.calls.remove(&id);
        Some(purpose)
    }

    /// What the calls were for that this hangup ends.
    pub fn lost(&mut self, peer: ProcessId) -> Vec<Purpose> {
        self.asked.retain(|_, caller| caller.process != peer);
        let lost = self.calls.iter().filter(|(_, call)| call.to == peer);
        let lost: Vec<(CorrelationId, Purpose)> =
            lost.map(|(&id, call)| (id, call.purpose)).collect();
        self.calls.retain(|_, call| call.to != peer);
        lost.into_iter().map(|(_, purpose)| purpose).collect()
    }

    /// Whether a call of that purpose is under way.
    pub fn is_calling(&self, purpose: Purpose) -> bool {
        self.calls.iter().any(|(_, call)| call.purpose == purpose)
    }

    /// Forgets calls of a purpose, whose responses are of no use any more.
    pub fn forget(&mut self, purpose: Purpose) {
        self.calls.retain(|_, call| call.purpose != purpose);
    }

    /// The next of the messages to itself, when [`BrokerTimer::Loopback`] has run out.
    pub fn from_itself(&mut self) -> Option<Message> {
        self.to_itself.pop_front()
    }

    /// How many messages to itself there are.
    pub fn waiting_from_itself(&self) -> u32 {
        u32::try_from(self.to_itself.len()).expect("a broker says little to itself")
    }

    /// Has [`BrokerTimer::Loopback`] run out soon.
    pub fn arm_loopback(&self, out: &mut Outbox<'_, Words>) {
        out.arm(BrokerTimer::Loopback, LOOPBACK);
    }

    fn send(&mut self, to: ProcessId, message: Message, out: &mut Outbox<'_, Words>) {
        if to != out.me() {
            return out.send(to, message);
        }
        if self.to_itself.is_empty() {
            self.arm_loopback(out);
        }
        self.to_itself.push_back(message);
    }
}

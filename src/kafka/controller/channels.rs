//! The controller's connections to brokers: what waits to be sent, and what is on its way.
//!
//! Not here: what is ordered (`batch`).
//!
//! *Invariant: one request is on its way to each broker, in the order in which they were made; it
//! is sent again for ever, until the broker is no longer live.*
// Source: kafka.controller.ControllerChannelManager, RequestSendThread (3.9)

use std::collections::VecDeque;
use std::sync::Arc;

use crate::kafka::broker::Turn;
use crate::kafka::id::BrokerId;
use crate::kafka::message::{BrokerAddress, Request};
use crate::kafka::wire::Purpose;
use crate::kafka::words::BrokerTimer;
use crate::sim::{OrdMap, Span};

/// One broker's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    address: BrokerAddress,
    waiting: VecDeque<Request>,
    sent: Option<Request>,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Channels(OrdMap<BrokerId, Arc<Channel>>);

impl Channels {
    /// Opens a channel to a broker.
    pub fn add(&mut self, address: BrokerAddress) {
        let channel = Channel { address, waiting: VecDeque::new(), sent: None };
        self.0.entry(channel.address.id).or_insert_with(|| Arc::new(channel));
    }

    /// Closes the channel to a broker: what waited is lost.
    pub fn remove(&mut self, broker: BrokerId, turn: &mut Turn<'_, '_>) {
        if self.0.remove(&broker).is_some() {
            turn.wire.forget(Purpose::Order(broker));
            turn.out.disarm(BrokerTimer::SendAgain(broker));
        }
    }

    /// Closes all.
    pub fn close(&mut self, turn: &mut Turn<'_, '_>) {
        let brokers: Vec<BrokerId> = self.0.keys().copied().collect();
        brokers.into_iter().for_each(|broker| self.remove(broker, turn));
    }

    /// Sends a request when those before it are answered.
    pub fn send(&mut self, broker: BrokerId, request: Request, turn: &mut Turn<'_, '_>) {
        let Some(channel) = self.0.get_mut(&broker).map(Arc::make_mut) else { return };
        channel.waiting.push_back(request);
        channel.next(turn);
    }

    /// The request on its way is answered; gives it back.
    pub fn answered(&mut self, broker: BrokerId, turn: &mut Turn<'_, '_>) -> Option<Request> {
        let channel = Arc::make_mut(self.0.get_mut(&broker)?);
        let sent = channel.sent.take();
        channel.next(turn);
        sent
    }

    /// The connection has broken: what was on its way is to be sent again.
    pub fn lost(&mut self, broker: BrokerId, turn: &mut Turn<'_, '_>) {
        if self.0.contains_key(&broker) {
            // How long the controller waits before it sends a request again.
            let pause = turn.settings.release.controllers_send_again_after_ms();
            turn.out.arm(BrokerTimer::SendAgain(broker), Span::ms(pause));
        }
    }

    /// Sends again what was on its way.
    pub fn again(&mut self, broker: BrokerId, turn: &mut Turn<'_, '_>) {
        let Some(channel) = self.0.get(&broker) else { return };
        if let Some(request) = channel.sent.clone() {
            let purpose = Purpose::Order(broker);
            turn.wire.call(channel.address.process, purpose, request, turn.out);
        }
    }
}

impl Channel {
    fn next(&mut self, turn: &mut Turn<'_, '_>) {
        if self.sent.is_some() {
            return;
        }
        let Some(request) = self.waiting.pop_front() else { return };
        self.sent = Some(request.clone());
        let purpose = Purpose::Order(self.address.id);
        turn.wire.call(self.address.process, purpose, request, turn.out);
    }
}

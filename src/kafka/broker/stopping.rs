//! A broker that stops in order: it gives its leaderships away, then closes its session.
//!
//! *Invariant: a broker that could not give everything away stops all the same, after its tries.*
// Source: KafkaServer.shutdown, controlledShutdown (3.9)

use super::{Phase, Running, Site, turn};
use crate::kafka::control::{ControlledShutdownRequest, ControlledShutdownResponse};
use crate::kafka::id::BrokerId;
use crate::kafka::wire::Purpose;
use crate::kafka::words::{BrokerFact, BrokerTimer, Words};
use crate::kafka::znodes;
use crate::kafka::zookeeper::{Asker, Heard};
use crate::sim::{Outbox, Span};
use crate::zk::client::State;

/// How long a stopping broker waits for the controller's answer.
// Source: KafkaServer.controlledShutdown (controller.socket.timeout.ms)
const CONTROLLER_TIMEOUT: Span = Span::secs(30);

/// How far a stop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stop {
    /// How often the controller may still be asked.
    tries: u32,
    /// What the process ends with.
    code: u8,
    /// Its session is being closed: nothing else is taken up any more.
    is_closing: bool,
}

impl Stop {
    /// The start has failed.
    pub(super) fn failed() -> Stop {
        Stop { tries: 0, code: 1, is_closing: false }
    }
}

impl Running {
    pub(super) fn stop(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        if matches!(self.phase, Phase::Stopping(_)) {
            return;
        }
        out.tell(BrokerFact::ShutdownStarted { broker: site.settings.broker_id });
        let serving = self.phase == Phase::Serving;
        let tries = site.settings.controlled_shutdown_max_retries;
        self.phase = Phase::Stopping(Stop { tries, code: 0, is_closing: false });
        match serving && site.settings.controlled_shutdown_enable {
            true => self.find_controller(site, out),
            false => self.close(site, out),
        }
    }

    /// Asks the controller, as the last UpdateMetadata or ZooKeeper names it, to take the
    /// leaderships over.
    // Source: KafkaServer.controlledShutdown (3.9: metadataCache.getControllerId)
    pub(super) fn find_controller(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let Phase::Stopping(stop) = &mut self.phase else { return };
        if stop.tries == 0 {
            return self.close(site, out);
        }
        stop.tries -= 1;
        if site.settings.release.controllers_are_found_in_zookeeper() {
            let read = self.zk.get_data(znodes::controller());
            self.zk.ask(Asker::Stop, vec![read], out);
            return;
        }
        self.ask_controller(self.cache.controller(), site, out);
    }

    pub(super) fn ask_controller(
        &mut self,
        controller: BrokerId,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let controller = self.cache.broker(controller);
        let Some(process) = controller.map(|broker| broker.process) else {
            return self.try_again(site, out);
        };
        let request = ControlledShutdownRequest {
            broker_id: site.settings.broker_id,
            broker_epoch: self.controller.broker_epoch(),
        };
        self.wire.forget(Purpose::ControlledShutdown);
        self.wire.call(process, Purpose::ControlledShutdown, request, out);
        out.arm(BrokerTimer::ControlledShutdown, CONTROLLER_TIMEOUT);
    }

    pub(super) fn shutdown_answered(
        &mut self,
        response: &ControlledShutdownResponse,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        match &response.remaining_partitions {
            Ok(remaining) if remaining.is_empty() => self.close(site, out),
            _ => self.try_again(site, out),
        }
    }

    pub(super) fn try_again(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        match self.phase {
            Phase::Stopping(Stop { tries: 0, .. }) => self.close(site, out),
            _ => {
                let backoff = site.settings.controlled_shutdown_retry_backoff;
                out.arm(BrokerTimer::ControlledShutdown, backoff);
            }
        }
    }

    /// Whether only the end of the session is awaited.
    // Source: KafkaServer.shutdown: the socket server and the controller end before zkClient.close
    pub(super) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Stopping(Stop { is_closing: true, .. }))
    }

    fn close(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        if let Phase::Stopping(stop) = &mut self.phase {
            stop.is_closing = true;
        }
        self.replicas.checkpoint();
        self.controller.shut_down(turn!(self, site, out));
        if self.zk.client().state() == State::Connecting {
            return self.exit(site, out);
        }
        for heard in self.zk.close(out) {
            assert!(heard == Heard::Closed, "nothing else is awaited");
            self.exit(site, out);
        }
    }

    pub(super) fn exit(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let Phase::Stopping(stop) = self.phase else { return };
        if stop.code == 0 {
            out.tell(BrokerFact::ShutdownDone { broker: site.settings.broker_id });
        }
        out.exit(stop.code);
    }
}

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
    stage: Stage,
}

/// What a stopping broker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// ZooKeeper, which is to say who is controller (to 2.3).
    Looking,
    /// The controller.
    Asking,
    /// The end of a fetcher that holds up the rest; its sockets are closed.
    HeldUp,
    /// All that is closed before the replicas.
    ShuttingDown,
    /// The end of all fetchers.
    EndingFetchers,
    /// The end of its session: nothing else is taken up any more.
    Closing,
}

/// How long it takes to close what is closed before the replicas.
// Source: KafkaServer.shutdown (0.8.2): request handlers, scheduler, apis, then the replica manager
const SHUTTING_DOWN: Span = Span::ms(50);

impl Stop {
    /// The start has failed.
    pub(super) fn failed() -> Stop {
        Stop { tries: 0, code: 1, stage: Stage::Closing }
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
        self.phase = Phase::Stopping(Stop { tries, code: 0, stage: Stage::Asking });
        self.replicas.shut_down(site.settings.release);
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
            self.enter(Stage::Looking);
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
        self.enter(Stage::Asking);
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
        self.stage() == Some(Stage::Closing)
    }

    /// Whether nobody is answered any more.
    pub(super) fn has_closed_its_sockets(&self) -> bool {
        let open = [Stage::Looking, Stage::Asking];
        self.stage().is_some_and(|stage| !open.contains(&stage))
    }

    /// The session is no more: ZooKeeper will not say who is controller. Where one is asked after
    /// the other, the question waits for the next session; else it has failed, and the stop goes
    /// on.
    // Source: KafkaServer.shutdown: CoreUtils.swallow(controlledShutdown()), KafkaZkClient
    // .getControllerId: maybeThrow (1.1 to 2.3); ZkClient.retryUntilConnected (to 1.0)
    pub(super) fn stop_without_answer(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        if self.stage() == Some(Stage::Looking) && !self.zk.is_asking(Asker::Stop) {
            self.close(site, out);
        }
    }

    fn stage(&self) -> Option<Stage> {
        match self.phase {
            Phase::Stopping(stop) => Some(stop.stage),
            _ => None,
        }
    }

    fn enter(&mut self, stage: Stage) {
        if let Phase::Stopping(stop) = &mut self.phase {
            stop.stage = stage;
        }
    }

    /// The controller is to be asked again, or what is closed before the replicas is closed.
    pub(super) fn stop_is_due(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        match self.stage() {
            Some(Stage::Asking) => self.find_controller(site, out),
            Some(Stage::ShuttingDown) => {
                self.enter(Stage::EndingFetchers);
                self.replicas.end_all_fetchers(turn!(self, site, out));
                self.resume_orders(site, out);
            }
            _ => {}
        }
    }

    /// No fetcher is ending: a stop that has waited for that goes on.
    pub(super) fn fetchers_ended(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        match self.stage() {
            Some(Stage::HeldUp) => {
                self.enter(Stage::ShuttingDown);
                out.arm(BrokerTimer::ControlledShutdown, SHUTTING_DOWN);
            }
            Some(Stage::EndingFetchers) => self.close_all(site, out),
            _ => {}
        }
    }

    /// Closes the sockets; where a fetcher ends only with its last fetch, that is waited for.
    // Source: KafkaServer.shutdown, ShutdownableThread.shutdown (0.8.2)
    fn close(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        if !site.settings.release.idle_fetchers_hold_up_stops() {
            return self.close_all(site, out);
        }
        self.enter(Stage::HeldUp);
        out.disarm(BrokerTimer::ControlledShutdown);
        self.resume_orders(site, out);
    }

    fn close_all(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        self.enter(Stage::Closing);
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

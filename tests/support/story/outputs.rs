//! What has come of a step: who has spoken, what is complete, and the output in the recorded shape.
//! *Invariant: the recorded step gives the shape and how many words to wait for, never a word.*

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use zootrope::kafka::group::GroupFact;
use zootrope::kafka::words::{BrokerFact, Fact};
use zootrope::sim::{Power, ProcessId};
use zootrope::zk::reply::Error;

use super::acts::Awaited;
use super::cast::Actor;
use super::clients;
use super::step::Until;
use super::teller::{Teller, Told};

impl Teller<'_> {
    /// Takes the facts told since; true if something was said that people see.
    pub(super) fn read_trace(&mut self, awaited: &mut Awaited) -> Told<bool> {
        let mut facts: Vec<(Option<ProcessId>, Fact)> = Vec::new();
        for record in self.trace.since(self.read) {
            facts.extend(record.facts().map(|fact| (record.process, fact.clone())));
        }
        self.read = self.trace.len();
        let mut spoke = false;
        for (process, fact) in facts {
            spoke |= self.take_fact(process, fact, awaited)?;
        }
        Ok(spoke)
    }

    fn take_fact(
        &mut self,
        process: Option<ProcessId>,
        fact: Fact,
        awaited: &mut Awaited,
    ) -> Told<bool> {
        match fact {
            Fact::Consumer(fact) => {
                let name = process.and_then(|process| self.members.get(&process)).cloned();
                let word = name.zip(clients::word(&fact));
                let Some((name, word)) = word else { return Ok(false) };
                self.note_holdings(&name, &word);
                let said = self.said.entry(name).or_default();
                let is_new = said.last() != Some(&word);
                said.push(word);
                Ok(is_new)
            }
            Fact::OldConsumer(fact) => {
                let name = process.and_then(|process| self.members.get(&process)).cloned();
                let word = name.zip(clients::old_word(&fact));
                let Some((name, word)) = word else { return Ok(false) };
                self.said.entry(name).or_default().push(word);
                Ok(true)
            }
            Fact::Producer(fact) if awaited.acting.is_some() => {
                let Some(mut acting) = awaited.acting.take() else { return Ok(false) };
                let did = acting.did.as_deref().filter(|_| process == Some(acting.process));
                let word = did.and_then(|did| clients::done(did, &fact));
                let spoke = word.is_some();
                if let Some((word, name)) = word.zip(self.members.get(&acting.process).cloned()) {
                    self.said.entry(name).or_default().push(word);
                    self.act_next(&mut acting);
                }
                awaited.acting = Some(acting);
                Ok(spoke)
            }
            Fact::Producer(fact) => {
                let Some(mut sending) = awaited.sending.take() else { return Ok(false) };
                let outcome = clients::outcome(&fact).filter(|_| process == Some(sending.process));
                let spoke = outcome.is_some();
                if let Some(outcome) = outcome {
                    sending.outcomes.push(outcome);
                    self.send_next(&mut sending)?;
                }
                awaited.sending = Some(sending);
                Ok(spoke)
            }
            Fact::Broker(BrokerFact::BrokerFatal { error, .. }) => {
                self.fatal = Some(error.to_string());
                Ok(false)
            }
            Fact::Broker(BrokerFact::BrokerRunning { .. }) => {
                awaited.is_up |= process.is_some() && process == awaited.starting;
                Ok(false)
            }
            Fact::Group(fact) => {
                self.take_group_fact(fact);
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// What a member holds, by its own words.
    fn note_holdings(&mut self, name: &str, word: &Value) {
        let names = |of: &Value| -> BTreeSet<String> {
            let names = of.as_array().into_iter().flatten();
            names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
        };
        let holds = self.holdings.entry(name.to_owned()).or_default();
        if word.get("now").is_some() {
            *holds = names(&word["now"]);
        }
        for gone in [&word["revoked"], &word["lost"]] {
            holds.retain(|partition| !names(gone).contains(partition));
        }
    }

    fn take_group_fact(&mut self, fact: GroupFact) {
        let group = match &fact {
            GroupFact::PreparingRebalance { group, .. }
            | GroupFact::CompletingRebalance { group, .. }
            | GroupFact::Stable { group, .. }
            | GroupFact::Dead { group }
            | GroupFact::Empty { group, .. } => group.to_string(),
            _ => return,
        };
        self.has_new_generation |=
            matches!(fact, GroupFact::Stable { .. } | GroupFact::Empty { .. });
        if matches!(fact, GroupFact::CompletingRebalance { .. }) {
            self.hold_late_members();
        }
        self.groups.insert(group, fact);
    }

    /// Whether all that is awaited has come.
    pub(super) fn is_complete(&self, awaited: &Awaited, recorded: &Value) -> bool {
        let is_off = |process: ProcessId| self.sim.power(process) == Power::Off;
        let exited = [awaited.tool, awaited.hand, awaited.stopping];
        let exited = exited.into_iter().flatten().all(is_off);
        let started = awaited.starting.is_none_or(|process| awaited.is_up || is_off(process));
        let sent = awaited.sending.as_ref().is_none_or(|sending| is_off(sending.process));
        let met = awaited.until.as_ref().is_none_or(|until| self.is_met(until));
        let acted = awaited.acting.as_ref().is_none_or(|acting| acting.did.is_none());
        exited && started && sent && acted && met && self.have_spoken(recorded)
    }

    /// Whether each member has said as many words as it is to say.
    fn have_spoken(&self, recorded: &Value) -> bool {
        let output = &recorded["output"];
        let Some(members) = output.get("members").unwrap_or(output).as_object() else {
            return true;
        };
        members.iter().all(|(name, words)| {
            let said = self.said.get(name).map_or(0, |words| clients::told(words).len());
            words.as_array().is_none_or(|words| said >= words.len())
        })
    }

    fn is_met(&self, until: &Until) -> bool {
        match until {
            Until::IsrHasShrunk => self.partitions().any(|(replicas, isr)| isr < replicas),
            Until::EveryReplicaInSync => self.partitions().all(|(replicas, isr)| isr == replicas),
            Until::BrokerLeads(broker) => self.leads(*broker),
            Until::SessionIsOver(who) => {
                let sessions =
                    self.zookeeper_server().database().map(|database| &database.sessions);
                let name = match who {
                    super::step::Who::Broker(broker) => format!("broker {broker}"),
                    super::step::Who::Client(name) => name.clone(),
                };
                let owner = |session| self.ledger.owner(session);
                match self.stage(who) {
                    // A member's session has ended when its group has gone on without it.
                    Ok(stage) if stage.proxy.is_none() => self.has_new_generation,
                    _ => sessions.is_some_and(|sessions| {
                        !sessions.keys().any(|session| owner(*session) == Some(&name))
                    }),
                }
            }
            Until::GroupIsEmpty => {
                let state = self.group.as_ref().and_then(|group| self.groups.get(group));
                matches!(state, Some(GroupFact::Empty { .. } | GroupFact::Dead { .. }))
            }
            Until::GroupHasNewGeneration => self.has_new_generation,
            Until::Holds(name, partition) => {
                let only = BTreeSet::from([partition.clone()]);
                self.holdings.get(name).is_some_and(|holds| *holds == only)
            }
            Until::HasThemToo(_) | Until::AllHave(_) => true,
        }
    }

    fn zookeeper_server(&self) -> &zootrope::zk::server::Server {
        match self.sim.process(self.zookeeper) {
            Actor::ZooKeeper(server) => server,
            _ => unreachable!("ZooKeeper plays itself"),
        }
    }

    /// How many replicas each partition has, and how many are in sync.
    fn partitions(&self) -> impl Iterator<Item = (usize, usize)> {
        let states = self.states();
        states.into_iter().map(|(replicas, state)| {
            let isr = state["isr"].as_array().map_or(0, Vec::len);
            (replicas, isr)
        })
    }

    fn leads(&self, broker: i32) -> bool {
        self.states().iter().any(|(_, state)| state["leader"] == broker)
    }

    /// The `state` of every partition, with the number of its replicas.
    fn states(&self) -> Vec<(usize, Value)> {
        let mut found = Vec::new();
        let payload = |path: &str| -> Option<Value> {
            let database = self.zookeeper_server().database()?;
            let znode = database.tree.znode(path)?;
            serde_json::from_slice(znode.data.as_slice()).ok()
        };
        for topic in &self.topics {
            let Some(topic_state) = payload(&format!("/brokers/topics/{topic}")) else { continue };
            for (number, replicas) in topic_state["partitions"].as_object().into_iter().flatten() {
                let path = format!("/brokers/topics/{topic}/partitions/{number}/state");
                let replicas = replicas.as_array().map_or(0, Vec::len);
                found.extend(payload(&path).map(|state| (replicas, state)));
            }
        }
        found
    }

    /// The output in the shape of the recorded one.
    pub(super) fn output(&self, awaited: &Awaited, recorded: &Value) -> Option<Value> {
        let gave = self.gave(awaited);
        let shape = recorded.get("output")?;
        if awaited.is_up && shape == "started" {
            return Some(json!("started"));
        }
        if let Some(said) = self.fatal.as_ref().filter(|_| shape.get("alive").is_some()) {
            let head = "ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)";
            let class = "org.apache.kafka.common.config.ConfigException";
            return Some(json!({"alive": false, "said": [head, format!("{class}: {said}")]}));
        }
        if let Some(Value::String(text)) = gave.as_ref().filter(|_| shape.get("log").is_some()) {
            let mut lines: Vec<&str> = text.lines().collect();
            return Some(json!({"said": lines.pop(), "log": lines}));
        }
        if shape.get("members").is_some() {
            let mut output = json!({"members": self.words()});
            if let Some(gave) = gave {
                output["gave"] = gave;
            }
            return Some(output);
        }
        if shape.is_object() {
            return Some(self.words());
        }
        match (gave, shape) {
            (Some(Value::String(text)), Value::Array(_)) => Some(text.lines().collect()),
            (gave, _) => gave,
        }
    }

    fn words(&self) -> Value {
        let told =
            self.said.iter().map(|(name, words)| (name.clone(), json!(clients::told(words))));
        Value::Object(told.collect::<Map<_, _>>())
    }

    /// What the tool, the hand or the producer of this step gave.
    fn gave(&self, awaited: &Awaited) -> Option<Value> {
        if let Some(tool) = awaited.tool
            && let Actor::Tool(tool) = self.sim.process(tool)
        {
            return tool.printed().map(|text| json!(self.mask.text(text)));
        }
        if let Some(hand) = awaited.hand
            && let Actor::Hand(hand) = self.sim.process(hand)
        {
            return hand.said().map(|said| match said {
                Ok(()) => json!("ok"),
                // Whoever recorded had no name for this one.
                Err(Error::NotEmpty) => json!(Error::NotEmpty.code().to_string()),
                Err(error) => json!(error.name()),
            });
        }
        if let Some(sending) = &awaited.sending {
            return Some(json!(sending.outcomes));
        }
        if let Some(dump) = &awaited.dump {
            return Some(json!(self.mask.text(dump)));
        }
        let starting = awaited.starting?;
        let has_exited = self.sim.power(starting) == Power::Off;
        has_exited.then(|| json!("exited with code 1"))
    }
}

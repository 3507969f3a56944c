//! How recorded draws fell, so that ours fall the same way.
//! *Invariant: a draw is given its outcome and no more; what follows from it is ours.*

use std::collections::BTreeMap;

use serde_json::Value;
use zootrope::kafka::id::BrokerId;
use zootrope::kafka::placement::{Candidate, Deal, in_cache_order, place};

use super::step::{Key, Step};

/// The outcome of a draw of one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub broker: i32,
    pub name: &'static str,
    pub value: u64,
}

/// The draws that a step's action will make.
pub fn of_step(step: &Step, recorded: &Value, alive: &[Candidate]) -> Vec<Outcome> {
    match step {
        Step::Tool { args, .. } if args.iter().any(is_given) => Vec::new(),
        _ => placements(recorded, alive),
    }
}

fn is_given(arg: &String) -> bool {
    arg == "--replica-assignment" || arg == "--reassignment-json"
}

/// The broker that members asked for a topic that was not there, and so made it.
pub fn asked_by_members(step: &Step, recorded: &Value) -> Option<i32> {
    if matches!(step, Step::Tool { args, .. } if args.iter().any(|arg| arg == "--create")) {
        return None;
    }
    committed(recorded).find_map(created_topic).map(|(broker, _)| broker)
}

/// Where a tool that writes topics to ZooKeeper itself began to place replicas.
fn placed_by_tool(recorded: &Value, alive: &[Candidate]) -> Vec<(&'static str, u64)> {
    let made = committed(recorded).filter(|txn| broker_of(txn).is_none());
    let Some(placed) = made.filter_map(made_topic).next() else { return Vec::new() };
    let drawn = start_and_shift(&placed, alive);
    drawn.map_or(Vec::new(), |(start, shift)| {
        vec![("placement-start", start), ("placement-shift", shift)]
    })
}

/// Further draws of a step's client: where keyless records went, and in which order brokers were
/// told to clear their throttles.
pub fn of_client(step: &Step, recorded: &Value, alive: &[Candidate]) -> Vec<(&'static str, u64)> {
    match step {
        Step::Tool { name, args } if name == "kafka-topics" && !args.iter().any(is_given) => {
            placed_by_tool(recorded, alive)
        }
        Step::Send(send) if send.key == Key::Null && send.partition.is_none() => {
            let output = recorded.get("output");
            let gave = output.map(|output| output.get("gave").unwrap_or(output));
            let partition = gave.and_then(|gave| gave[0]["partition"].as_u64());
            partition.map(|partition| ("sticky-partition", partition)).into_iter().collect()
        }
        Step::Tool { name, .. } if name == "kafka-reassign-partitions" => order_of_calls(recorded),
        _ => Vec::new(),
    }
}

/// Members that were too late for a generation, as another followed at once: how many each missed
/// of those that some other member had.
pub fn late_members(recorded: &Value) -> BTreeMap<String, usize> {
    let output = &recorded["output"];
    let members = output["members"].as_object().into_iter().flatten();
    let assigned = |words: &Value| {
        let words = words.as_array().into_iter().flatten();
        words.filter(|word| word.get("assigned").is_some()).count()
    };
    let counts: Vec<(&String, usize)> =
        members.map(|(name, words)| (name, assigned(words))).collect();
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let late = counts.into_iter().filter(|(_, count)| *count > 0 && *count < most);
    late.map(|(name, count)| (name.clone(), most - count)).collect()
}

/// The brokers that noted a change of their settings, as places among those that had not yet.
fn order_of_calls(recorded: &Value) -> Vec<(&'static str, u64)> {
    let noted = |txn: &Value| -> Option<i32> {
        let data: Value = serde_json::from_str(txn["data"].as_str()?).ok()?;
        data["entity_path"].as_str()?.strip_prefix("brokers/")?.parse().ok()
    };
    let order: Vec<i32> = committed(recorded).filter_map(noted).collect();
    let mut left = order.clone();
    left.sort_unstable();
    let mut places = Vec::new();
    for broker in order {
        let place = left.iter().position(|id| *id == broker).expect("it is among them");
        left.remove(place);
        places.push(("order-of-calls", place as u64));
    }
    places
}

/// The broker that a step's client asked, where what it did tells: it made a topic, changed a
/// config, or read one to tell it.
pub fn asked(step: &Step, recorded: &Value) -> Option<i32> {
    let tool = match step {
        Step::Tool { name, .. } => name.as_str(),
        _ => "",
    };
    let is_about = |path: &str| match tool {
        "kafka-topics" | "kafka-configs" | "kafka-reassign-partitions" => {
            path.starts_with("/config/topics/") || path == "/config/brokers/<default>"
        }
        _ => path.strip_prefix("/brokers/topics/").is_some_and(|name| !name.contains('/')),
    };
    if matches!(step, Step::Tool { args, .. } if args.iter().any(|arg| arg == "--create")) {
        return None;
    }
    let written = committed(recorded).filter(|txn| {
        let ops = txn["ops"].as_array().map_or(std::slice::from_ref(*txn), Vec::as_slice);
        ops.iter().any(|op| op["path"].as_str().is_some_and(is_about) && op["op"] != "delete")
    });
    let written = written.filter_map(broker_of).next();
    written.or_else(|| {
        let rows = recorded["talk"].as_array()?.iter();
        let mut read = rows.filter(|row| {
            row[1] == "getData" && row[2].as_str().is_some_and(is_about) && !tool.is_empty()
        });
        number(read.next()?[0].as_str()?)
    })
}

/// Start and shift of each placement, found by trying all.
fn placements(recorded: &Value, alive: &[Candidate]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for txn in committed(recorded) {
        let Some((broker, recorded)) = created_topic(txn) else { continue };
        let ids: Vec<BrokerId> = alive.iter().map(|broker| broker.id).collect();
        let place_of = |id: &BrokerId| alive.iter().find(|broker| broker.id == *id).cloned();
        let brokers: Vec<Candidate> = in_cache_order(&ids).iter().filter_map(place_of).collect();
        if let Some((start, shift)) = start_and_shift(&recorded, &brokers) {
            outcomes.push(Outcome { broker, name: "placement-start", value: start });
            outcomes.push(Outcome { broker, name: "placement-shift", value: shift });
        }
    }
    outcomes
}

/// Which broker made a topic, and where its replicas are.
fn created_topic(txn: &Value) -> Option<(i32, Vec<Vec<i32>>)> {
    Some((broker_of(txn)?, made_topic(txn)?))
}

/// Where the replicas of a new topic are.
fn made_topic(txn: &Value) -> Option<Vec<Vec<i32>>> {
    let path = txn["path"].as_str()?;
    let name = path.strip_prefix("/brokers/topics/")?;
    if txn["op"] != "create" || name.contains('/') {
        return None;
    }
    let payload: Value = serde_json::from_str(txn["data"].as_str()?).ok()?;
    let partitions = payload["partitions"].as_object()?;
    let of = |number: usize| -> Option<Vec<i32>> {
        let replicas = partitions.get(&number.to_string())?.as_array()?;
        replicas.iter().map(|id| i32::try_from(id.as_i64()?).ok()).collect()
    };
    (0..partitions.len()).map(of).collect()
}

fn start_and_shift(recorded: &[Vec<i32>], brokers: &[Candidate]) -> Option<(u64, u64)> {
    let n = u32::try_from(brokers.len()).ok()?;
    for start in 0..n {
        for shift in 0..n {
            let deal = Deal {
                partitions: i32::try_from(recorded.len()).ok()?,
                replication_factor: i32::try_from(recorded.first()?.len()).ok()?,
                start,
                shift,
                first_partition: 0,
            };
            let Ok(placed) = place(brokers, deal) else { continue };
            let same = placed.values().zip(recorded).all(|(placed, recorded)| {
                placed.iter().map(|id| id.0).eq(recorded.iter().copied())
            });
            if same {
                return Some((u64::from(start), u64::from(shift)));
            }
        }
    }
    None
}

/// Whether `/controller` goes with this transaction.
pub fn frees_controller(txn: &Value) -> bool {
    let removes = txn["removes"].as_array().into_iter().flatten();
    let removed = removes.into_iter().any(|path| path == "/controller");
    removed || (txn["op"] == "delete" && txn["path"] == "/controller")
}

/// Who wins the next race for `/controller`, and who is refused in it.
pub fn winner(steps: &[Value]) -> Option<(i32, Vec<i32>)> {
    let claims = |op: &Value| op["op"] == "create" && op["path"] == "/controller";
    let mut refused = Vec::new();
    let mut winner = None;
    for step in steps {
        for txn in step["txns"].as_array()? {
            let ops = txn["ops"].as_array().map_or(std::slice::from_ref(txn), Vec::as_slice);
            if ops.iter().any(|op| claims(&op["refused"])) {
                refused.extend(broker_of(txn));
            } else if ops.iter().any(claims) && winner.is_none() {
                winner = broker_of(txn);
            }
        }
        if let Some(winner) = winner {
            return Some((winner, refused));
        }
    }
    None
}

fn committed(recorded: &Value) -> impl Iterator<Item = &Value> {
    recorded["txns"].as_array().into_iter().flatten()
}

fn broker_of(txn: &Value) -> Option<i32> {
    number(txn["by"].as_str()?)
}

fn number(who: &str) -> Option<i32> {
    who.strip_prefix("broker ")?.parse().ok()
}

//! Judges a story told by our cluster against the recorded one: writes by actor and partition,
//! watches, the tree after each step, and what people see.
//! Not here: how ours is told (`story`). The rules are those of the recordings' own judge, in the
//! same order, so that both give the same verdict.
//! *Invariant: an empty list of differences means that the story passes.*

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Which broker a producer asks first, and so who takes a block of ids, is a matter of chance.
const CHANCE: &str = "/latest_producer_id_block";

type Found<T> = Result<T, String>;

/// What differs, as sentences; ours in a form that is no story is one difference.
pub fn judge(recorded: &Value, ours: &Value) -> Vec<String> {
    compare(recorded, ours)
        .unwrap_or_else(|what| vec![format!("not in the form of a story: {what}")])
}

fn compare(recorded: &Value, ours: &Value) -> Found<Vec<String>> {
    let (recorded, ours) = (list(recorded, "steps")?, list(ours, "steps")?);
    let names = |steps: &[Value]| -> Found<Vec<String>> {
        steps.iter().map(|step| Ok(text(step, "do")?.trim().to_owned())).collect()
    };
    if names(recorded)? != names(ours)? {
        return Ok(vec!["the steps are not the recorded ones".into()]);
    }
    let mut court = Court::default();
    for (number, (r, o)) in recorded.iter().zip(ours).enumerate() {
        court.place = format!("step {} ({})", number + 1, text(r, "do")?);
        court.step(r, o)?;
    }
    Ok(court.bad)
}

/// What the judge carries from step to step.
#[derive(Clone, Default)]
pub struct Court {
    place: String,
    bad: Vec<String>,
    theirs: Tree,
    ours: Tree,
    /// Paths that an unrepeatable step has touched.
    shaky: BTreeSet<String>,
}

impl Court {
    fn say(&mut self, what: String) {
        self.bad.push(format!("{}: {what}", self.place));
    }

    /// Whether the transactions of our step so far are all that the recorded one has; where these
    /// are not repeatable, whether the tree is the recorded one.
    pub fn has_come(&self, r: &Value, ours: &[Value]) -> bool {
        let mut probe = Court { bad: Vec::new(), ..self.clone() };
        probe.transactions(r, ours).is_ok() && probe.bad.is_empty()
    }

    fn transactions(&mut self, r: &Value, ours: &[Value]) -> Found<()> {
        let theirs = list(r, "txns")?;
        if r["same"]["txns_by_actor"] == true {
            self.writes(theirs, ours)?;
            return self.refusals(theirs, ours);
        }
        theirs.iter().try_for_each(|txn| self.theirs.apply(txn))?;
        ours.iter().try_for_each(|txn| self.ours.apply(txn))?;
        self.shake(theirs)?;
        self.trees();
        Ok(())
    }

    /// Takes a step for judged.
    pub fn step(&mut self, r: &Value, o: &Value) -> Found<()> {
        let same = |what: &str| r["same"][what].as_bool().unwrap_or(false);
        let (theirs, ours) = (list(r, "txns")?, list(o, "txns")?);
        theirs.iter().try_for_each(|txn| self.theirs.apply(txn))?;
        ours.iter().try_for_each(|txn| self.ours.apply(txn))?;
        if same("txns_by_actor") {
            self.writes(theirs, ours)?;
            self.refusals(theirs, ours)?;
        } else {
            self.shake(theirs)?;
        }
        if same("talk_by_actor") && same("txns_by_actor") {
            self.watches(list(r, "talk")?, list(o, "talk")?)?;
        }
        self.trees();
        if same("output") {
            self.output(r.get("output"), o.get("output"));
        }
        Ok(())
    }

    /// What an unrepeatable step has touched is judged loosely from then on.
    fn shake(&mut self, theirs: &[Value]) -> Found<()> {
        for txn in theirs {
            let paths = ops_of(txn)?.iter().filter_map(|op| op.get("path")?.as_str());
            self.shaky.extend(paths.map(str::to_owned));
        }
        Ok(())
    }

    /// Rule 1: the same transactions in the same order, by actor and partition.
    fn writes(&mut self, theirs: &[Value], ours: &[Value]) -> Found<()> {
        let (theirs, ours) = (written(theirs)?, written(ours)?);
        let none = Vec::new();
        for who in keys(&theirs, &ours) {
            let mut x = theirs.get(&who).unwrap_or(&none).clone();
            let mut y = ours.get(&who).unwrap_or(&none).clone();
            let touches = |op: &Value| op["path"].as_str().is_some_and(|p| self.shaky.contains(p));
            if x.iter().flatten().any(touches) {
                x = x.iter().map(|ops| ops.iter().map(loose).collect()).collect();
                y = y.iter().map(|ops| ops.iter().map(loose).collect()).collect();
            }
            if x != y {
                let at = x.iter().zip(&y).take_while(|(p, q)| p == q).count();
                let shown = |ops: Option<&Vec<Value>>| {
                    ops.map_or("nothing more".into(), |ops| json!(ops).to_string())
                };
                let (w, r) = (shown(y.get(at)), shown(x.get(at)));
                self.say(format!("{} wrote {w}, recorded {r}", who.0));
            }
        }
        Ok(())
    }

    /// Rule 1: the refused writes, as multisets by actor.
    fn refusals(&mut self, theirs: &[Value], ours: &[Value]) -> Found<()> {
        let (theirs, ours) = (refusals(theirs)?, refusals(ours)?);
        let none = Vec::new();
        for who in keys(&theirs, &ours) {
            let mut x = theirs.get(&who).unwrap_or(&none).clone();
            let mut y = ours.get(&who).unwrap_or(&none).clone();
            x.retain(|one| match y.iter().position(|other| one == other) {
                Some(place) => {
                    y.remove(place);
                    false
                }
                None => true,
            });
            if !x.is_empty() || !y.is_empty() {
                self.say(format!("{who} refused: ours alone {y:?}, recorded alone {x:?}"));
            }
        }
        Ok(())
    }

    /// Rule 2: watches left and events received, as sets by actor.
    fn watches(&mut self, theirs: &[Value], ours: &[Value]) -> Found<()> {
        let (theirs, ours) = (heard(theirs)?, heard(ours)?);
        let none = BTreeSet::new();
        for who in keys(&theirs, &ours) {
            let (x, y) = (theirs.get(&who).unwrap_or(&none), ours.get(&who).unwrap_or(&none));
            if x != y {
                let (more, less): (Vec<_>, Vec<_>) =
                    (y.difference(x).collect(), x.difference(y).collect());
                self.say(format!("{who}: ours alone {more:?}, recorded alone {less:?}"));
            }
        }
        Ok(())
    }

    /// Rule 3: the tree after the step. A difference is said once, not at each later step.
    fn trees(&mut self) {
        for path in keys(&self.theirs.znodes, &self.ours.znodes) {
            let (x, y) = (self.theirs.znodes.get(&path), self.ours.znodes.get(&path));
            let both = x.is_some() && y.is_some();
            let shaky = self.shaky.contains(&path);
            if both && (path == CHANCE || (shaky && path.contains("/offsets/"))) {
                continue;
            }
            let differ = match (x, y) {
                (Some(x), Some(y)) if shaky => x.loose() != y.loose(),
                (x, y) => x != y,
            };
            if differ {
                let shown = |znode: Option<&Znode>| znode.map_or("nothing".into(), Znode::shown);
                let what = format!("{path} is {}, recorded {}", shown(y), shown(x));
                match x.cloned() {
                    Some(znode) => self.ours.znodes.insert(path, znode),
                    None => self.ours.znodes.remove(&path),
                };
                self.say(what);
            }
        }
    }

    /// Rule 4: what people see; tools' text line by line, all else as values.
    fn output(&mut self, theirs: Option<&Value>, ours: Option<&Value>) {
        let null = Value::Null;
        let (x, y) = (theirs.unwrap_or(&null), ours.unwrap_or(&null));
        if let (Value::String(x), Value::String(y)) = (x, y) {
            let lines = |text: &str| -> Vec<Option<String>> {
                let lines = split_lines(text).into_iter().map(|line| Some(mask_topic_ids(line)));
                lines.chain(std::iter::repeat_n(None, 99)).collect()
            };
            let (x, y) = (lines(x), lines(y));
            if let Some(at) = x.iter().zip(&y).position(|(p, q)| p != q) {
                let (p, q) = (&x[at], &y[at]);
                self.say(format!("output line {} is {q:?}, recorded {p:?}", at + 1));
            }
        } else if x != y {
            let short = |value: &Value| value.to_string().chars().take(300).collect::<String>();
            self.say(format!("output is {}, recorded {}", short(y), short(x)));
        }
    }
}

/// What the committed transactions amount to.
#[derive(Clone, Default)]
struct Tree {
    znodes: BTreeMap<String, Znode>,
}

#[derive(Clone, PartialEq)]
struct Znode {
    data: Value,
    version: Value,
    owner: Value,
}

impl Znode {
    /// ISR lists as sets, versions not at all.
    fn loose(&self) -> (Value, Value) {
        (loose(&self.data), self.owner.clone())
    }

    fn shown(&self) -> String {
        json!({"data": self.data, "owner": self.owner, "version": self.version}).to_string()
    }
}

impl Tree {
    fn apply(&mut self, txn: &Value) -> Found<()> {
        if is_refused(txn)? {
            return Ok(());
        }
        if text(txn, "op")? == "closeSession" {
            for path in txn["removes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                self.znodes.remove(path);
            }
        }
        for op in ops_of(txn)? {
            self.apply_op(op, txn)?;
        }
        Ok(())
    }

    fn apply_op(&mut self, op: &Value, txn: &Value) -> Found<()> {
        match text(op, "op")? {
            "create" | "create2" => {
                let owner =
                    if is_true(&op["ephemeral"]) { field(txn, "by")? } else { &Value::Null };
                let (data, version) = (value(&op["data"]), json!(0));
                let znode = Znode { data, version, owner: owner.clone() };
                self.znodes.insert(text(op, "path")?.to_owned(), znode);
            }
            "setData" => {
                if let Some(znode) = self.znodes.get_mut(text(op, "path")?) {
                    znode.data = value(&op["data"]);
                    znode.version = field(op, "version")?.clone();
                }
            }
            "delete" => {
                self.znodes.remove(text(op, "path")?);
            }
            _ => {}
        }
        Ok(())
    }
}

type Who = (String, Option<String>);

/// By actor and partition: what was committed, in order.
fn written(txns: &[Value]) -> Found<BTreeMap<Who, Vec<Vec<Value>>>> {
    let mut out: BTreeMap<Who, Vec<Vec<Value>>> = BTreeMap::new();
    for txn in txns {
        if is_refused(txn)? || txn["path"] == CHANCE {
            continue;
        }
        let ops = ops_of(txn)?;
        let who = (name(field(txn, "by")?), subject(ops)?);
        out.entry(who).or_default().push(ops.iter().map(plain).collect());
    }
    Ok(out)
}

/// By actor: what was refused, partition numbers left out (who comes first is a hash table's
/// choice).
fn refusals(txns: &[Value]) -> Found<BTreeMap<String, Vec<String>>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for txn in txns {
        if !is_refused(txn)? {
            continue;
        }
        for op in ops_of(txn)?.iter().filter(|op| op["op"] == "error") {
            let request = [&op["refused"], &txn["refused"]].into_iter().find(|r| is_true(r));
            let word = |key: &str| request.and_then(|r| r.get(key)?.as_str()).unwrap_or("?");
            let path = without_partition_numbers(word("path"));
            let err = [&op["err"], &txn["err"]].into_iter().find(|err| is_true(err));
            let err = err.map_or("None".into(), name);
            let line = format!("{} {path} {err}", word("op"));
            out.entry(name(field(txn, "by")?)).or_default().push(line);
        }
    }
    out.values_mut().for_each(|lines| lines.sort());
    Ok(out)
}

/// By actor: watches left and events received.
fn heard(talk: &[Value]) -> Found<BTreeMap<String, BTreeSet<String>>> {
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in talk {
        let row = row.as_array().filter(|row| row.len() > 2).ok_or("a row of talk is short")?;
        let (op, path) = (name(&row[1]), name(&row[2]));
        let line = if op == "event" {
            format!("event {} {path}", name(row.get(3).ok_or("an event has no type")?))
        } else if row.get(4).is_some_and(|mark| mark == "watch") {
            let kind = if op.starts_with("getChildren") { "children" } else { "data" };
            format!("watch {kind} {path}")
        } else {
            continue;
        };
        out.entry(name(&row[0])).or_default().insert(line);
    }
    Ok(out)
}

/// The one partition a write is about, or none.
fn subject(ops: &[Value]) -> Found<Option<String>> {
    for op in ops {
        if text(op, "op")? != "check" {
            return Ok(subject_of(op["path"].as_str().unwrap_or("")));
        }
    }
    Ok(None)
}

/// `/brokers/topics/T/partitions/N[/state]`, `/consumers/G/owners/T/N`, `/consumers/G/offsets/T/N`.
fn subject_of(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.strip_suffix("/state").unwrap_or(path).split('/').collect();
    let is_partition = match parts[..] {
        ["", "brokers", "topics", t, "partitions", _] => !t.is_empty(),
        ["", "consumers", g, "owners" | "offsets", t, _] => !g.is_empty() && !t.is_empty(),
        _ => false,
    };
    let number = parts.last()?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_partition && is_number).then(|| parts.join("/"))
}

/// `/partitions/3` becomes `/partitions/N`; the same of what lies under `owners` and `offsets`.
fn without_partition_numbers(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    for at in 1..parts.len() {
        let numbers = parts[at].bytes().take_while(u8::is_ascii_digit).count();
        let under = at >= 2 && parts[at - 1] == "partitions";
        let below = at >= 3 && matches!(parts[at - 2], "owners" | "offsets");
        if numbers > 0 && (under || below) && numbers == parts[at].len() {
            parts[at] = "N";
        }
    }
    parts.join("/")
}

/// One transaction as it is compared with others of its actor: who, and what.
pub fn compared(txn: &Value) -> Found<String> {
    let who = name(field(txn, "by")?);
    if is_refused(txn)? {
        let lines = refusals(std::slice::from_ref(txn))?;
        return Ok(format!("{who} refused {lines:?}"));
    }
    let ops: Vec<Value> = ops_of(txn)?.iter().map(plain).collect();
    Ok(format!("{who} {}", json!(ops)))
}

/// One operation as it is compared.
fn plain(op: &Value) -> Value {
    let mut out = Map::new();
    for (key, of) in op.as_object().into_iter().flatten() {
        let of = match key.as_str() {
            "zxid" | "by" | "refused" => continue,
            "op" if of == "create2" => json!("create"),
            "data" => value(of),
            "removes" => sorted(of),
            _ => of.clone(),
        };
        out.insert(key.clone(), of);
    }
    Value::Object(out)
}

/// A payload as a value: JSON without regard to field order, masked where it must differ from run
/// to run.
pub fn value(data: &Value) -> Value {
    let Value::String(written) = data else { return data.clone() };
    match serde_json::from_str(written) {
        Ok(Value::Object(mut fields)) => {
            for (key, mask) in [("timestamp", "<ms>"), ("topic_id", "<id>"), ("id", "<id>")] {
                if let Some(of) = fields.get_mut(key) {
                    *of = json!(mask);
                }
            }
            Value::Object(fields)
        }
        Ok(other) => other,
        Err(_) => json!(mask_times(written)),
    }
}

/// ISR lists as sets, versions not at all.
fn loose(of: &Value) -> Value {
    let Value::Object(fields) = of else { return of.clone() };
    let kept = fields.iter().filter(|(key, _)| !matches!(key.as_str(), "version" | "expected"));
    let loosened = kept.map(|(key, of)| {
        let of = if key == "isr" { sorted(of) } else { loose(of) };
        (key.clone(), of)
    });
    Value::Object(loosened.collect())
}

fn sorted(of: &Value) -> Value {
    let Value::Array(items) = of else { return of.clone() };
    let mut items = items.clone();
    items.sort_by(|a, b| match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => name(a).cmp(&name(b)),
    });
    Value::Array(items)
}

/// Wall-clock times of 13 digits become `<ms>`.
fn mask_times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
        let word = &rest[start..];
        let end = word.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(word.len());
        out.push_str(&rest[..start]);
        out.push_str(if is_wall_clock(&word[..end]) { "<ms>" } else { &word[..end] });
        rest = &word[end..];
    }
    out + rest
}

fn is_wall_clock(word: &str) -> bool {
    let bytes = word.as_bytes();
    let digits = bytes.len() == 13 && bytes.iter().all(u8::is_ascii_digit);
    digits && bytes[0] == b'1' && bytes[1] >= b'5'
}

/// What follows `TopicId: `, and every `<topic-id-N>`, becomes `<id>`.
fn mask_topic_ids(line: &str) -> String {
    const LABEL: &str = "TopicId: ";
    let mut out = String::new();
    let mut rest = line;
    loop {
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if out.ends_with(LABEL) && word > 0 {
            out.push_str("<id>");
            rest = &rest[word..];
        } else if let Some(length) = topic_id_mask(rest) {
            out.push_str("<id>");
            rest = &rest[length..];
        }
        let Some(c) = rest.chars().next() else { return out };
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
}

fn topic_id_mask(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("<topic-id-")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && rest[digits..].starts_with('>')).then_some("<topic-id-".len() + digits + 1)
}

/// Lines as the recordings' judge splits them: at every kind of line break there is.
fn split_lines(text: &str) -> Vec<&str> {
    let is_break = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(is_break).unwrap_or(rest.len());
        lines.push(&rest[..end]);
        rest = &rest[end..];
        rest = rest.strip_prefix("\r\n").unwrap_or_else(|| {
            let mut chars = rest.chars();
            chars.next();
            chars.as_str()
        });
    }
    lines
}

fn is_refused(txn: &Value) -> Found<bool> {
    let mut refused = text(txn, "op")? == "error";
    for op in ops_of(txn)? {
        refused |= text(op, "op")? == "error";
    }
    Ok(refused)
}

fn ops_of(txn: &Value) -> Found<&[Value]> {
    if text(txn, "op")? == "multi" { list(txn, "ops") } else { Ok(std::slice::from_ref(txn)) }
}

fn field<'a>(of: &'a Value, key: &str) -> Found<&'a Value> {
    of.get(key).ok_or_else(|| format!("{key} is missing"))
}

fn text<'a>(of: &'a Value, key: &str) -> Found<&'a str> {
    field(of, key)?.as_str().ok_or_else(|| format!("{key} is no text"))
}

fn list<'a>(of: &'a Value, key: &str) -> Found<&'a [Value]> {
    let list = field(of, key)?.as_array();
    list.map(Vec::as_slice).ok_or_else(|| format!("{key} is no list"))
}

/// A text as it is, anything else as JSON.
fn name(of: &Value) -> String {
    of.as_str().map_or_else(|| of.to_string(), str::to_owned)
}

/// Present, and neither null, false, empty nor zero.
fn is_true(of: &Value) -> bool {
    match of {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

fn keys<K: Ord + Clone, V>(a: &BTreeMap<K, V>, b: &BTreeMap<K, V>) -> BTreeSet<K> {
    a.keys().chain(b.keys()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(txns: Value, same: bool) -> Value {
        let same = json!({"txns_by_actor": same, "talk_by_actor": same, "output": true});
        json!({"steps": [{"do": "x", "txns": txns, "talk": [], "same": same}]})
    }

    fn set(path: &str, data: &str, version: i32) -> Value {
        json!({"zxid": 1, "by": "broker 1", "op": "setData", "path": path, "data": data,
            "version": version, "expected": version - 1})
    }

    fn create(path: &str, data: &str) -> Value {
        json!({"zxid": 1, "by": "broker 1", "op": "create", "path": path, "data": data,
            "ephemeral": false})
    }

    fn check(theirs: &Value, ours: &Value, differences: usize) {
        let bad = judge(theirs, ours);
        assert_eq!(bad.len(), differences, "{bad:?}");
    }

    #[test]
    fn field_order_and_times_do_not_count() {
        let theirs = story(json!([create("/a", r#"{"x":1,"timestamp":"1700000000000"}"#)]), true);
        let ours = story(json!([create("/a", r#"{"timestamp":"5","x":1}"#)]), true);
        check(&theirs, &ours, 0);
        check(&theirs, &story(json!([create("/a", r#"{"x":2}"#)]), true), 2);
    }

    #[test]
    fn partitions_come_in_any_order_but_each_in_its_own() {
        let state = |p: i32| format!("/brokers/topics/t/partitions/{p}/state");
        let (a, b, c) = (create(&state(0), "1"), create(&state(1), "1"), set(&state(0), "2", 1));
        let theirs = story(json!([a, b, c]), true);
        check(&theirs, &story(json!([b, a, c]), true), 0);
        check(&theirs, &story(json!([b, c, a]), true), 2);
    }

    #[test]
    fn an_unrepeatable_step_is_judged_by_its_tree_alone_and_loosely() {
        let theirs = story(
            json!([create("/s", r#"{"isr":[1,2]}"#), set("/s", r#"{"isr":[2,1]}"#, 1)]),
            false,
        );
        check(&theirs, &story(json!([create("/s", r#"{"isr":[1,2]}"#)]), false), 0);
        check(&theirs, &story(json!([create("/s", r#"{"isr":[1]}"#)]), false), 1);
        check(&theirs, &story(json!([]), false), 1);
    }

    #[test]
    fn refusals_are_multisets_without_partition_numbers() {
        let refused = |p: i32, err: &str| {
            let path = format!("/brokers/topics/t/partitions/{p}");
            json!({"by": "broker 1", "op": "error", "err": err,
                "refused": {"op": "create", "path": path}})
        };
        let theirs = story(json!([refused(0, "NoNode"), refused(1, "NoNode")]), true);
        check(&theirs, &story(json!([refused(7, "NoNode"), refused(8, "NoNode")]), true), 0);
        check(&theirs, &story(json!([refused(7, "NoNode")]), true), 1);
    }

    #[test]
    fn what_is_missing_is_no_story() {
        let theirs = story(json!([]), true);
        check(&theirs, &json!({"steps": [{"do": "x", "txns": []}]}), 1);
        check(&theirs, &json!({"steps": []}), 1);
        check(&theirs, &json!({}), 1);
    }

    #[test]
    fn topic_ids_are_masked_in_output_and_blanks_count() {
        let told = |output: &str| {
            let mut story = story(json!([]), true);
            story["steps"][0]["output"] = json!(output);
            story
        };
        let theirs = told("Topic: a\tTopicId: <topic-id-1>\tX\n");
        check(&theirs, &told("Topic: a\tTopicId: <topic-id-12>\tX"), 0);
        check(&theirs, &told("Topic: a\tTopicId: abcd\tX"), 0);
        check(&theirs, &told("Topic: a\tTopicId: abcd X"), 1);
    }

    #[test]
    fn thirteen_digits_are_a_time() {
        assert_eq!(
            mask_times("at 1700000000000, not 17000000000001"),
            "at <ms>, not 17000000000001"
        );
    }
}

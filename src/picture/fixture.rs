//! A picture made by hand, two seconds after broker 2 was killed: for looking at the plate
//! while it is drawn, and for tests of drawings. The page itself never shows it.

use super::drawing::icon::Icon;
use super::inspector::{Fact, InspectorPicture, Link, Sign, Verb};
use super::sentence::{Chip, Field, SentencePicture};
use super::stage::*;
use super::target::Target;
use super::tree::{Change, Kind, Owner, Row, TreePicture, Watch};
use crate::text::Phrase;

/// The stage.
pub fn stage() -> StagePicture {
    StagePicture {
        ensemble: Ensemble { epoch: 5, together: 3, voters: 3, leads: true },
        servers: vec![
            server("zk1", Role::Following),
            server("zk2", Role::Leading),
            server("zk3", Role::Following),
        ],
        sessions: vec![
            session(1, "zk1", 56, Thread::Taut),
            session(2, "zk2", 36, Thread::Slack),
            session(3, "zk3", 47, Thread::Taut),
        ],
        brokers: vec![
            broker(1, 0, [rep(0, F, 11, 38), rep(1, F, 13, 45), out(2, 6, 22)]),
            broker(2, 1, [lead(0, 3, 11, 38), rep(1, F, 10, 42), rep(2, F, 9, 25)]),
            broker(3, 2, [rep(0, F, 11, 38), lead(1, 5, 13, 45), lead(2, 4, 12, 28)]),
        ],
        producers: vec![Producer {
            name: "p1".into(),
            life: Life::Running,
            acks: "all".into(),
            window: vec![Slot::Again(2), Slot::Flying, Slot::Free, Slot::Free, Slot::Free],
            note: Phrase::raw("orders-0"),
        }],
        groups: vec![Group {
            name: "g1".into(),
            state: "Stable".into(),
            generation: 12,
            topic: "orders".into(),
            partitions: vec![0, 1, 2],
            members: vec![
                member("c1", [Cell::Waits, Cell::Owns, Cell::Empty], 3),
                member("c2", [Cell::Empty, Cell::Empty, Cell::Owns], 1),
            ],
        }],
    }
}

const F: Stand = Stand::Following;

fn server(name: &str, role: Role) -> Server {
    Server { name: name.into(), role, life: Life::Running, last: Phrase::raw("5·0417") }
}

fn session(id: i32, server: &str, left: i32, thread: Thread) -> Session {
    Session {
        owner: format!("broker{id}"),
        called: Phrase::key("page.session.of").with("owner", format!("broker{id}")),
        server: Some(server.into()),
        thread,
        left,
        timeout: 60,
    }
}

fn rep(partition: i32, stand: Stand, shown: i64, end: i64) -> Replica {
    let high_watermark = [38, 42, 25][partition as usize];
    let preferred = (partition == 0 && end == 38 && stand != F)
        || (partition == 1 && stand != F)
        || stand == Stand::Out;
    Replica {
        partition: format!("orders-{partition}"),
        stand,
        preferred,
        first: end - shown,
        end,
        high_watermark,
        committed: (matches!(stand, Stand::Leading { .. })).then_some(high_watermark - 3),
    }
}

fn lead(partition: i32, epoch: i32, shown: i64, end: i64) -> Replica {
    rep(partition, Stand::Leading { epoch }, shown, end)
}

fn out(partition: i32, shown: i64, end: i64) -> Replica {
    rep(partition, Stand::Out, shown, end)
}

fn broker(id: i32, leads: i32, replicas: [Replica; 3]) -> Broker {
    let life = if id == 2 { Life::Killed } else { Life::Running };
    Broker {
        name: format!("broker{id}"),
        id,
        life,
        state: Phrase::key(if id == 2 { "page.life.killed" } else { "page.life.alive" }),
        leads,
        crown: (id == 3).then_some(Crown { epoch: 7, stale: false }),
        coordinates: if id == 1 { vec!["g1".into()] } else { vec![] },
        replicas: replicas.into(),
        internal: 0,
        marked: id == 2,
    }
}

fn member(name: &str, cells: [Cell; 3], lag: i64) -> Member {
    Member { name: name.into(), life: Life::Running, cells: cells.into(), lag }
}

fn row(path: &str, kind: Kind, children: i32, open: bool) -> Row {
    Row {
        path: path.into(),
        depth: i32::try_from(path.matches('/').count()).expect("a short path") - 1,
        kind,
        children,
        open,
        place: (1, 1),
        value: Phrase::nothing(),
        owner: None,
        watches: vec![],
        change: Change::None,
    }
}

fn id_row(id: i32, left: i32) -> Row {
    Row {
        owner: Some(Owner { process: format!("broker{id}"), left, timeout: 60, silent: id == 2 }),
        ..row(&format!("/brokers/ids/{id}"), Kind::Ephemeral, 0, false)
    }
}

/// The tree.
pub fn tree() -> TreePicture {
    let says = |path: &str, value: &str| Row {
        value: Phrase::raw(value),
        ..row(path, Kind::Persistent, 1, false)
    };
    let watched =
        |row: Row, watch: Watch, who: &str| Row { watches: vec![(watch, who.into())], ..row };
    let p = Kind::Persistent;
    let state =
        Change::Changed { old: "isr 2,1,3".into(), new: "isr 2,3".into(), versions: (3, 4) };
    let rows = vec![
        row("/brokers", p, 3, true),
        watched(row("/brokers/ids", p, 3, true), Watch::Children, "3"),
        id_row(1, 56),
        id_row(2, 36),
        id_row(3, 47),
        watched(row("/brokers/topics", p, 1, true), Watch::Children, "3"),
        watched(row("/brokers/topics/orders", p, 1, true), Watch::Data, "3"),
        row("/brokers/topics/orders/partitions", p, 3, true),
        says("/brokers/topics/orders/partitions/0", "leader 1 · isr 1,2,3"),
        says("/brokers/topics/orders/partitions/1", "leader 2 · isr 2,3,1"),
        row("/brokers/topics/orders/partitions/2", p, 1, true),
        Row { change: state, ..row("/brokers/topics/orders/partitions/2/state", p, 0, false) },
        watched(
            Row { value: Phrase::raw("3"), ..row("/controller", Kind::Ephemeral, 0, false) },
            Watch::Data,
            "1 2",
        ),
        Row { value: Phrase::raw("7"), ..row("/controller_epoch", p, 0, false) },
        row("/admin", p, 2, false),
        row("/tour", Kind::Container, 2, true),
        Row { change: Change::Created, ..row("/tour/note-0000000004", p, 0, false) },
        Row { change: Change::Deleted, ..row("/tour/hello", Kind::Ephemeral, 0, false) },
    ];
    TreePicture { rows, note: None }
}

/// The inspector.
pub fn inspector() -> InspectorPicture {
    let fact = |name: &'static str, value: &str, quoted| Fact {
        name: Phrase::key(name),
        value: Phrase::raw(value),
        quoted,
        target: None,
    };
    let link = |words: &str, tenths: i32, by_you| Link {
        event: Some(1),
        words: Phrase::raw(words),
        when: Phrase::key("page.ago").with_phrase("time", super::drawing::seconds(tenths)),
        by_you,
    };
    InspectorPicture {
        target: Target::Session("broker2".into()),
        sign: Sign::Ring(session(2, "zk2", 36, Thread::Slack)),
        name: Phrase::key("page.session.of").with("owner", "broker2"),
        exact: "0x2000a41c7e0001".into(),
        state: Phrase::key("page.session.left").with("left", "3.6 s").with("timeout", "6.0 s"),
        facts: vec![
            fact("page.fact.attached", "zk2", false),
            fact("page.fact.owns", "/brokers/ids/2", true),
            fact("page.fact.watches", "/controller", true),
        ],
        verbs: vec![
            Verb {
                icon: Icon::Restart,
                name: Phrase::key("page.verb.start").with("name", "broker2"),
                key: 'R',
                command: "start broker2".into(),
            },
            Verb {
                icon: Icon::RunTo,
                name: Phrase::key("page.verb.run"),
                key: 'E',
                command: "run".into(),
            },
        ],
        effects: vec![],
        now: Some(Link {
            when: Phrase::key("page.now"),
            ..link("The ring is running out", 0, false)
        }),
        causes: vec![
            link("zk2 lost the connection", 21, false),
            link("You killed broker 2", 21, true),
        ],
    }
}

/// The sentence.
pub fn sentence() -> SentencePicture {
    let field = |name, words: &str, chip| Field { name, words: Phrase::raw(words), chip };
    SentencePicture {
        key: "page.guide.killed",
        fields: vec![
            field("broker", "broker 2", Chip::Name(Target::Process("broker2".into()))),
            field("session", "session", Chip::Name(Target::Session("broker2".into()))),
            field("left", "3.6 s", Chip::Figure),
            field("path", "/brokers/ids/2", Chip::Quoted(Target::Znode("/brokers/ids/2".into()))),
        ],
        event: None,
        by_you: true,
    }
}

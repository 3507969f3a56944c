//! What players of ZooKeeper's recordings speak: its own words, with requests of their own.
//! *Invariant: a server or client inside a player hears everything but the player's requests.*

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use zootrope::sim::{Event, Vocabulary};
use zootrope::zk::words::{self, Message, Timer, Told, Write};

/// ZooKeeper's words, with `R` for requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Words<R>(PhantomData<R>);

impl<R: Clone + Debug + Hash + 'static> Vocabulary for Words<R> {
    type Message = Message;
    type Timer = Timer;
    type Write = Write;
    type Request = R;
    type Fact = Told;

    fn message_name(message: &Message) -> &'static str {
        words::Words::message_name(message)
    }

    fn timer_name(timer: &Timer) -> &'static str {
        words::Words::timer_name(timer)
    }

    fn request_name(_: &R) -> &'static str {
        "step"
    }
}

/// The event in ZooKeeper's words, or the request that it is.
pub fn heard<R>(event: Event<Words<R>>) -> Result<Event<words::Words>, R>
where
    R: Clone + Debug + Hash + 'static,
{
    Ok(match event {
        Event::Boot => Event::Boot,
        Event::Message { from, message } => Event::Message { from, message },
        Event::Hangup { peer } => Event::Hangup { peer },
        Event::Timer(timer) => Event::Timer(timer),
        Event::Written(write) => Event::Written(write),
        Event::Failed(write) => Event::Failed(write),
        Event::Request(request) => return Err(request),
    })
}

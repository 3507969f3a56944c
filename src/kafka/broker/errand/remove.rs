//! Marking topics for deletion.
//!
//! *Invariant: a broker only marks; the controller deletes.*
// Source: ZkAdminManager.deleteTopics, AdminZkClient.deleteTopic (3.9)

use super::create::Results;
use super::{Errand, Running, Site, Until, refused, turn};
use crate::kafka::Error;
use crate::kafka::admin::{DeleteTopicsRequest, DeleteTopicsResponse, Refusal};
use crate::kafka::id::TopicName;
use crate::kafka::wire::Caller;
use crate::kafka::words::Words;
use crate::kafka::znodes;
use crate::kafka::zookeeper::{Replies, create};
use crate::sim::{Outbox, Span};
use crate::zk::stat::Bytes;

/// How far the first of the topics is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// Whether it is there.
    Look,
    /// The mark.
    Mark,
}

/// Topics that are being marked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Delete {
    caller: Caller,
    timeout: Span,
    topics: Vec<TopicName>,
    results: Results,
    marked: Vec<TopicName>,
    step: Step,
}

impl Running {
    pub(super) fn delete_topics(
        &mut self,
        caller: Caller,
        request: DeleteTopicsRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let refuse_all = match () {
            () if !self.controller.is_active() => Some(Error::NotController),
            () if !site.settings.delete_topic_enable => Some(Error::TopicDeletionDisabled),
            () => None,
        };
        if let Some(error) = refuse_all {
            let refuse = |topic: TopicName| (topic, Some(Refusal::from(error)));
            let responses = request.topic_names.into_iter().map(refuse).collect();
            return self.answer(caller, DeleteTopicsResponse { responses }, out);
        }
        let delete = Delete {
            caller,
            timeout: request.timeout,
            topics: request.topic_names,
            results: Results::new(),
            marked: Vec::new(),
            step: Step::Look,
        };
        self.next_deletion(delete, site, out);
    }

    fn next_deletion(&mut self, mut delete: Delete, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let Some(topic) = delete.topics.first() else {
            let until = Until::Deleted(delete.marked, delete.results);
            let (caller, timeout) = (delete.caller, delete.timeout);
            return self.errands.wait(caller, timeout, until, turn!(self, site, out));
        };
        if self.cache.topic(topic).is_none() {
            let words = "This server does not host this topic-partition.";
            let refusal = refused(Error::UnknownTopicOrPartition, words);
            return self.deletion_done(delete, Some(refusal), site, out);
        }
        let look = self.zk.exists(znodes::topic(topic));
        delete.step = Step::Look;
        let number = self.errands.begin(Errand::Delete(delete));
        self.go(number, vec![look], site, out);
    }

    pub(super) fn deleted(
        &mut self,
        number: u32,
        mut delete: Delete,
        replies: &Replies,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let topic = delete.topics.first().expect("something is being deleted").clone();
        if delete.step == Step::Mark {
            delete.marked.push(topic);
            return self.deletion_done(delete, None, site, out);
        }
        if replies[0].is_err() {
            let refusal = Refusal::from(Error::UnknownTopicOrPartition);
            return self.deletion_done(delete, Some(refusal), site, out);
        }
        delete.step = Step::Mark;
        let mark = create(znodes::delete_topic(&topic), Bytes::NULL);
        self.go_on(number, Errand::Delete(delete), vec![mark], site, out);
    }

    fn deletion_done(
        &mut self,
        mut delete: Delete,
        refusal: Option<Refusal>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let topic = delete.topics.remove(0);
        delete.results.push((topic, refusal));
        self.next_deletion(delete, site, out);
    }
}

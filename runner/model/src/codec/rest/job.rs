//! A job without what its head has.

use alloc::{borrow::Cow, boxed::Box, string::String};

use serde::{Deserialize, Serialize};

use crate::{
    fact::Accepted,
    id::JobId,
    job::{Job, Link, Named, Terms, Unique},
    retry::{Backoff, RetryPolicy},
};

/// A [`Job`] without what its head has.
#[derive(Serialize, Deserialize)]
pub(in crate::codec) struct JobRest<'a> {
    #[serde(borrow, with = "serde_bytes")]
    payload: Cow<'a, [u8]>,
    #[serde(borrow)]
    content_type: Cow<'a, str>,
    headers: Cow<'a, [(String, String)]>,
    trap_attempts: Option<u32>,
    backoff: Option<Cow<'a, Backoff>>,
    timeout_ms: Option<u64>,
    parent: Option<JobId>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    more: Option<Box<MoreRest<'a>>>,
}

/// What few jobs say, without what the head has.
#[derive(Serialize, Deserialize)]
struct MoreRest<'a> {
    tags: Cow<'a, [String]>,
    #[serde(borrow)]
    unique: Option<Cow<'a, str>>,
    #[serde(borrow)]
    idempotency: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "<[Link]>::is_empty")]
    then: Cow<'a, [Link]>,
}

impl<'a> From<&'a Job> for JobRest<'a> {
    fn from(job: &'a Job) -> Self {
        Self {
            payload: Cow::Borrowed(&job.payload),
            content_type: Cow::Borrowed(&job.content_type),
            headers: Cow::Borrowed(&job.headers),
            trap_attempts: job.retry.trap_attempts,
            backoff: job.retry.backoff.as_ref().map(Cow::Borrowed),
            timeout_ms: job.timeout_ms,
            parent: job.parent,
            more: MoreRest::of(&job.terms),
        }
    }
}

impl<'a> MoreRest<'a> {
    fn of(terms: &'a Terms) -> Option<Box<Self>> {
        let is_nothing = terms.tags.is_empty() && terms.then.is_empty();
        if is_nothing && terms.unique.is_none() && terms.idempotency.is_none() {
            return None;
        }
        let says = |text: &'a String| Cow::Borrowed(text.as_str());
        Some(Box::new(Self {
            tags: Cow::Borrowed(&terms.tags),
            unique: terms.unique.as_ref().map(|unique| says(&unique.says)),
            idempotency: terms.idempotency.as_ref().map(|named| says(&named.says)),
            then: Cow::Borrowed(&terms.then),
        }))
    }

    fn join(more: Option<Box<Self>>, head: &Accepted<'_>) -> Terms {
        let terms = head.terms;
        let (tags, unique, idempotency, then) = match more {
            Some(more) => (
                more.tags.into_owned(),
                more.unique,
                more.idempotency,
                more.then.into_owned(),
            ),
            None => Default::default(),
        };
        let says = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned).unwrap_or_default();
        Terms {
            expires: terms.expires,
            retry_for_ms: terms.retry_for_ms,
            unique: terms.unique.map(|lock| Unique {
                key: lock.key,
                says: says(unique),
                scope: lock.scope,
                until: lock.until,
                on_conflict: lock.on_conflict,
            }),
            idempotency: terms.idempotency.map(|key| Named {
                key,
                says: says(idempotency),
            }),
            group: terms.group.map(String::from),
            batch: terms.batch,
            tags,
            then,
        }
    }
}

impl JobRest<'_> {
    pub(super) fn join(self, head: &Accepted<'_>) -> Job {
        Job {
            id: head.id,
            kind: head.kind.into(),
            queue: head.queue.into(),
            priority: head.priority,
            payload: self.payload.into_owned(),
            content_type: self.content_type.into_owned(),
            headers: self.headers.into_owned(),
            enqueued_at: head.enqueued_at,
            due: head.due,
            retry: RetryPolicy {
                max_attempts: head.max_attempts,
                trap_attempts: self.trap_attempts,
                backoff: self.backoff.map(Cow::into_owned),
            },
            timeout_ms: self.timeout_ms,
            parent: self.parent,
            terms: MoreRest::join(self.more, head),
        }
    }
}

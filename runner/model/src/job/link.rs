//! What follows a job when it completes: a chain of jobs.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use super::{Job, KindDefaults, NewJob, Output, accept::Bounds};
use crate::{
    command::Rejected,
    id::JobId,
    limits::{BODY_BYTES, CHAIN_BYTES, CHAIN_LINKS, DUE_AHEAD_MS},
    retry::RetryPolicy,
    time::UnixMs,
};

/// A job that follows another one when that completes. What is `None` is left to the handler and the
/// operator, as they say at that time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Link {
    /// Which handler runs it.
    pub kind: String,
    /// Which queue.
    pub queue: Option<String>,
    /// Higher runs first within a queue.
    pub priority: Option<i16>,
    /// The payload's bytes; the result of the job before, with its media type, when `None`.
    #[serde(with = "serde_bytes")]
    pub payload: Option<Vec<u8>>,
    /// Media type of the payload.
    pub content_type: Option<String>,
    /// Key/value pairs for the handler.
    pub headers: Vec<(String, String)>,
    /// How long after the job before completed it is due, in milliseconds.
    pub delay_ms: u64,
    /// How failures are retried.
    pub retry: RetryPolicy,
    /// Wall time of one attempt in milliseconds.
    pub timeout_ms: Option<u64>,
    /// How long it may go on failing, in milliseconds from the first failure.
    pub retry_for_ms: Option<u64>,
    /// How long after it is due it may still be begun, in milliseconds.
    pub expires_in_ms: Option<u64>,
    /// The group it takes turns and shares limits with.
    pub group: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
}

impl Link {
    /// The job that this becomes at `now`, after one with this result.
    ///
    /// # Errors
    /// A field is out of its range.
    pub fn accept(
        self,
        id: JobId,
        now: UnixMs,
        before: &Output,
        defaults: &KindDefaults,
    ) -> Result<Job, Rejected> {
        let (payload, content_type) = match self.payload {
            Some(payload) => (payload, self.content_type),
            None => {
                let of_result = Some(before.content_type.clone()).filter(|text| !text.is_empty());
                (before.payload.clone(), self.content_type.or(of_result))
            }
        };
        let due = now.plus(self.delay_ms);
        let new = NewJob {
            kind: self.kind,
            queue: self.queue,
            priority: self.priority,
            payload,
            content_type,
            headers: self.headers,
            due: Some(due),
            retry: self.retry,
            timeout_ms: self.timeout_ms,
            expires: self.expires_in_ms.map(|ms| due.plus(ms)),
            retry_for_ms: self.retry_for_ms,
            group: self.group,
            tags: self.tags,
            ..NewJob::default()
        };
        // The limit of results bounds one that is passed on.
        let bounds = Bounds {
            payload_bytes: BODY_BYTES,
        };
        new.accept_within(id, now, defaults, bounds)
    }

    /// Bytes it takes in a record, estimated from above.
    pub(super) fn weight(&self) -> usize {
        let headers = self.headers.iter().map(|(k, v)| k.len() + v.len() + 8);
        let tags = self.tags.iter().map(|tag| tag.len() + 2);
        let names = [&self.queue, &self.content_type, &self.group];
        let names = names.into_iter().flatten().map(String::len);
        let payload = self.payload.as_ref().map_or(0, Vec::len);
        let texts: usize = headers.chain(tags).chain(names).sum();
        payload + texts + self.kind.len() + 128
    }

    /// Whether it is within bounds.
    pub(crate) fn check_alone(&self) -> Result<(), String> {
        self.check(Bounds::default())
    }

    fn check(&self, bounds: Bounds) -> Result<(), String> {
        if self.delay_ms > DUE_AHEAD_MS {
            return Err("its delay is longer than 100 years".into());
        }
        if let Some(payload) = &self.payload
            && payload.len() > bounds.payload_bytes
        {
            let (bytes, most) = (payload.len(), bounds.payload_bytes);
            return Err(format!(
                "payload: {bytes} bytes, at most {most} are allowed"
            ));
        }
        let sample = self.clone();
        let job = sample.accept(
            JobId(1),
            UnixMs(0),
            &Output::default(),
            &KindDefaults::default(),
        );
        job.map(|_| ()).map_err(|rejected| rejected.to_string())
    }
}

/// Whether a chain is within bounds, as each of its links is.
pub(super) fn check(chain: &[Link], bounds: Bounds) -> Result<(), String> {
    let count = chain.len();
    if count > CHAIN_LINKS {
        return Err(format!(
            "{count} jobs are to follow: at most {CHAIN_LINKS} are allowed"
        ));
    }
    let bytes: usize = chain.iter().map(Link::weight).sum();
    if bytes > CHAIN_BYTES {
        return Err(format!(
            "the jobs that are to follow have {bytes} bytes together: at most {CHAIN_BYTES} are allowed"
        ));
    }
    for (place, link) in chain.iter().enumerate() {
        let number = place + 1;
        link.check(bounds)
            .map_err(|why| format!("job {number} of those that are to follow: {why}"))?;
    }
    Ok(())
}

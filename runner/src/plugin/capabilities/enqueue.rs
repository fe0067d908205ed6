//! `enqueue`: new jobs from within a job, kept back until the attempt succeeds.

use sandhog_model::{
    Job, JobId, KindDefaults, NewJob, NewUnique, OnConflict, RetryPolicy, Scope, UniqueBy, UnixMs,
    limits::{ATTEMPTS, BACKOFF_MS, DUE_AHEAD_MS},
};

use super::grants::snippet;
use crate::{
    identity,
    plugin::{
        bytes::human_bytes,
        sandbox::{
            bindings::sandhog::job::enqueue::{self, EnqueueError},
            state::{Grant, State},
        },
    },
};

impl enqueue::Host for State {
    fn enqueue(&mut self, wish: enqueue::NewJob) -> Result<String, EnqueueError> {
        let options = Options::parse(&wish.options).map_err(EnqueueError::Invalid)?;
        let bytes = quota(&self.grant, wish.payload.len() as u64);
        let job = accept(&self.grant, wish, options).map_err(EnqueueError::Invalid)?;
        let id = job.id;
        let job = self.grant.services.complete(job);
        self.may_enqueue(&job.queue)?;
        self.grant.children_bytes = bytes.map_err(EnqueueError::Quota)?;
        self.grant.children.push(job);
        Ok(id.text())
    }
}

/// The header that says how many jobs lie between a job and one from outside. Only the host
/// writes it on jobs that jobs enqueue.
const DEPTH: &str = "sandhog-depth";

/// How many jobs lie between a job with these headers and one from outside.
pub(crate) fn depth(headers: &[(String, String)]) -> u32 {
    let found = headers.iter().find(|(key, _)| key == DEPTH);
    found.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

impl State {
    fn may_enqueue(&self, queue: &str) -> Result<(), EnqueueError> {
        let grant = &self.grant;
        let allowed = grant.grants.enqueue.as_ref();
        let Some(allowed) = allowed.filter(|allowed| allowed.allows(queue)) else {
            let what = format!("to enqueue into queue {queue}");
            let lines = snippet::enqueue(queue);
            return Err(EnqueueError::Denied(self.denied("enqueue", &what, &lines)));
        };
        if grant.depth >= allowed.depth {
            return Err(EnqueueError::Quota(format!(
                "jobs may enqueue jobs {} deep, and this one is at depth {} (`depth` of `enqueue` in {}.toml)",
                allowed.depth, grant.depth, grant.plugin
            )));
        }
        Ok(())
    }
}

/// The wished job, within the bounds of any job. What the guest left open is empty, for
/// `Services::complete` to fill in.
fn accept(grant: &Grant, wish: enqueue::NewJob, options: Options) -> Result<Job, String> {
    let now = grant.services.wall();
    let has_queue = options.queue.is_some();
    let has_type = !wish.content_type.is_empty();
    let mut headers = wish.headers;
    headers.retain(|(key, _)| !key.eq_ignore_ascii_case(DEPTH));
    headers.push((DEPTH.into(), grant.depth.saturating_add(1).to_string()));
    let mut wish = NewJob {
        kind: wish.kind,
        payload: wish.payload,
        content_type: has_type.then_some(wish.content_type),
        headers,
        parent: Some(grant.job),
        ..options.job(now, grant.batch)?
    };
    let (unique, key) = (wish.unique.take(), wish.idempotency_key.take());
    let mut job = wish
        .accept(grant.services.mint(), now, &KindDefaults::default())
        .map_err(|refused| refused.to_string())?;
    identity::name(&mut job, unique, key)?;
    if !has_queue {
        job.queue.clear();
    }
    if !has_type {
        job.content_type.clear();
    }
    Ok(job)
}

/// The payload bytes of all children with this one, when the attempt's caps allow it.
fn quota(grant: &Grant, more: u64) -> Result<u64, String> {
    let (limits, granted) = (&grant.limits, grant.grants.enqueue.as_ref());
    let jobs = granted.map_or(0, |granted| granted.jobs.min(limits.children));
    if grant.children.len() as u64 >= jobs {
        return Err(format!(
            "an attempt may enqueue {jobs} jobs, and this one did{}",
            key("jobs", jobs < limits.children, &grant.plugin)
        ));
    }
    let most = granted.map_or(0, |granted| granted.bytes.min(limits.children_bytes));
    let bytes = grant.children_bytes.saturating_add(more);
    if bytes > most {
        return Err(format!(
            "the payloads of an attempt's new jobs may be {} in all, and this one would make them {}{}",
            human_bytes(most),
            human_bytes(bytes),
            key("bytes", most < limits.children_bytes, &grant.plugin)
        ));
    }
    Ok(bytes)
}

/// Where a cap can be raised, when it can.
fn key(name: &str, can_be_raised: bool, plugin: &str) -> String {
    match can_be_raised {
        true => format!(" (`{name}` of `enqueue` in {plugin}.toml)"),
        false => ", the most that can be granted".to_owned(),
    }
}

#[derive(Debug, Default, PartialEq)]
struct Options {
    queue: Option<String>,
    priority: Option<i16>,
    max_attempts: Option<u32>,
    delay_ms: Option<u64>,
    expires_in_ms: Option<u64>,
    retry_for_ms: Option<u64>,
    group: Option<String>,
    tags: Vec<String>,
    batch: Option<()>,
    unique_key: Option<String>,
    unique_for_ms: Option<u64>,
    unique_while: Option<Scope>,
    idempotency_key: Option<String>,
}

impl Options {
    /// A job that says no more than this, at `now`, from one that is in a batch or not.
    fn job(mut self, now: UnixMs, batch: Option<JobId>) -> Result<NewJob, String> {
        let unique = self.unique()?;
        let due = self.delay_ms.map(|ms| now.plus(ms));
        let batch = match (self.batch, batch) {
            (Some(()), None) => return Err("option batch: this job is in no batch".to_owned()),
            (wanted, batch) => batch.filter(|_| wanted.is_some()),
        };
        let first = due.unwrap_or(now);
        Ok(NewJob {
            queue: self.queue,
            priority: self.priority,
            due,
            retry: RetryPolicy {
                max_attempts: self.max_attempts,
                ..RetryPolicy::default()
            },
            expires: self.expires_in_ms.map(|ms| first.plus(ms)),
            retry_for_ms: self.retry_for_ms,
            group: self.group,
            tags: self.tags,
            batch,
            unique,
            idempotency_key: self.idempotency_key,
            ..NewJob::default()
        })
    }

    /// What the job must not be twice. The one that is there is kept: whoever enqueues it is gone when that is known.
    fn unique(&mut self) -> Result<Option<NewUnique>, String> {
        let Some(key) = self.unique_key.take() else {
            return match self.unique_for_ms.is_some() || self.unique_while.is_some() {
                true => Err("options unique-for-ms and unique-while go with unique-key".to_owned()),
                false => Ok(None),
            };
        };
        Ok(Some(NewUnique {
            by: UniqueBy::Key(key),
            period_ms: self.unique_for_ms,
            scope: self.unique_while.unwrap_or(Scope::UNFINISHED),
            on_conflict: OnConflict::Keep,
        }))
    }

    fn parse(pairs: &[(String, String)]) -> Result<Self, String> {
        let mut options = Self::default();
        for (key, value) in pairs {
            match key.as_str() {
                "queue" => once(&mut options.queue, key, value.clone())?,
                "priority" => {
                    let number = number(key, value, i16::MIN, i16::MAX)?;
                    once(&mut options.priority, key, number)?;
                }
                "max-attempts" => {
                    let number = number(key, value, 1, ATTEMPTS)?;
                    once(&mut options.max_attempts, key, number)?;
                }
                "delay-ms" => {
                    let number = number(key, value, 0, DUE_AHEAD_MS)?;
                    once(&mut options.delay_ms, key, number)?;
                }
                "expires-in-ms" => {
                    let number = number(key, value, 1, DUE_AHEAD_MS)?;
                    once(&mut options.expires_in_ms, key, number)?;
                }
                "retry-for-ms" => {
                    let number = number(key, value, 1, BACKOFF_MS)?;
                    once(&mut options.retry_for_ms, key, number)?;
                }
                "group" => once(&mut options.group, key, value.clone())?,
                "tag" => options.tags.push(value.clone()),
                "unique-key" => once(&mut options.unique_key, key, value.clone())?,
                "unique-for-ms" => {
                    let number = number(key, value, 1, DUE_AHEAD_MS)?;
                    once(&mut options.unique_for_ms, key, number)?;
                }
                "unique-while" => {
                    let scope = value
                        .parse()
                        .map_err(|why| format!("option {key}: {why}"))?;
                    once(&mut options.unique_while, key, scope)?;
                }
                "idempotency-key" => once(&mut options.idempotency_key, key, value.clone())?,
                "batch" if value == "own" => once(&mut options.batch, key, ())?,
                "batch" => {
                    return Err(format!(
                        "option batch must be `own`, the batch of the job that enqueues, not {value:?}"
                    ));
                }
                _ => {
                    return Err(format!(
                        "option {key:?} is unknown: use queue, priority, max-attempts, delay-ms, \
                         expires-in-ms, retry-for-ms, group, tag, batch, unique-key, unique-for-ms, \
                         unique-while or idempotency-key"
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn once<T>(slot: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("option {key} is given twice")),
    }
}

fn number<N>(key: &str, text: &str, low: N, high: N) -> Result<N, String>
where
    N: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    // `from_str` also takes a leading plus, which no one needs to read here.
    text.parse()
        .ok()
        .filter(|number| *number >= low && *number <= high && !text.starts_with('+'))
        .ok_or_else(|| {
            format!("option {key} must be a whole number from {low} to {high}, not {text:?}")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Options, String> {
        let pairs: Vec<(String, String)> = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Options::parse(&pairs)
    }

    #[test]
    fn options_are_read_strictly() {
        let options = parse(&[
            ("queue", "slow"),
            ("priority", "-3"),
            ("max-attempts", "1000"),
            ("delay-ms", "0"),
        ]);
        assert_eq!(
            options,
            Ok(Options {
                queue: Some("slow".into()),
                priority: Some(-3),
                max_attempts: Some(1_000),
                delay_ms: Some(0),
                ..Options::default()
            })
        );
        for (pairs, says) in [
            (&[("colour", "red")][..], "option \"colour\" is unknown"),
            (&[("priority", "+1")], "option priority"),
            (&[("priority", "40000")], "-32768 to 32767"),
            (&[("max-attempts", "0")], "from 1 to 1000"),
            (&[("delay-ms", "-1")], "option delay-ms"),
            (&[("delay-ms", "18446744073709551615")], "option delay-ms"),
            (&[("delay-ms", "1"), ("delay-ms", "2")], "given twice"),
            (&[("expires-in-ms", "0")], "option expires-in-ms"),
            (&[("group", "a"), ("group", "b")], "given twice"),
            (&[("batch", "other")], "must be `own`"),
            (&[("unique-for-ms", "0")], "option unique-for-ms"),
            (&[("unique-while", "asleep")], "no state of a unique job"),
            (&[("unique-while", "running")], "go with unique-key"),
        ] {
            let job = parse(pairs).and_then(|options| options.job(UnixMs(1), None));
            let said = job.unwrap_err();
            assert!(said.contains(says), "{pairs:?}: {said}");
        }
    }

    #[test]
    fn a_job_says_what_its_options_say() {
        let options = || {
            parse(&[
                ("delay-ms", "5"),
                ("expires-in-ms", "7"),
                ("retry-for-ms", "9"),
                ("group", "g"),
                ("tag", "a"),
                ("tag", "b"),
                ("batch", "own"),
                ("unique-key", "u"),
                ("unique-for-ms", "11"),
                ("unique-while", "running"),
                ("idempotency-key", "i"),
            ])
            .expect("they are right")
        };
        let job = options().job(UnixMs(100), Some(JobId(3))).expect("a job");
        assert_eq!(
            (job.due, job.expires),
            (Some(UnixMs(105)), Some(UnixMs(112)))
        );
        assert_eq!(
            (job.retry_for_ms, job.group.as_deref()),
            (Some(9), Some("g"))
        );
        assert_eq!((job.tags.len(), job.batch), (2, Some(JobId(3))));
        let unique = job.unique.expect("it is unique");
        assert_eq!(
            (unique.by, unique.period_ms, unique.on_conflict),
            (UniqueBy::Key("u".into()), Some(11), OnConflict::Keep)
        );
        assert_eq!(job.idempotency_key.as_deref(), Some("i"));
        let why = options().job(UnixMs(100), None).expect_err("no batch");
        assert!(why.contains("in no batch"), "{why}");
        // Whoever does not ask stays outside.
        let outside = Options::default().job(UnixMs(100), Some(JobId(3)));
        assert_eq!(outside.expect("a job").batch, None);
    }
}

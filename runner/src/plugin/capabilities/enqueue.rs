//! `enqueue`: new jobs from within a job, kept back until the attempt succeeds.

use sandhog_model::{
    Job, KindDefaults, NewJob, RetryPolicy,
    limits::{ATTEMPTS, DUE_AHEAD_MS},
};

use super::grants::snippet;
use crate::plugin::{
    bytes::human_bytes,
    sandbox::{
        bindings::sandhog::job::enqueue::{self, EnqueueError},
        state::{Grant, State},
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
    let wish = NewJob {
        kind: wish.kind,
        queue: options.queue,
        priority: options.priority,
        payload: wish.payload,
        content_type: has_type.then_some(wish.content_type),
        headers,
        due: options.delay_ms.map(|ms| now.plus(ms)),
        retry: RetryPolicy {
            max_attempts: options.max_attempts,
            ..RetryPolicy::default()
        },
        timeout_ms: None,
        parent: Some(grant.job),
        ..NewJob::default()
    };
    let mut job = wish
        .accept(grant.services.mint(), now, &KindDefaults::default())
        .map_err(|refused| refused.to_string())?;
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
}

impl Options {
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
                _ => {
                    return Err(format!(
                        "option {key:?} is unknown: use queue, priority, max-attempts or delay-ms"
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
        ] {
            let said = parse(pairs).unwrap_err();
            assert!(said.contains(says), "{pairs:?}: {said}");
        }
    }
}

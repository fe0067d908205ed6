//! What the operator says of kinds, and how it joins what jobs and handlers say.

use std::{collections::BTreeMap, sync::Arc};

use sandhog_model::{Job, KindDefaults, RetryPolicy};

use crate::plugin::{Catalog, KindInfo, Limits};

/// The operator's settings for one kind. What is `None` is left to the handler, then to the
/// defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KindRule {
    /// The queue for jobs that name none.
    pub queue: Option<String>,
    /// Wall time of an attempt in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The retries.
    pub retry: RetryPolicy,
    /// How long after it is first due a job may still be begun, in milliseconds.
    pub max_age_ms: Option<u64>,
    /// How long a job may go on failing, in milliseconds.
    pub retry_for_ms: Option<u64>,
    /// What an attempt may use; its wall time is the default when nobody names one.
    pub limits: Limits,
    /// What the handler reads through its `config` interface.
    pub config: Arc<BTreeMap<String, String>>,
}

/// Where the engine looks up the operator's settings.
pub trait Settings: Send + Sync + 'static {
    /// The settings for a kind.
    fn rule(&self, kind: &str) -> KindRule;
}

/// What a job that is accepted now gets for the fields it leaves open: from the operator, then from
/// the handler. Wall time and backoff stay open until an attempt runs, so that a new version of a
/// handler or a changed setting counts for jobs that wait already.
#[must_use]
pub fn door_defaults(settings: &dyn Settings, catalog: &Catalog, kind: &str) -> KindDefaults {
    let rule = settings.rule(kind);
    let info = catalog.describing(kind).cloned().unwrap_or_default();
    KindDefaults {
        queue: rule.queue.or(info.queue),
        retry: RetryPolicy {
            max_attempts: rule.retry.max_attempts.or(info.retry.max_attempts),
            ..RetryPolicy::default()
        },
        timeout_ms: None,
        content_type: info.content_type,
        max_age_ms: rule.max_age_ms,
        retry_for_ms: rule.retry_for_ms,
    }
}

/// The wall time and retries of one attempt: the job's own, then the operator's, then the
/// handler's.
pub(super) fn resolve(job: &Job, rule: &KindRule, info: &KindInfo) -> (Limits, RetryPolicy) {
    let mut limits = rule.limits.clone();
    limits.timeout_ms = job
        .timeout_ms
        .or(rule.timeout_ms)
        .or(info.timeout_ms)
        .unwrap_or(limits.timeout_ms);
    let retry = job
        .retry
        .clone()
        .or(rule.retry.clone())
        .or(info.retry.clone());
    (limits, retry)
}

#[cfg(test)]
mod tests {
    use sandhog_model::Backoff;

    use super::*;

    struct Fixed(KindRule);

    impl Settings for Fixed {
        fn rule(&self, _kind: &str) -> KindRule {
            self.0.clone()
        }
    }

    fn info() -> KindInfo {
        KindInfo {
            kind: "k".into(),
            timeout_ms: Some(7),
            retry: RetryPolicy {
                max_attempts: Some(5),
                backoff: "fixed 1s".parse().ok(),
                ..RetryPolicy::default()
            },
            queue: Some("handlers".into()),
            ..KindInfo::default()
        }
    }

    fn job() -> Job {
        let id = sandhog_model::JobId(1);
        sandhog_model::NewJob {
            kind: "k".into(),
            ..sandhog_model::NewJob::default()
        }
        .accept(id, sandhog_model::UnixMs(0), &KindDefaults::default())
        .expect("a plain job is accepted")
    }

    #[test]
    fn the_job_comes_before_the_operator_before_the_handler() {
        let mut rule = KindRule::default();
        let mut job = job();
        assert_eq!(
            resolve(&job, &rule, &KindInfo::default()).0.timeout_ms,
            30_000
        );
        assert_eq!(resolve(&job, &rule, &info()).0.timeout_ms, 7);
        rule.timeout_ms = Some(8);
        assert_eq!(resolve(&job, &rule, &info()).0.timeout_ms, 8);
        job.timeout_ms = Some(9);
        assert_eq!(resolve(&job, &rule, &info()).0.timeout_ms, 9);

        rule.retry.max_attempts = Some(6);
        let (_, retry) = resolve(&job, &rule, &info());
        assert_eq!(retry.max_attempts, Some(6));
        assert_eq!(retry.backoff, "fixed 1s".parse::<Backoff>().ok());
    }

    #[test]
    fn the_door_asks_the_operator_then_the_handler() {
        let plugin = crate::plugin::Plugin {
            name: "p".into(),
            file: "p.wasm".into(),
            digest: String::new(),
            size: 0,
            sdk: String::new(),
            kinds: vec![info()],
            code: "p.cwasm".into(),
            cached: false,
            asks: None,
            grants: Arc::default(),
        };
        let mut catalog = Catalog::default();
        catalog.plugins.insert("p".into(), Arc::new(plugin));
        let mut settings = Fixed(KindRule::default());
        let of_handler = door_defaults(&settings, &catalog, "k");
        assert_eq!(of_handler.queue.as_deref(), Some("handlers"));
        assert_eq!(of_handler.retry.max_attempts, Some(5));
        assert_eq!(of_handler.retry.backoff, None);
        settings.0.queue = Some("operators".into());
        let of_operator = door_defaults(&settings, &catalog, "k");
        assert_eq!(of_operator.queue.as_deref(), Some("operators"));
        assert_eq!(
            door_defaults(&settings, &catalog, "other").retry,
            RetryPolicy::default()
        );
    }
}

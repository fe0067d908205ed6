//! The configuration, as the engine looks things up in it.

use std::collections::BTreeMap;

use sandhog_cron::{SignedDuration, plan::CatchUp};
use sandhog_model::NewJob;

use crate::{
    config::{self, Config, CronSettings},
    engine::{CronBook, CronEntry, CronOverlap, KindRule, Settings},
};

/// The operator's settings.
pub(super) struct Operator(pub(super) Config);

impl Settings for Operator {
    fn rule(&self, kind: &str) -> KindRule {
        let defaults = self.0.defaults_for(kind);
        let mut limits = self.0.limits_for(kind);
        // The kind's own wall time comes before the handler's, the general one after it.
        limits.timeout_ms = self.0.limits.timeout.as_millis() as u64;
        KindRule {
            queue: defaults.queue,
            timeout_ms: defaults.timeout_ms,
            retry: defaults.retry,
            max_age_ms: defaults.max_age_ms,
            retry_for_ms: defaults.retry_for_ms,
            limits,
            config: self.0.handler_config(kind),
        }
    }
}

/// The schedules of the settings, and how those are read that were added.
pub(super) fn book(config: &Config) -> CronBook {
    let entries = config.cron.iter().map(|(name, settings)| {
        let entry = entry(settings).expect("the settings were checked");
        (name.clone(), entry)
    });
    CronBook::new(
        entries.collect::<BTreeMap<_, _>>(),
        Box::new(|name, text| {
            let read = config::parse_cron(name, text).map_err(|error| error.to_string())?;
            entry(&read)
        }),
    )
}

fn entry(settings: &CronSettings) -> Result<CronEntry, String> {
    let seconds = |span: std::time::Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    let payload = settings.payload.clone().unwrap_or_default();
    let is_json = serde_json::from_str::<serde_json::Value>(&payload).is_ok();
    let content_type = match (payload.is_empty(), is_json) {
        (true, _) => None,
        (false, true) => Some("application/json".to_owned()),
        (false, false) => Some("text/plain; charset=utf-8".to_owned()),
    };
    Ok(CronEntry {
        schedule: settings.read()?,
        job: NewJob {
            kind: settings.kind.clone(),
            queue: settings.queue.clone(),
            priority: Some(settings.priority),
            payload: payload.into_bytes(),
            content_type,
            ..NewJob::default()
        },
        overlap: match settings.overlap {
            config::Overlap::Skip => CronOverlap::Skip,
            config::Overlap::BufferOne => CronOverlap::BufferOne,
            config::Overlap::Allow => CronOverlap::Allow,
            config::Overlap::CancelOther => CronOverlap::CancelOther,
        },
        catch_up: match settings.catch_up {
            config::CatchUp::None => CatchUp::None,
            config::CatchUp::Latest => CatchUp::Latest,
            config::CatchUp::All => CatchUp::All,
        },
        window: SignedDuration::from_secs(seconds(settings.catch_up_window)),
        jitter_ms: settings.jitter.as_millis() as u64,
    })
}

//! The configuration, as the engine looks things up in it.

use std::{collections::BTreeMap, fs, io::ErrorKind, sync::Arc};

use sandhog_cron::{SignedDuration, plan::CatchUp};
use sandhog_model::NewJob;

use super::{http, reload::InForce, traces};
use crate::{
    config::{self, Config, ConfigError, CronSettings, Refusal},
    engine::{CronBook, CronEntry, CronOverlap, KindRule, Settings},
    plugin::Limits,
    store::Store,
};

/// The operator's settings, as they are in force.
pub(super) struct Operator {
    in_force: Arc<InForce>,
    /// Those of the start, which the sandboxes were built for.
    start: Arc<Config>,
}

impl Operator {
    /// Those in force now are those of the start.
    pub(super) fn new(in_force: Arc<InForce>) -> Self {
        let start = in_force.now();
        Self { in_force, start }
    }
}

impl Settings for Operator {
    fn rule(&self, kind: &str) -> KindRule {
        let config = self.in_force.now();
        let defaults = config.defaults_for(kind);
        let built = self.start.limits_for(kind);
        let limits = Limits {
            // The kind's own wall time comes before the handler's, the general one after it.
            timeout_ms: config.limits.timeout.as_millis() as u64,
            memory: built.memory,
            table_elements: built.table_elements,
            ..config.limits_for(kind)
        };
        KindRule {
            queue: defaults.queue,
            timeout_ms: defaults.timeout_ms,
            retry: defaults.retry,
            max_age_ms: defaults.max_age_ms,
            retry_for_ms: defaults.retry_for_ms,
            limits,
            config: config.handler_config(kind),
        }
    }
}

/// Refuse what a start cannot go on with although each value is right in itself: what values come to together, and
/// what is in the files that they name.
pub(super) fn usable(config: &Config) -> Result<(), ConfigError> {
    let refused = [
        of_data(config),
        http::refused(config),
        traces::refused(config),
    ];
    let refusals: Vec<Refusal> = refused.into_iter().flatten().collect();
    match refusals.is_empty() {
        true => Ok(()),
        false => Err(ConfigError::Refused { refusals }),
    }
}

/// What is in the way of the data directory.
fn of_data(config: &Config) -> Option<Refusal> {
    let data = &config.runner.data;
    let is_in_the_way = match fs::metadata(data) {
        Ok(there) => !there.is_dir(),
        Err(error) => error.kind() == ErrorKind::NotADirectory,
    };
    is_in_the_way.then(|| {
        let why = format!(
            "{} cannot be a directory, a file is in its way: name another place",
            data.display()
        );
        config.refusal("runner.data", why)
    })
}

/// Say what is odd about the settings, beside the jobs that there are.
pub(super) async fn tell_strays(config: &Config, store: &dyn Store) {
    if config.order.first.is_none() {
        return;
    }
    // Whoever cannot be asked is told of elsewhere.
    let rows = store.queues().await.unwrap_or_default();
    let there = rows.into_iter().map(|row| row.queue).collect();
    for stray in config.stray_queues(&there) {
        tracing::warn!("{stray}");
    }
}

/// The schedules of the settings, and how those are read that were added.
pub(super) fn book(config: &Config) -> CronBook {
    CronBook::new(
        entries(config).expect("the settings were checked"),
        Box::new(|name, text| {
            let read = config::parse_cron(name, text);
            let read = read.map_err(|why| format!("schedule {name}: {why}"))?;
            entry(&read)
        }),
    )
}

/// The schedules of the settings.
pub(super) fn entries(config: &Config) -> Result<BTreeMap<String, CronEntry>, String> {
    let read = |(name, settings): (&String, &CronSettings)| Ok((name.clone(), entry(settings)?));
    config.cron.iter().map(read).collect()
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

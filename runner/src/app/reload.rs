//! Settings that are read again while a runner runs.
//!
//! What a reload takes in is swapped in one room after the other, each at once for what begins from then on;
//! attempts that run go on as they began.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::{
    http,
    logging::LogLevel,
    settings::{entries, tell_strays},
};
use crate::{
    api::{self, ApiError, Difference, ErrorCode, Reloaded, SettingsInForce},
    cli::ReadSettings,
    config::{self, Config, differences},
    engine::CronBook,
    metrics::Metrics,
    plugin::{Outside, Registry},
    store::{Store, StoreError},
    web::{Guard, Tokens},
};

/// The settings that count for what begins now.
#[derive(Debug)]
pub(super) struct InForce(RwLock<Arc<Config>>);

impl InForce {
    pub(super) fn new(config: Config) -> Arc<Self> {
        Arc::new(Self(RwLock::new(Arc::new(config))))
    }

    pub(super) fn now(&self) -> Arc<Config> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&held)
    }

    fn put(&self, config: Arc<Config>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
    }
}

/// What follows the settings.
pub(super) struct Followers {
    pub(super) in_force: Arc<InForce>,
    pub(super) store: Arc<dyn Store>,
    pub(super) registry: Arc<Registry>,
    pub(super) outside: Arc<Outside>,
    pub(super) crons: Arc<CronBook>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) level: LogLevel,
    /// Who may ask over HTTP, when the runner is reached so.
    pub(super) guard: Option<Guard>,
}

/// Give the queues that the settings name a label of their own.
pub(super) fn label_queues(metrics: &Metrics, config: &Config) {
    let first = config.order.first.iter().flatten();
    let named = config.queues.keys().chain(first).map(String::as_str);
    metrics.jobs.queues.only(named.chain(["default"]));
}

/// Reads the settings again.
pub(super) struct Reloader {
    read: ReadSettings,
    followers: Followers,
    /// The settings of the start.
    start: Arc<Config>,
    /// The settings as they were last read, of which some may count from the next start only.
    last: Mutex<Arc<Config>>,
    /// One at a time.
    turn: tokio::sync::Mutex<()>,
}

/// Why the settings that are there do not count.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReloadError {
    #[error("{0}; the settings of before stay in force")]
    Refused(String),
    #[error(
        "the store did not take in the queues' settings: {0}; the settings of before stay in force"
    )]
    Store(#[from] StoreError),
}

impl Reloader {
    pub(super) fn new(read: ReadSettings, followers: Followers) -> Arc<Self> {
        let start = followers.in_force.now();
        Arc::new(Self {
            read,
            followers,
            last: Mutex::new(Arc::clone(&start)),
            start,
            turn: tokio::sync::Mutex::new(()),
        })
    }

    /// Read the settings, and have everyone follow them. What differs from the last time.
    pub(super) async fn reload(&self) -> Result<Vec<Difference>, ReloadError> {
        let _turn = self.turn.lock().await;
        let read = (self.read)().map_err(|error| ReloadError::Refused(error.to_string()))?;
        self.still_there(&read)?;
        let schedules = entries(&read).map_err(ReloadError::Refused)?;
        let tokens = match &self.followers.guard {
            Some(guard) => Some((guard, tokens(&read, guard)?)),
            None => None,
        };
        let config = Arc::new(read);
        let Followers {
            in_force,
            store,
            registry,
            outside,
            crons,
            metrics,
            level,
            guard: _,
        } = &self.followers;
        // First what can fail; nothing else has changed by then.
        store.govern(Arc::new(config.queue_rules())).await?;
        let ceilings = Arc::new(config.ceilings());
        outside.follow(&ceilings);
        registry.bound_by(ceilings);
        in_force.put(Arc::clone(&config));
        crons.replace(schedules);
        label_queues(metrics, &config);
        level.set(&config.log.level);
        let changed = tokens.and_then(|(guard, tokens)| {
            let changed = token_difference(&guard.now(), &tokens);
            guard.put(tokens);
            changed
        });
        registry.look();
        tell_strays(&config, &**store).await;

        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = differences(&last, &config);
        found.extend(changed);
        *last = config;
        Ok(found)
    }

    /// Whoever saves a file may take it away for a moment: that is no wish to have no settings.
    fn still_there(&self, read: &Config) -> Result<(), ReloadError> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match (&last.file, &read.file) {
            (Some(gone), None) => Err(ReloadError::Refused(format!(
                "{} is not there any more: put it back, or empty it to go without",
                gone.display()
            ))),
            _ => Ok(()),
        }
    }

    /// The same, told in the log.
    pub(super) async fn reload_and_tell(&self) -> Result<Vec<Difference>, ReloadError> {
        let done = self.reload().await;
        match &done {
            Ok(found) if found.is_empty() => tracing::info!("settings read again: nothing differs"),
            Ok(found) => {
                for one in found {
                    tracing::info!("settings read again: {one}");
                }
            }
            Err(error) => tracing::error!(%error, "the settings were not taken in"),
        }
        done
    }
}

/// The tokens that the settings name now. A runner that asks for them goes on asking: it may listen where
/// everybody could come in.
fn tokens(config: &Config, guard: &Guard) -> Result<Tokens, ReloadError> {
    let read = http::tokens(config).map_err(|error| ReloadError::Refused(error.to_string()))?;
    if read.is_empty() && !guard.now().is_empty() {
        let why =
            "no token is left, which counts from a start only: name some with `http.token_file`";
        return Err(ReloadError::Refused(why.to_owned()));
    }
    Ok(read)
}

/// What differs in the tokens: how many, for what they are is shown to nobody.
fn token_difference(before: &Tokens, after: &Tokens) -> Option<Difference> {
    let (new, gone) = (after.beyond(before), before.beyond(after));
    (new + gone > 0).then(|| Difference {
        key: "the tokens of http.token_file".to_owned(),
        before: Some(before.len().to_string()),
        after: Some(format!("{}, {new} of them new, {gone} gone", after.len())),
        at_once: true,
    })
}

impl api::Reload for Reloader {
    fn reload(&self) -> Reloaded<'_> {
        Box::pin(async move {
            let done = self.reload_and_tell().await;
            done.map_err(|error| match error {
                ReloadError::Refused(_) => ApiError::new(ErrorCode::Invalid, error.to_string()),
                ReloadError::Store(error) => error.into(),
            })
        })
    }

    fn settings(&self) -> SettingsInForce {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        config::in_force(&self.start, &last)
    }
}

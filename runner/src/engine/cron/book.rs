//! Which schedules there are: those of the settings, and those that were added while a runner was up.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use sandhog_model::cron::CronState;
use tokio::sync::Notify;

use super::CronEntry;

/// Reads an entry that was added, by its name and its text.
pub type ReadEntry = Box<dyn Fn(&str, &str) -> Result<CronEntry, String> + Send + Sync>;

/// What each schedule is to do.
pub struct CronBook {
    settings: RwLock<OfSettings>,
    read: ReadEntry,
    changed: Notify,
}

/// The schedules of the settings.
#[derive(Clone, Default)]
struct OfSettings {
    entries: Arc<BTreeMap<String, CronEntry>>,
    /// Grows with each reading of the settings.
    reading: u64,
}

impl CronBook {
    /// The schedules of the settings, and how others are read.
    #[must_use]
    pub fn new(settings: BTreeMap<String, CronEntry>, read: ReadEntry) -> Self {
        Self {
            settings: RwLock::new(OfSettings {
                entries: Arc::new(settings),
                reading: 0,
            }),
            read,
            changed: Notify::new(),
        }
    }

    /// The schedules of the settings.
    #[must_use]
    pub fn settings(&self) -> Arc<BTreeMap<String, CronEntry>> {
        self.reading().1
    }

    /// The same, with a number that grows when they are replaced.
    pub(super) fn reading(&self) -> (u64, Arc<BTreeMap<String, CronEntry>>) {
        let held = self.settings.read().unwrap_or_else(PoisonError::into_inner);
        (held.reading, Arc::clone(&held.entries))
    }

    /// Put other schedules in the place of those of the settings.
    pub fn replace(&self, settings: BTreeMap<String, CronEntry>) {
        let mut held = self
            .settings
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        held.entries = Arc::new(settings);
        held.reading += 1;
        drop(held);
        self.tell();
    }

    /// What a schedule is to do: the settings come before what was added. `None` when neither has it.
    ///
    /// # Errors
    /// What was added cannot be read by this version: why.
    pub fn entry(&self, name: &str, state: &CronState) -> Option<Result<CronEntry, String>> {
        match self.settings().get(name) {
            Some(entry) => Some(Ok(entry.clone())),
            None => state.entry.as_deref().map(|text| self.read(name, text)),
        }
    }

    /// An entry that is to be added.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&self, name: &str, text: &str) -> Result<CronEntry, String> {
        (self.read)(name, text)
    }

    /// Have the clockwork look again: something changed.
    pub fn tell(&self) {
        self.changed.notify_one();
    }

    pub(super) async fn told(&self) {
        self.changed.notified().await;
    }
}

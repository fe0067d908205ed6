//! Which schedules there are: those of the settings, and those that were added while a runner was up.

use std::collections::BTreeMap;

use sandhog_model::cron::CronState;
use tokio::sync::Notify;

use super::CronEntry;

/// Reads an entry that was added, by its name and its text.
pub type ReadEntry = Box<dyn Fn(&str, &str) -> Result<CronEntry, String> + Send + Sync>;

/// What each schedule is to do.
pub struct CronBook {
    settings: BTreeMap<String, CronEntry>,
    read: ReadEntry,
    changed: Notify,
}

impl CronBook {
    /// The schedules of the settings, and how others are read.
    #[must_use]
    pub fn new(settings: BTreeMap<String, CronEntry>, read: ReadEntry) -> Self {
        Self {
            settings,
            read,
            changed: Notify::new(),
        }
    }

    /// The schedules of the settings.
    #[must_use]
    pub fn settings(&self) -> &BTreeMap<String, CronEntry> {
        &self.settings
    }

    /// What a schedule is to do: the settings come before what was added. `None` when neither has it.
    ///
    /// # Errors
    /// What was added cannot be read by this version: why.
    pub fn entry(&self, name: &str, state: &CronState) -> Option<Result<CronEntry, String>> {
        match self.settings.get(name) {
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

//! The schedules of the double: one of the settings, others as they are added.

use std::collections::BTreeMap;

use sandhog_cron::{Schedule, SignedDuration, Zone, plan::CatchUp};
use sandhog_model::{Command, Event, NewJob, Now, RecordAt, UnixMs, cron::CronWish};

use super::Double;
use crate::{
    engine::{CronBook, CronEntry, CronOverlap},
    store::{CronDone, CronRow, StoreError},
};

/// The instant of every change.
pub(super) const NOW: Now = Now {
    wall: UnixMs(1_790_000_000_000),
    mono: 0,
};

fn entry(schedule: &str) -> Result<CronEntry, String> {
    let schedule = Schedule::parse(schedule, Zone::utc());
    Ok(CronEntry {
        schedule: schedule.map_err(|refused| refused.to_string())?,
        job: NewJob {
            kind: "page".into(),
            ..NewJob::default()
        },
        overlap: CronOverlap::Skip,
        catch_up: CatchUp::None,
        window: SignedDuration::ZERO,
        jitter_ms: 0,
    })
}

/// `nightly` at 02:30 UTC; one that is added has its text as the kind, unless that is `bad`.
pub(super) fn book() -> CronBook {
    let nightly = entry("30 2 * * *").expect("a schedule");
    CronBook::new(
        BTreeMap::from([("nightly".into(), nightly)]),
        Box::new(|_, text| {
            if text.contains("bad") {
                return Err("schedule extra:1: no such kind of thing".into());
            }
            entry("0 0 1 1 *")
        }),
    )
}

impl Double {
    pub(super) fn cron_rows(&self) -> Vec<CronRow> {
        let inner = self.inner.lock().unwrap();
        let rows = inner.crons.crons().map(|(name, state)| CronRow {
            name: name.into(),
            state: state.clone(),
            latest: state
                .latest
                .and_then(|id| inner.crons.get(id))
                .map(|entry| entry.status),
        });
        rows.collect()
    }

    pub(super) fn change_cron(&self, wish: CronWish) -> Result<CronDone, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        let name = wish.name.clone();
        let events: Vec<Event> = inner.crons.decide(Command::Cron(wish), NOW, 0)?;
        for event in &events {
            let taken = inner.crons.evolve(event, RecordAt(1), 0);
            taken.expect("what was decided is sound");
        }
        Ok(CronDone {
            state: inner.crons.cron(&name).cloned(),
            called_off: None,
        })
    }
}

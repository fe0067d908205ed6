//! What is promised of schedules.

use sandhog_model::{
    Event, Now, Rejected,
    cron::{CronChange, CronWish},
};

use super::{Auditor, amend::called_off};
use crate::predict::Known;

impl Auditor {
    /// A slot gets one job at most, and only a job that nobody has; what is called off for it is.
    pub(super) fn cron(
        &mut self,
        wish: &CronWish,
        now: Now,
        answer: &Result<Vec<Event>, Rejected>,
    ) {
        let before: Vec<Known> = self.jobs.clone();
        for event in answer.iter().flatten() {
            match event {
                Event::Cron {
                    name, state, job, ..
                } => {
                    assert_eq!(name, &wish.name);
                    if let CronChange::Define(entry) = &wish.change {
                        let known = self.defined.get(name).map(|(known, _)| known);
                        if known != Some(entry) {
                            let since = (entry.clone(), now.wall);
                            self.defined.insert(name.clone(), since);
                        }
                    }
                    let Some(job) = job else { continue };
                    assert!(self.job(job.id).is_none(), "a new job");
                    assert_eq!(state.latest, Some(job.id));
                    self.jobs.retain(|known| known.id != job.id);
                    self.jobs.push(Known::new(job));
                    if let CronChange::Slot(due) = &wish.change {
                        let slot = (name.clone(), due.at.0);
                        assert!(!self.slots.contains(&slot), "a slot got two jobs");
                        let since = self.defined.get(name).map(|(_, since)| *since);
                        assert!(
                            since.is_none_or(|since| due.at > since),
                            "a slot of before the schedule was what it is"
                        );
                        self.slots.push(slot);
                    }
                }
                Event::CronForgotten { name, .. } => {
                    self.slots.retain(|(slot, _)| slot != name);
                    self.defined.remove(name);
                }
                Event::Cancelled { id, cancel } | Event::CancelAsked { id, cancel, .. } => {
                    let how = cancel.how;
                    let job = self.job(*id).expect("it has not ended");
                    called_off(job, how, now, &Ok(vec![event.clone()]));
                }
                other => panic!("a schedule's wish gave {other:?}"),
            }
        }
        if answer.is_err() {
            assert_eq!(before, self.jobs);
        }
    }
}

//! Wishes about schedules.

use sandhog_model::{
    Command, Event, RecordAt, UnixMs,
    cron::{CronChange, CronWish, DueSlot, Overlap, Span},
};

use super::World;

impl World {
    /// Slots are whole seconds, up to two before the clock; mostly the wish is about a slot.
    pub(super) fn cron(&mut self, name: u8, change: u8, overlap: u8, step: u64) -> Command {
        let name = format!("c{name}");
        let slot = UnixMs((self.now.wall.0 / 1_000).saturating_sub(step) * 1_000);
        let state = self.ledger.cron(&name).cloned().unwrap_or_default();
        let after = UnixMs(slot.0 - 1_000 + step * 300);
        let span = Span { after, upto: slot };
        let job = self.fresh("k2");
        let id = job.id;
        let change = match change {
            0 => CronChange::Pass(span),
            1 => CronChange::Trigger(Box::new(job)),
            2 => CronChange::Pause {
                by: "ada".into(),
                reason: None,
            },
            3 | 4 => CronChange::Resume,
            5 => CronChange::Define(format!("entry {}", overlap % 2)),
            6 if overlap == 0 => CronChange::Forget,
            7 | 8 => CronChange::Release {
                slot: state.waiting.unwrap_or(slot),
                job: Box::new(job),
            },
            9 | 10 => CronChange::Begin,
            _ => CronChange::Slot(Box::new(DueSlot {
                at: slot,
                done: span,
                job,
                overlap: match overlap {
                    0 => Overlap::Skip,
                    1 => Overlap::BufferOne,
                    2 => Overlap::Allow,
                    _ => Overlap::CancelOther {
                        by: "cron".into(),
                        reason: None,
                    },
                },
            })),
        };
        self.ids.push(id);
        Command::Cron(CronWish { name, change })
    }

    /// Schedules told of before a place are told of anew.
    pub(super) fn carry_crons(&mut self, before: RecordAt) {
        let crons = self.ledger.crons_before(before);
        let crons: Vec<_> = crons
            .map(|(name, state)| (name.to_owned(), state.clone()))
            .collect();
        for (name, state) in crons {
            self.take_in(Event::Cron {
                name,
                at: self.now.wall,
                state: Box::new(state),
                job: None,
            });
        }
    }
}

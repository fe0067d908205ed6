//! Taking jobs in, of which the records are made.

use sandhog_model::{Admission, Event, Fact, JobId, Now, Rejected, Slim, UnixMs};

use super::{
    room::Room,
    wish::Coming,
    writer::{Unstaged, WithLetter, Writer},
};
use crate::store::{Taken, frames};

impl Writer {
    /// Take a job in, of which the record is made.
    pub(super) fn accept(&mut self, coming: &Coming, now: Now) -> Result<Taken, Unstaged> {
        let body = match &coming.body {
            Ok(body) => body,
            Err(why) => return Err(Unstaged::Refused(Rejected::Invalid(why.clone()).into())),
        };
        let taken = frames::with_slim(body, |slim| self.accept_slim(coming.id, body, slim, now));
        taken.map_err(Unstaged::Poison)?
    }

    fn accept_slim(
        &mut self,
        id: JobId,
        body: &[u8],
        slim: &Slim<'_>,
        now: Now,
    ) -> Result<Taken, Unstaged> {
        let admitted = match &slim.fact {
            Fact::Enqueued(job) => self.ledger.admit(job, now),
            _ => Err(Rejected::Invalid("a record that accepts no job".to_owned())),
        };
        let admission = match admitted {
            Ok(Admission::Postpone { id, due }) => return self.postpone(id, due, now),
            Ok(admission) => admission,
            Err(rejected) => {
                // Whoever hears of the job that is there relies on it.
                self.batch.wants_sync |= matches!(rejected, Rejected::Duplicate { .. });
                return Err(Unstaged::Refused(rejected.into()));
            }
        };
        if let Admission::InPlaceOf(replaced) = admission {
            self.replace(replaced, body, now)?;
            return Ok(Taken::InPlaceOf { id, replaced });
        }
        self.reserve(body.len(), Room::NewWork, now.mono)?;
        self.append(body, slim, now)?;
        self.batch.accepted(id);
        Ok(Taken::New(id))
    }

    /// A job takes the place of a waiting one: both in one record.
    fn replace(&mut self, id: JobId, body: &[u8], now: Now) -> Result<(), Unstaged> {
        let record = frames::decode_record(body).map_err(Unstaged::Poison)?;
        if let Event::Enqueued(job) = record.event {
            self.stage(Event::Replaced { id, job }, WithLetter::Write, now)?;
        }
        Ok(())
    }

    /// A waiting job becomes due at another instant, and is the answer.
    fn postpone(&mut self, id: JobId, due: UnixMs, now: Now) -> Result<Taken, Unstaged> {
        let at = now.wall;
        let is_due = self.ledger.look(id).map(|seen| seen.status().at());
        if is_due != Some(due) {
            self.stage(Event::Postponed { id, at, due }, WithLetter::Write, now)?;
        }
        self.batch.wants_sync = true;
        Ok(Taken::PutOff { id, due })
    }
}

//! Lists of the jobs that wait for an instant, in that order, the earliest first.

use sandhog_model::{JobId, Now, Rejected, UnixMs};

use super::{
    Wal,
    actor::Actor,
    list::{PARTS, no_cursor},
    serve::SCAN_ENTRIES,
    views,
    wish::{DuePlace, Known, ScanAsk, ScannedDue},
};
use crate::store::{JobFilter, JobRow, Page, StoreError};

impl Wal {
    /// A page of them. A cursor names the last row shown with its instant, so that jobs which come, or go since
    /// they are due, shift nothing.
    pub(super) async fn due_page(
        &self,
        filter: JobFilter,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<JobRow>, StoreError> {
        if filter.parent.is_some() || filter.is_of_records() {
            let why =
                "jobs by the instant that they wait for are not chosen by parent, tag or header";
            return Err(Rejected::Invalid(why.to_owned()).into());
        }
        let mut after = cursor.map(parse).transpose()?;
        let (mut found, mut parts) = (Vec::new(), 0);
        loop {
            // One more than shown tells whether there is a next page.
            let wanted = limit + 1 - found.len();
            let scanned = self
                .ask(|reply| ScanAsk::Due {
                    filter: filter.clone(),
                    after,
                    limit: wanted,
                    reply,
                })
                .await?;
            found.extend(scanned.found);
            after = scanned.resume;
            parts += 1;
            if after.is_none() || found.len() > limit || parts == PARTS {
                break;
            }
        }
        if found.len() > limit {
            found.truncate(limit);
            after = found
                .last()
                .map(|known| (known.entry.status.at(), known.id));
        }
        let next = after.map(|(at, id)| format!("{}-{id}", at.0));
        let rows = self.rows(found).await?;
        Ok(Page { rows, next })
    }
}

fn parse(text: &str) -> Result<DuePlace, StoreError> {
    let read = || {
        let (at, id) = text.split_once('-')?;
        let digits = at.bytes().all(|b| b.is_ascii_digit());
        let at = at.parse().ok().filter(|_| digits)?;
        Some((UnixMs(at), id.parse().ok()?))
    };
    read().ok_or_else(|| no_cursor(text))
}

impl Actor {
    pub(super) fn scan_due(
        &self,
        filter: &JobFilter,
        after: Option<DuePlace>,
        limit: usize,
        now: Now,
    ) -> ScannedDue {
        let mut found = Vec::new();
        let settled = self.writer.settled_to().last_id;
        // Those whose instant has come wait for no instant any more.
        let due_now = (now.wall, JobId(u128::MAX));
        let (at, id) = after.map_or(due_now, |after| after.max(due_now));
        let waiting = self.writer.ledger.due_after(at, id);
        for (looked, (at, id, seen)) in waiting.enumerate() {
            let state = seen.status().state(now.wall);
            let is_in_span = id >= filter.first() && filter.below().is_none_or(|below| id < below);
            // Nobody was told yet of one that was accepted a moment ago.
            if Some(id) <= settled
                && is_in_span
                && views::matches(filter, seen.kind(), seen.queue(), state)
            {
                let entry = seen.entry();
                if filter.batch.is_none_or(|batch| entry.batch == Some(batch)) {
                    found.push(Known { id, entry, state });
                }
            }
            if found.len() == limit || looked + 1 == SCAN_ENTRIES {
                let resume = Some((at, id));
                return ScannedDue { found, resume };
            }
        }
        ScannedDue {
            found,
            resume: None,
        }
    }
}

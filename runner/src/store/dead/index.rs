//! What is kept in memory of each letter: enough for a list.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    ops::Bound,
};

use sandhog_model::{JobId, State, Token, UnixMs};

use super::newest_first;
use crate::store::{DeadRow, JobFilter, Page, PageRequest};

/// Garbage below this many bytes is left in the file.
const GARBAGE_BYTES: u64 = 1 << 20;

/// Where an entry's frame lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// What is known of one letter.
pub(super) struct Known {
    pub(super) row: DeadRow,
    pub(super) token: Token,
    pub(super) place: Place,
}

type Order = (Reverse<UnixMs>, Reverse<JobId>);

/// A cursor that no list gave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no cursor: use the `next` of an earlier page")]
pub struct BadCursor(pub String);

/// All letters, by id and newest first.
#[derive(Default)]
pub(super) struct Index {
    by_id: HashMap<JobId, Known>,
    newest: BTreeMap<Order, ()>,
    live_bytes: u64,
    garbage_bytes: u64,
}

impl Index {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, id: JobId) -> Option<&Known> {
        self.by_id.get(&id)
    }

    pub(super) fn tokens(&self) -> Vec<(JobId, Token)> {
        self.newest
            .keys()
            .filter_map(|(_, Reverse(id))| Some((*id, self.by_id.get(id)?.token)))
            .collect()
    }

    pub(super) fn insert(&mut self, row: DeadRow, token: Token, place: Place) {
        self.remove(row.id);
        self.live_bytes += place.len;
        self.newest.insert(newest_first(row.died_at, row.id), ());
        self.by_id.insert(row.id, Known { row, token, place });
    }

    pub(super) fn remove(&mut self, id: JobId) {
        if let Some(known) = self.by_id.remove(&id) {
            self.newest.remove(&newest_first(known.row.died_at, id));
            self.live_bytes -= known.place.len;
            self.garbage_bytes += known.place.len;
        }
    }

    pub(super) fn add_garbage(&mut self, bytes: u64) {
        self.garbage_bytes += bytes;
    }

    /// Whether most of the file is entries that no longer count.
    pub(super) fn wants_rewrite(&self) -> bool {
        self.garbage_bytes > self.live_bytes && self.garbage_bytes > GARBAGE_BYTES
    }

    /// The ids and places of all letters, oldest first: the order a rewrite keeps.
    pub(super) fn oldest_first(&self) -> Vec<(JobId, Place)> {
        self.newest
            .keys()
            .rev()
            .filter_map(|(_, Reverse(id))| Some((*id, self.by_id.get(id)?.place)))
            .collect()
    }

    /// The file holds these letters and nothing else now.
    pub(super) fn moved(&mut self, places: &[(JobId, Place)]) {
        self.garbage_bytes = 0;
        self.live_bytes = 0;
        for (id, place) in places {
            if let Some(known) = self.by_id.get_mut(id) {
                known.place = *place;
                self.live_bytes += place.len;
            }
        }
    }

    pub(super) fn beyond(&self, keep: usize) -> Vec<JobId> {
        let excess = self.newest.len().saturating_sub(keep);
        self.newest
            .keys()
            .rev()
            .take(excess)
            .map(|(_, Reverse(id))| *id)
            .collect()
    }

    pub(super) fn list(
        &self,
        filter: &JobFilter,
        page: &PageRequest,
    ) -> Result<Page<DeadRow>, BadCursor> {
        let start = match &page.cursor {
            None => Bound::Unbounded,
            Some(text) => Bound::Excluded(parse_cursor(text)?),
        };
        let limit = page.limit.clamp(1, 1000);
        let mut rows: Vec<DeadRow> = Vec::new();
        let mut more = false;
        if filter.state.is_none_or(|state| state == State::Dead) {
            for (_, Reverse(id)) in self
                .newest
                .range((start, Bound::Unbounded))
                .map(|(key, ())| key)
            {
                let Some(known) = self.by_id.get(id) else {
                    continue;
                };
                if !matches_filter(&known.row, filter) {
                    continue;
                }
                if rows.len() == limit {
                    more = true;
                    break;
                }
                rows.push(known.row.clone());
            }
        }
        let next = rows
            .last()
            .filter(|_| more)
            .map(|row| format!("{}-{}", row.died_at.0, row.id));
        Ok(Page { rows, next })
    }
}

fn matches_filter(row: &DeadRow, filter: &JobFilter) -> bool {
    filter
        .queue
        .as_ref()
        .is_none_or(|queue| *queue == row.queue)
        && filter.kind.as_ref().is_none_or(|kind| *kind == row.kind)
}

/// A cursor names the last row shown, not a position, so that rows which come and go in between
/// shift nothing.
fn parse_cursor(text: &str) -> Result<Order, BadCursor> {
    let bad = || BadCursor(text.chars().take(64).collect());
    let (died_at, id) = text.split_once('-').ok_or_else(bad)?;
    let died_at = died_at.parse().map_err(|_| bad())?;
    let id = id.parse().map_err(|_| bad())?;
    Ok(newest_first(UnixMs(died_at), id))
}

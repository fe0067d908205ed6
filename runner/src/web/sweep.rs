//! A change of all dead letters that a filter fits. Which they are is settled before the first is changed, so that letters
//! which come meanwhile are left alone; then it goes on by pieces, no faster than wished, as long as whoever asked is there.

use std::time::Duration;

use bytes::Bytes;
use sandhog_model::UnixMs;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, sleep_until},
};

use super::{
    audit::Change,
    problem::Problem,
    site::{Asking, Site, mismatch},
};
use crate::{
    api::{ApiError, Reply, Request, Response},
    store::{DeadFilter, DeadRow, LetterName, LetterRef, PageRequest},
};

/// Letters looked up at a time.
const PAGE: usize = 1_000;
/// Letters in a piece: few enough that others who want something of the store are soon served.
const PIECE: usize = 250;
/// Refused letters that are named; all are counted.
const NAMED: usize = 1_000;
/// How often a word is said while there is nothing to tell, so that whoever is between keeps the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Letters a second that are brought back when nobody says otherwise.
pub(super) const USUAL_PER_SECOND: u32 = 100;

/// A change of letters, or only what would become of them.
pub(super) type Wish = fn(Vec<LetterRef>, bool) -> Request;

/// Give them fresh attempts.
pub(super) fn requeue(letters: Vec<LetterRef>, dry_run: bool) -> Request {
    Request::Requeue { letters, dry_run }
}

/// Delete them.
pub(super) fn forget(letters: Vec<LetterRef>, dry_run: bool) -> Request {
    Request::Delete { letters, dry_run }
}

/// Letters, and what is to be done with each of them.
pub(super) struct Sweep {
    pub(super) letters: Vec<LetterRef>,
    pub(super) wish: Wish,
    /// At most so many a second.
    pub(super) per_second: Option<u32>,
}

/// What became of letters.
#[derive(Default)]
pub(super) struct Swept {
    pub(super) done: u64,
    pub(super) refused: u64,
    /// Refused ones, the first 1000.
    pub(super) named: Vec<(LetterName, ApiError)>,
    /// Why it ended before its end.
    pub(super) stopped: Option<String>,
}

impl Swept {
    fn take(&mut self, letters: &[LetterRef], answers: Vec<Result<LetterName, ApiError>>) {
        for (letter, answer) in letters.iter().zip(answers) {
            match answer {
                Ok(_) => self.done += 1,
                Err(error) => {
                    self.refused += 1;
                    if self.named.len() < NAMED {
                        self.named.push((letter.name, error));
                    }
                }
            }
        }
    }

    fn stopped(mut self, why: impl Into<String>) -> Self {
        let why = why.into();
        let (done, refused) = (self.done, self.refused);
        tracing::warn!(done, refused, why = ?why, "a change of all letters that fit ended early");
        self.stopped = Some(why);
        self
    }
}

/// A row's letter, with its token, so that another death of the job is left alone.
pub(super) fn reference(row: &DeadRow) -> LetterRef {
    LetterRef {
        name: row.name,
        token: row.unreadable.is_none().then_some(row.token),
    }
}

/// The letters that fit and were there at an instant.
pub(super) async fn gather(
    site: &Site,
    asking: &Asking,
    filter: &DeadFilter,
    until: UnixMs,
) -> Result<Vec<LetterRef>, Problem> {
    let (mut letters, mut cursor) = (Vec::new(), None);
    loop {
        let page = PageRequest {
            limit: PAGE,
            cursor,
        };
        let filter = filter.clone();
        let page = match site.ask(Request::Dead { filter, page }, asking).await? {
            Response::Dead(page) => page,
            other => return Err(mismatch(&other)),
        };
        let was_there = |row: &&DeadRow| row.unreadable.is_some() || row.died_at <= until;
        letters.extend(page.rows.iter().filter(was_there).map(reference));
        cursor = page.next;
        if cursor.is_none() {
            return Ok(letters);
        }
    }
}

/// What a change answered of each letter.
pub(super) fn amended(reply: Reply) -> Result<Vec<Result<LetterName, ApiError>>, Problem> {
    match reply? {
        Response::Amended(answers) => Ok(answers),
        other => Err(mismatch(&other)),
    }
}

impl Sweep {
    /// What would become of the letters.
    pub(super) async fn weigh(&self, site: &Site, asking: &Asking) -> Result<Swept, Problem> {
        let mut swept = Swept::default();
        for piece in self.letters.chunks(PIECE) {
            let asked = site.ask((self.wish)(piece.to_vec(), true), asking).await;
            swept.take(piece, amended(asked)?);
        }
        Ok(swept)
    }

    /// Do it, until it is done, the reader goes away or the runner stops. `tell` writes what the reader hears on the way.
    pub(super) async fn work(
        &self,
        site: &Site,
        asking: &Asking,
        to: &mpsc::Sender<Bytes>,
        tell: impl FnMut(&Swept) -> Option<String>,
    ) -> Swept {
        let (piece, count) = ((self.wish)(Vec::new(), false), self.letters.len());
        let change = Change::of_all(&piece, count, &asking.caller, asking.peer);
        let swept = self.by_pieces(site, asking, to, tell).await;
        if let Some(change) = change {
            change.went_through(swept.done, swept.refused, swept.stopped.as_deref());
        }
        swept
    }

    async fn by_pieces(
        &self,
        site: &Site,
        asking: &Asking,
        to: &mpsc::Sender<Bytes>,
        mut tell: impl FnMut(&Swept) -> Option<String>,
    ) -> Swept {
        let mut swept = Swept::default();
        let (start, mut sent) = (Instant::now(), 0_usize);
        let mut tick = interval_at(start + KEEP_ALIVE, KEEP_ALIVE);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // A tenth of a second each, for a smooth stream.
        let size = self
            .per_second
            .map_or(PIECE, |rate| ((rate / 10) as usize).clamp(1, PIECE));
        for piece in self.letters.chunks(size) {
            let after = self
                .per_second
                .map_or(0.0, |rate| sent as f64 / f64::from(rate));
            let due = start + Duration::from_secs_f64(after);
            loop {
                tokio::select! {
                    biased;
                    () = to.closed() => return swept.stopped("whoever asked went away"),
                    () = site.stopped() => return swept.stopped("the runner stops"),
                    _ = tick.tick() => {
                        // One who is slow to read has something to read.
                        let _ = to.try_send(Bytes::from_static(b"\n"));
                    }
                    () = sleep_until(due) => break,
                }
            }
            sent += piece.len();
            let wish = (self.wish)(piece.to_vec(), false);
            match amended(site.ask_piece(wish, asking).await) {
                Ok(answers) => swept.take(piece, answers),
                Err(problem) => return swept.stopped(problem.detail),
            }
            if let Some(text) = tell(&swept) {
                let _ = to.try_send(text.into());
            }
        }
        swept
    }
}

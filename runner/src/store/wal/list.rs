//! Lists of jobs: a walk through the index by parts, bounded for each page.

use sandhog_model::{JobId, Rejected};

use super::{
    Wal,
    handle::on_blocking_thread,
    history,
    segments::SegmentFiles,
    wish::{Known, ScanAsk},
};
use crate::store::{JobFilter, JobRow, Page, PageRequest, StoreError};

/// Parts of the index, of 4096 jobs each, that one page looks at.
pub(super) const PARTS: usize = 24;
/// Jobs, and their bytes, that one page reads in search of a tag or a header: no index has them.
const READ_JOBS: usize = 5_000;
const READ_BYTES: usize = 8 << 20;
/// Jobs read in search of one before the search may end.
const READ_PART: usize = 250;

/// What one page may still look at.
#[derive(Clone)]
struct Budget {
    parts: usize,
    jobs: usize,
    bytes: usize,
}

impl Budget {
    fn new() -> Self {
        Self {
            parts: PARTS,
            jobs: READ_JOBS,
            bytes: READ_BYTES,
        }
    }

    fn is_spent(&self) -> bool {
        self.parts == 0 || self.jobs == 0 || self.bytes == 0
    }

    /// A job was read; whether no more may be.
    fn spend(&mut self, bytes: usize) -> bool {
        self.jobs = self.jobs.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.is_spent()
    }
}

/// Jobs that fit, and where to go on when not all were looked at.
struct Found {
    jobs: Vec<Known>,
    resume: Option<JobId>,
}

impl Wal {
    /// A page of jobs, newest first. One that found little in what a page looks at has fewer rows than asked
    /// for, even none, and still a `next`.
    pub(super) async fn page(
        &self,
        filter: JobFilter,
        page: PageRequest,
    ) -> Result<Page<JobRow>, StoreError> {
        let limit = page.limit.clamp(1, 1000);
        if filter.by_due {
            return self.due_page(filter, limit, page.cursor.as_deref()).await;
        }
        let before = page.cursor.as_deref().map(parse_cursor).transpose()?;
        // One more than shown tells whether there is a next page.
        let mut found = match filter.parent {
            Some(parent) => {
                let jobs = self.children(parent, &filter, before).await?;
                let resume = None;
                self.fitting(Found { jobs, resume }, &filter, &mut Budget::new())
                    .await?
            }
            None => self.scan(&filter, before, limit + 1).await?,
        };
        let more = found.jobs.len() > limit;
        found.jobs.truncate(limit);
        let last = found.jobs.last().filter(|_| more).map(|known| known.id);
        let next = last.or(found.resume).map(|id| id.to_string());
        let rows = self.rows(found.jobs).await?;
        Ok(Page { rows, next })
    }

    /// Jobs that fit, until so many were found, the index ends or enough was looked at.
    async fn scan(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        wanted: usize,
    ) -> Result<Found, StoreError> {
        let mut budget = Budget::new();
        let mut all = Found {
            jobs: Vec::new(),
            resume: before,
        };
        loop {
            let limit = match filter.is_of_records() {
                // Most of them may lack it.
                true => READ_PART,
                false => wanted - all.jobs.len(),
            };
            let scanned = self
                .ask(|reply| ScanAsk::Newest {
                    filter: filter.clone(),
                    before: all.resume,
                    limit,
                    reply,
                })
                .await?;
            budget.parts = budget.parts.saturating_sub(1);
            let part = Found {
                jobs: scanned.found,
                resume: scanned.resume,
            };
            let part = self.fitting(part, filter, &mut budget).await?;
            all.jobs.extend(part.jobs);
            all.resume = part.resume;
            if all.resume.is_none() || all.jobs.len() >= wanted || budget.is_spent() {
                return Ok(all);
            }
        }
    }

    /// Those of a part that fit what no index knows.
    async fn fitting(
        &self,
        part: Found,
        filter: &JobFilter,
        budget: &mut Budget,
    ) -> Result<Found, StoreError> {
        if !filter.is_of_records() {
            return Ok(part);
        }
        let (files, asked, mut left) = (self.files.clone(), part.jobs.len(), budget.clone());
        let wanted = filter.clone();
        let read = on_blocking_thread(move || {
            let mut read = Vec::new();
            for known in part.jobs {
                let fits = fits(&known, &wanted, &files);
                let bytes = fits.as_ref().map_or(0, |(_, bytes)| *bytes);
                read.push((known, fits.map(|(fits, _)| fits)));
                if left.spend(bytes) {
                    break;
                }
            }
            Ok((read, left))
        });
        let (read, left) = read.await?;
        *budget = left;
        let is_all = read.len() == asked;
        let last = read.last().map(|(known, _)| known.id);
        let mut jobs = Vec::new();
        for (known, fits) in read {
            let fits = match fits {
                Some(fits) => fits,
                None => self.fits_anew(known.id, filter.clone()).await?,
            };
            jobs.extend(fits.then_some(known));
        }
        let resume = if is_all { part.resume } else { last };
        Ok(Found { jobs, resume })
    }

    /// The same of a job that was written anew meanwhile.
    async fn fits_anew(&self, id: JobId, filter: JobFilter) -> Result<bool, StoreError> {
        let read = self.read_known(id, move |known, files| {
            let job = history::accepted(known.id, &known.entry, |at| files.read(at))?;
            Ok(filter.fits_record(&job))
        });
        Ok(read.await?.unwrap_or(false))
    }
}

/// Whether a job fits by its record, and the bytes read to find out; `None` when its records went since it was
/// looked up. One that cannot be read fits: it is shown rather than lost.
fn fits(known: &Known, filter: &JobFilter, files: &SegmentFiles) -> Option<(bool, usize)> {
    match history::accepted(known.id, &known.entry, |at| files.read(at)) {
        Ok(job) => Some((filter.fits_record(&job), job.weight())),
        Err(_) if files.is_gone(known.entry.enqueued) => None,
        Err(_) => Some((true, 0)),
    }
}

pub(super) fn parse_cursor(text: &str) -> Result<JobId, StoreError> {
    text.parse().map_err(|_| no_cursor(text))
}

pub(super) fn no_cursor(text: &str) -> StoreError {
    let shown: String = text.chars().take(64).collect();
    Rejected::Invalid(format!(
        "{shown:?} is no cursor: use the `next` of an earlier page"
    ))
    .into()
}

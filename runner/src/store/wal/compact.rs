//! Compaction: frees the log's first segments, on a thread of its own.
//!
//! The thread reads the jobs that the first segment still holds, hands them to the writer to be
//! written anew at the log's end, has the writer say that all before is not needed, and only then
//! removes files. It never waits for an idle moment, and reads on no thread but its own. What
//! it asks waits in the writer's mailbox like every other wish.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread::JoinHandle,
    time::Duration,
};

use sandhog_model::{Carried, JobId, RecordAt};

use super::{
    carry::carried,
    layout,
    mailbox::Mailbox,
    reply::{Awaited, reply},
    run,
    segments::SegmentFiles,
    wish::{Anew, Ask, Front, Known, Reply, Rest, Wish},
};
use crate::{
    clock::Clock,
    disk::{Disk, DiskError},
    store::StoreError,
};

/// Records read before the writer is asked which of their jobs are still there.
const PLACES: usize = 256;
/// Bytes handed to the writer at once, roughly: other wishes wait while it writes them.
const CARRY_BYTES: usize = 1 << 20;
/// How often jobs that change all the time are tried again before the thread rests.
const ROUNDS: usize = 64;
/// How long it rests while the disk is full, or jobs change all the time.
const REST: Duration = Duration::from_millis(500);

/// What compaction works with.
pub(super) struct CompactOptions {
    pub(super) disk: Arc<dyn Disk>,
    /// The log's directory.
    pub(super) dir: PathBuf,
    pub(super) files: Arc<SegmentFiles>,
    pub(super) clock: Arc<dyn Clock>,
    /// The writer's mailbox. It asks one thing at a time, so the bound is not for it.
    pub(super) mailbox: Arc<Mailbox>,
}

/// A knock on the thread's door.
pub(super) enum Wake {
    Look,
    /// The same, and say when nothing is left to do.
    #[cfg(test)]
    Tell(super::reply::Reply<()>),
}

/// The thread, in the hands of the writer. Stops it, and waits for its end, when dropped.
pub(super) struct Compaction {
    /// Bounded: a knock that finds one waiting is not needed.
    wake: SyncSender<Wake>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Compaction {
    /// Start the thread; it sleeps until it is woken.
    pub(super) fn start(options: CompactOptions) -> Result<Self, DiskError> {
        let (wake, wakes) = mpsc::sync_channel(1);
        let stopping = Arc::new(AtomicBool::new(false));
        let dir = options.dir.clone();
        let mut compactor = Compactor {
            options,
            stopping: stopping.clone(),
            stuck: None,
            is_full: false,
        };
        let thread = std::thread::Builder::new()
            .name("compaction".to_owned())
            .spawn(move || {
                // A bug here must not leave callers that wait for it.
                if catch_unwind(AssertUnwindSafe(|| compactor.run(&wakes))).is_err() {
                    compactor.fail("the compaction's thread panicked".to_owned());
                }
            })
            .map_err(|cause| DiskError::new("start the compaction of", &dir, &cause))?;
        Ok(Self {
            wake,
            stopping,
            thread: Some(thread),
        })
    }

    /// There may be something to do.
    pub(super) fn wake(&self) {
        // One that waits already does as well; a thread that ended is told elsewhere.
        let _ = self.wake.try_send(Wake::Look);
    }

    #[cfg(test)]
    pub(super) fn door(&self) -> SyncSender<Wake> {
        self.wake.clone()
    }
}

impl Drop for Compaction {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Why a pass did not come to its end.
enum Stop {
    /// There is no writer any more, or it takes nothing.
    Ended,
    /// Something has to change by itself first; tried again after a rest.
    Later,
    /// A record of the first segment cannot be read or written anew.
    Stuck(StoreError),
    /// The first segment is still the one that cannot be freed; that was said before.
    StillStuck(u32),
}

struct Compactor {
    options: CompactOptions,
    stopping: Arc<AtomicBool>,
    /// The segment that cannot be freed; not tried again before the next open.
    stuck: Option<u32>,
    /// Whether a full disk was told.
    is_full: bool,
}

impl Compactor {
    fn run(&mut self, wakes: &Receiver<Wake>) {
        let mut again = false;
        loop {
            let woken = if again {
                wakes.recv_timeout(REST)
            } else {
                wakes.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            if matches!(woken, Err(RecvTimeoutError::Disconnected))
                || self.stopping.load(Ordering::SeqCst)
            {
                return;
            }
            let rest = match self.pass() {
                Ok(()) => Rest::Done,
                Err(Stop::Later) => Rest::Later,
                Err(Stop::Stuck(error)) => self.stuck_by(&error),
                Err(Stop::StillStuck(segment)) => Rest::Stuck(segment),
                Err(Stop::Ended) => return,
            };
            again = matches!(rest, Rest::Later);
            if self.ask(|reply| Ask::Rest(rest, reply)).is_err() {
                return;
            }
            #[cfg(test)]
            if let Ok(Wake::Tell(done)) = woken {
                done.send(());
            }
        }
    }

    fn stuck_by(&self, error: &StoreError) -> Rest {
        let segment = self.stuck.unwrap_or(0);
        tracing::warn!(segment, %error, "the segment cannot be freed: the log grows until that is mended");
        Rest::Stuck(segment)
    }

    /// Forget what retention does not keep, then free first segments until the log is small enough
    /// or all that were there at the start were seen.
    fn pass(&mut self) -> Result<(), Stop> {
        while self.ask(Ask::Prune)? {}
        let mut up_to = None;
        loop {
            let front = match self.ask(Ask::Front) {
                Ok(Some(front)) => front,
                Ok(None) => return Ok(()),
                Err(stop) => return Err(stop),
            };
            if self.stuck == Some(front.segment) {
                return Err(Stop::StillStuck(front.segment));
            }
            if front.segment >= *up_to.get_or_insert(front.current) {
                return Ok(());
            }
            let segment = front.segment;
            if let Err(stop) = self.free(front) {
                if matches!(stop, Stop::Stuck(_)) {
                    self.stuck = Some(segment);
                }
                return Err(stop);
            }
            self.is_full = false;
        }
    }

    fn free(&mut self, front: Front) -> Result<(), Stop> {
        for places in front.places.chunks(PLACES) {
            let mut ids = BTreeSet::new();
            for place in places {
                let record = self.options.files.read(*place).map_err(Stop::Stuck)?;
                ids.extend(record.event.ids());
            }
            self.carry(front.segment, ids)?;
        }
        let before = self.ask(Ask::Trim)?;
        if before <= front.segment {
            // Otherwise the next round would do all of this again.
            return Err(Stop::Stuck(StoreError::Damaged {
                path: format!("segment {before}"),
                offset: 0,
                why: "it still holds jobs after each of its records was looked at".to_owned(),
            }));
        }
        self.remove(before)
    }

    /// Have every one of these jobs written anew whose first record lies in a segment.
    fn carry(&mut self, segment: u32, mut ids: BTreeSet<JobId>) -> Result<(), Stop> {
        for _ in 0..ROUNDS {
            let (reply, answer) = reply();
            let wanted = ids.iter().copied().collect();
            let mut known = self.hear(Wish::Look(wanted, reply), answer)?;
            known.retain(|known| layout::segment_and_offset(known.entry.enqueued).0 == segment);
            if known.is_empty() {
                return Ok(());
            }
            ids.clear();
            let mut batch = Vec::new();
            let mut bytes = 0;
            for known in &known {
                let anew = self.anew(known)?;
                bytes += weight(&anew.carried);
                batch.push(anew);
                if bytes > CARRY_BYTES {
                    bytes = 0;
                    let batch = std::mem::take(&mut batch);
                    ids.extend(self.ask(|reply| Ask::Carry(batch, reply))?);
                }
            }
            // The others changed since they were read, and are read again.
            ids.extend(self.ask(|reply| Ask::Carry(batch, reply))?);
            if ids.is_empty() {
                return Ok(());
            }
        }
        Err(Stop::Later)
    }

    fn anew(&self, known: &Known) -> Result<Anew, Stop> {
        let at = self.options.clock.now().wall;
        let files = &self.options.files;
        let carried = carried(known.id, &known.entry, at, |at: RecordAt| files.read(at))
            .map_err(Stop::Stuck)?;
        Ok(Anew {
            latest: known.entry.latest,
            carried: Box::new(carried),
        })
    }

    /// Remove the segments before one. No new reader finds them; those that have one open read on.
    fn remove(&mut self, before: u32) -> Result<(), Stop> {
        let removed = self.options.files.remove_before(before);
        let mut bytes = 0;
        let mut numbers = Vec::with_capacity(removed.len());
        for (number, file) in removed {
            bytes += file.len().map_err(|error| self.disk_failed(&error))?;
            numbers.push(number);
        }
        run::remove(&*self.options.disk, &self.options.dir, &numbers)
            .map_err(|error| self.disk_failed(&error))?;
        let segments = numbers.len() as u64;
        self.ask(|reply| Ask::Removed {
            segments,
            bytes,
            reply,
        })
    }

    fn disk_failed(&self, error: &DiskError) -> Stop {
        self.fail(error.to_string());
        Stop::Ended
    }

    fn fail(&self, cause: String) {
        let _ = self.options.mailbox.put_above(Ask::Fail(cause).into());
    }

    fn ask<T>(&mut self, ask: impl FnOnce(Reply<T>) -> Ask) -> Result<T, Stop> {
        let (reply, answer) = reply();
        self.hear(ask(reply).into(), answer)
    }

    fn hear<T>(&mut self, wish: Wish, answer: Awaited<Result<T, StoreError>>) -> Result<T, Stop> {
        if self.options.mailbox.put_above(wish).is_err() {
            return Err(Stop::Ended);
        }
        match answer.wait() {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error @ StoreError::Full { .. })) => {
                if !std::mem::replace(&mut self.is_full, true) {
                    tracing::warn!(%error, "compaction waits for room");
                }
                Err(Stop::Later)
            }
            Ok(Err(StoreError::Poisoned { .. } | StoreError::Closed)) | Err(_) => Err(Stop::Ended),
            Ok(Err(
                error @ (StoreError::Rejected(_)
                | StoreError::Busy { .. }
                | StoreError::Damaged { .. }),
            )) => Err(Stop::Stuck(error)),
        }
    }
}

/// About how many bytes a job takes.
fn weight(carried: &Carried) -> usize {
    let result = carried.output.as_ref().map_or(0, |out| out.payload.len());
    let logs: usize = carried
        .history
        .iter()
        .map(|attempt| attempt.logs.len())
        .sum();
    carried.job.payload.len()
        + carried.checkpoint.as_ref().map_or(0, Vec::len)
        + result
        + 256 * (1 + logs + carried.history.len())
}

//! The memory that running attempts may take together: each holds room for its limit, whether it
//! uses it or not, so that they cannot take the machine's memory between them.
//!
//! Who finds no room waits in line. Nobody overtakes, or an attempt with a large limit would wait
//! for ever beside many small ones; and while somebody waits, no worker claims more.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::view::MemoryUse;

/// What room is counted in, in bytes: a page of a sandbox.
const PAGE: u64 = 64 << 10;

/// The budget of all workers.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: u64,
    pages: u32,
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// Workers that claim less than there is until room is given back.
    short: AtomicUsize,
    freed: watch::Sender<u64>,
}

/// Room that an attempt holds, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Room {
    budget: Arc<Budget>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// A budget of so many bytes.
    pub(super) fn new(bytes: u64) -> Arc<Self> {
        let pages = u32::try_from((bytes / PAGE).max(1)).unwrap_or(u32::MAX);
        Arc::new(Self {
            bytes,
            pages,
            free: Arc::new(Semaphore::new(pages as usize)),
            waiting: AtomicUsize::new(0),
            short: AtomicUsize::new(0),
            freed: watch::Sender::new(0),
        })
    }

    /// What a limit takes of the budget, in pages. One that is larger than the whole budget takes
    /// all of it: its attempt runs alone.
    fn need(&self, limit: u64) -> u32 {
        let pages = u32::try_from(limit.div_ceil(PAGE)).unwrap_or(u32::MAX);
        pages.clamp(1, self.pages)
    }

    /// Room for an attempt with this memory limit, as soon as there is: waits in line.
    pub(super) async fn enter(self: &Arc<Self>, limit: u64) -> Room {
        let _waiting = Waiting::begin(&self.waiting);
        let permit = self.free.clone().acquire_many_owned(self.need(limit)).await;
        self.room(permit.expect("nobody closes the semaphore"))
    }

    fn room(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> Room {
        Room {
            budget: Arc::clone(self),
            permit: Some(permit),
        }
    }

    /// Room for up to `most` attempts that are about to be claimed, when none has a limit above
    /// `ceiling` and `least` is the smallest of their limits. When it is for fewer, and more could be
    /// claimed, [`lacking`](Reserved::lacking) has [`freed`](Self::freed) tell when to look again.
    pub(super) fn reserve(
        self: &Arc<Self>,
        most: usize,
        ceiling: u64,
        least: impl FnOnce() -> u64,
    ) -> Reserved {
        if let Some(reserved) = self.try_reserve(most, self.need(ceiling)) {
            return reserved;
        }
        let least = self.need(least());
        // Before the look, so that what is given back after it is told.
        let short = Short::begin(self);
        loop {
            let free = self.free.available_permits() / least as usize;
            // Another worker may take what was free a moment ago.
            if let Some(reserved) = self.try_reserve(free.min(most), least) {
                return Reserved {
                    short: Some(short),
                    ..reserved
                };
            }
        }
    }

    /// Room for so many attempts of this need each; none while somebody waits in line. `None` when
    /// there is not as much.
    fn try_reserve(self: &Arc<Self>, attempts: usize, need: u32) -> Option<Reserved> {
        let attempts = match self.waiting.load(Ordering::SeqCst) {
            0 => attempts,
            _ => 0,
        };
        if attempts == 0 {
            return Some(Reserved {
                short: None,
                attempts: 0,
                rest: None,
            });
        }
        let all = u32::try_from(attempts).ok()?.checked_mul(need)?;
        let permit = self.free.clone().try_acquire_many_owned(all).ok()?;
        Some(Reserved {
            short: None,
            attempts,
            rest: Some(self.room(permit)),
        })
    }

    /// Changes when room is given back that a worker lacked.
    pub(super) fn freed(&self) -> watch::Receiver<u64> {
        self.freed.subscribe()
    }

    /// What is held now.
    pub(super) fn usage(&self) -> MemoryUse {
        let free = self.free.available_permits() as u64 * PAGE;
        MemoryUse {
            budget: self.bytes,
            held: (u64::from(self.pages) * PAGE).saturating_sub(free),
            waiting: self.waiting.load(Ordering::SeqCst),
            short: self.short.load(Ordering::SeqCst) > 0,
        }
    }
}

/// Room for attempts that are not claimed yet. What none of them takes is given back with it.
#[derive(Debug)]
pub(super) struct Reserved {
    /// Goes before the rest: whoever found nothing to claim is not told of what it gives back itself.
    short: Option<Short>,
    attempts: usize,
    rest: Option<Room>,
}

impl Reserved {
    /// How many attempts it is for, if their limits are as small as was said.
    pub(super) fn attempts(&self) -> usize {
        self.attempts
    }

    /// More than was reserved could be claimed: [`Budget::freed`] tells of room as long as this is kept. `None` when there
    /// was room for all that was asked for.
    pub(super) fn lacking(&mut self) -> Option<Short> {
        self.short.take()
    }

    /// The part of an attempt with this memory limit, when there is enough left for it.
    pub(super) fn take(&mut self, limit: u64) -> Option<Room> {
        let rest = self.rest.as_mut()?;
        let need = rest.budget.need(limit) as usize;
        let permit = rest.permit.as_mut()?.split(need)?;
        Some(rest.budget.room(permit))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        drop(self.permit.take());
        if self.budget.short.load(Ordering::SeqCst) > 0 {
            self.budget.freed.send_modify(|count| *count += 1);
        }
    }
}

/// Says that a worker lacks room, as long as it is kept.
#[derive(Debug)]
pub(super) struct Short(Arc<Budget>);

impl Short {
    fn begin(budget: &Arc<Budget>) -> Self {
        budget.short.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(budget))
    }
}

impl Drop for Short {
    fn drop(&mut self) {
        self.0.short.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts one who waits, also when it stops waiting early.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        pin::{Pin, pin},
        task::Poll,
    };

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Whether a future is done at its next poll.
    async fn done<T>(future: &mut Pin<&mut impl Future<Output = T>>) -> Option<T> {
        poll_fn(|context| {
            Poll::Ready(match future.as_mut().poll(context) {
                Poll::Ready(done) => Some(done),
                Poll::Pending => None,
            })
        })
        .await
    }

    #[tokio::test]
    async fn nobody_overtakes_and_a_limit_over_the_budget_runs_alone() {
        let budget = Budget::new(4 * MIB);
        let small = budget.enter(MIB).await;
        let mut whole = pin!(budget.enter(100 * MIB));
        assert!(done(&mut whole).await.is_none());
        let mut later = pin!(budget.enter(MIB));
        assert!(done(&mut later).await.is_none(), "one overtook");
        assert_eq!(budget.usage().waiting, 2);
        drop(small);
        let whole = done(&mut whole).await.expect("all of it is free");
        assert_eq!((budget.usage().held, budget.usage().waiting), (4 * MIB, 1));
        assert!(done(&mut later).await.is_none());
        drop(whole);
        let later = done(&mut later).await.expect("there is room");
        drop(later);
        assert_eq!((budget.usage().held, budget.usage().waiting), (0, 0));
    }

    #[tokio::test]
    async fn one_who_stops_waiting_leaves_nothing_behind() {
        let budget = Budget::new(2 * MIB);
        let held = budget.enter(MIB).await;
        {
            let mut gone = pin!(budget.enter(2 * MIB));
            assert!(done(&mut gone).await.is_none());
        }
        assert_eq!((budget.usage().held, budget.usage().waiting), (MIB, 0));
        drop(held);
        assert_eq!(budget.usage().held, 0);
    }

    #[tokio::test]
    async fn as_much_is_reserved_as_fits_and_room_given_back_is_told() {
        let budget = Budget::new(8 * MIB);
        let freed = budget.freed();
        let told = || freed.has_changed().expect("the budget is there");
        let all = budget.reserve(8, MIB, || unreachable!("there is room for all"));
        assert_eq!((all.attempts(), budget.usage().held), (8, 8 * MIB));
        let mut none = budget.reserve(4, MIB, || MIB);
        assert_eq!(none.attempts(), 0);
        let short = none.lacking().expect("there is no room");
        drop(none);
        assert!(!told());
        drop(all);
        assert!(told());
        drop(short);
        let mut some = budget.reserve(4, 4 * MIB, || 3 * MIB);
        assert_eq!(some.attempts(), 2);
        assert!(some.take(7 * MIB).is_none(), "it is more than was reserved");
        let taken = some.take(5 * MIB).expect("it was reserved");
        drop(some);
        assert_eq!(budget.usage().held, 5 * MIB);
        let mut waits = pin!(budget.enter(4 * MIB));
        assert!(done(&mut waits).await.is_none());
        assert_eq!(budget.reserve(4, MIB, || MIB).attempts(), 0, "one waits");
        drop(taken);
        drop(done(&mut waits).await.expect("there is room"));
        assert_eq!(budget.reserve(4, MIB, || MIB).attempts(), 4);
        assert_eq!(budget.reserve(0, MIB, || MIB).attempts(), 0);
    }

    /// Otherwise it would look for ever.
    #[test]
    fn whoever_finds_nothing_to_claim_is_not_told_of_the_room_that_it_gives_back() {
        let budget = Budget::new(2 * MIB);
        let mut freed = budget.freed();
        let told = |freed: &watch::Receiver<u64>| freed.has_changed().expect("the budget is there");
        let few = budget.reserve(4, MIB, || MIB);
        assert_eq!((few.attempts(), budget.usage().short), (2, true));
        drop(few);
        assert!(!told(&freed) && !budget.usage().short);
        // One that found as many as it had room for is told, of what they do not take as well.
        let mut few = budget.reserve(4, MIB, || MIB);
        let short = few.lacking();
        drop(few);
        assert!(told(&freed) && budget.usage().short);
        freed.mark_unchanged();
        // And of what another one gives back that found nothing.
        drop(budget.reserve(4, MIB, || MIB));
        assert!(told(&freed));
        drop(short);
        assert!(!budget.usage().short);
    }
}

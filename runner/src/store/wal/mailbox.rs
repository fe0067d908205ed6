//! Where wishes wait for the writer: a bounded list that is taken whole.
//!
//! The writer also waits here for the end of a sync that runs beside it, which a channel of wishes
//! alone could not tell it.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::wish::Wish;

/// Why a wish was not taken. It is dropped, and with it the place its answer would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// So many wait already.
    Full,
    /// There is no writer any more.
    Gone,
}

/// What the writer was woken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    /// Wishes came.
    Wishes,
    /// A sync beside the writer ended.
    Synced,
    /// Nothing happened for as long as it wanted to wait.
    Nothing,
    /// Nobody is left who could wish.
    Left,
}

/// The list, shared by callers, the writer and its sync.
pub(super) struct Mailbox {
    inner: Mutex<Inner>,
    told: Condvar,
    size: usize,
}

#[derive(Default)]
struct Inner {
    wishes: Vec<Wish>,
    synced: bool,
    /// The writer sleeps until it is told.
    asleep: bool,
    left: bool,
    gone: bool,
}

/// The writer's end. What waits when it is dropped is never answered.
pub(super) struct Inbox(Arc<Mailbox>);

impl Mailbox {
    /// An empty one for at most `size` wishes.
    pub(super) fn new(size: usize) -> (Arc<Self>, Inbox) {
        let mailbox = Arc::new(Self {
            inner: Mutex::default(),
            told: Condvar::new(),
            size,
        });
        (mailbox.clone(), Inbox(mailbox))
    }

    /// How many wishes may wait.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Hand a wish to the writer.
    pub(super) fn put(&self, wish: Wish) -> Result<(), Refused> {
        let mut inner = self.lock();
        if inner.gone {
            return Err(Refused::Gone);
        }
        if inner.wishes.len() >= self.size {
            return Err(Refused::Full);
        }
        inner.wishes.push(wish);
        self.wake(inner);
        Ok(())
    }

    /// Hand a wish to the writer, also when the mailbox is full: for whoever has one at a time.
    pub(super) fn put_above(&self, wish: Wish) -> Result<(), Refused> {
        let mut inner = self.lock();
        if inner.gone {
            return Err(Refused::Gone);
        }
        inner.wishes.push(wish);
        self.wake(inner);
        Ok(())
    }

    /// A sync beside the writer ended.
    pub(super) fn synced(&self) {
        let mut inner = self.lock();
        inner.synced = true;
        self.wake(inner);
    }

    /// Nobody will wish anything any more.
    pub(super) fn leave(&self) {
        let mut inner = self.lock();
        inner.left = true;
        self.wake(inner);
    }

    fn wake(&self, mut inner: MutexGuard<'_, Inner>) {
        let asleep = std::mem::take(&mut inner.asleep);
        drop(inner);
        if asleep {
            self.told.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox {
    /// How many wishes wait.
    pub(super) fn waiting(&self) -> usize {
        self.0.lock().wishes.len()
    }

    /// Move the wishes that wait into `into`, which is empty. Whether there were any.
    pub(super) fn take_now(&self, into: &mut Vec<Wish>) -> bool {
        let mut inner = self.0.lock();
        std::mem::swap(&mut inner.wishes, into);
        !into.is_empty()
    }

    /// Wait for something to happen, at most until `end`. Wishes are all moved into `into`, which is
    /// empty; a sync that ended is told after them.
    pub(super) fn take(&self, into: &mut Vec<Wish>, end: Option<Instant>) -> Woken {
        let mut inner = self.0.lock();
        loop {
            if !inner.wishes.is_empty() {
                std::mem::swap(&mut inner.wishes, into);
                return Woken::Wishes;
            }
            if std::mem::take(&mut inner.synced) {
                return Woken::Synced;
            }
            if inner.left {
                return Woken::Left;
            }
            inner.asleep = true;
            let told = &self.0.told;
            inner = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => told.wait(inner).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    inner.asleep = false;
                    return Woken::Nothing;
                }
                Some(left) => {
                    told.wait_timeout(inner, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.gone = true;
        let left = std::mem::take(&mut inner.wishes);
        drop(inner);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply::{NoAnswer, reply};
    use super::*;

    fn wish() -> Wish {
        Wish::Sweep(reply().0)
    }

    #[test]
    fn a_full_mailbox_refuses_and_has_room_again_once_taken() {
        let (mailbox, inbox) = Mailbox::new(2);
        assert_eq!(mailbox.put(wish()), Ok(()));
        assert_eq!(mailbox.put(wish()), Ok(()));
        assert_eq!(mailbox.put(wish()), Err(Refused::Full));
        let mut taken = Vec::new();
        assert_eq!(inbox.take(&mut taken, None), Woken::Wishes);
        assert_eq!(taken.len(), 2);
        assert_eq!(mailbox.put(wish()), Ok(()));
    }

    #[test]
    fn wishes_come_before_the_end_of_a_sync_and_both_before_the_end_of_all() {
        let (mailbox, inbox) = Mailbox::new(2);
        mailbox.leave();
        mailbox.synced();
        mailbox.put(wish()).expect("room");
        let mut taken = Vec::new();
        assert_eq!(inbox.take(&mut taken, None), Woken::Wishes);
        taken.clear();
        assert_eq!(inbox.take(&mut taken, None), Woken::Synced);
        assert_eq!(inbox.take(&mut taken, None), Woken::Left);
        assert_eq!(inbox.take(&mut taken, Some(Instant::now())), Woken::Left);
    }

    #[test]
    fn whoever_waits_for_a_writer_that_is_gone_hears_of_it() {
        let (mailbox, inbox) = Mailbox::new(2);
        let (reply, answer) = reply();
        mailbox.put(Wish::Sweep(reply)).expect("room");
        drop(inbox);
        assert_eq!(answer.wait().map(drop), Err(NoAnswer));
        assert_eq!(mailbox.put(wish()), Err(Refused::Gone));
    }

    #[test]
    fn a_sleeping_writer_is_woken_by_each_of_them() {
        type Tell = fn(&Mailbox);
        let tells: [(Tell, Woken); 3] = [
            (|mailbox| mailbox.put(wish()).expect("room"), Woken::Wishes),
            (Mailbox::synced, Woken::Synced),
            (Mailbox::leave, Woken::Left),
        ];
        for (tell, expected) in tells {
            let (mailbox, inbox) = Mailbox::new(2);
            let writer = std::thread::spawn(move || inbox.take(&mut Vec::new(), None));
            while !mailbox.lock().asleep {
                std::thread::yield_now();
            }
            tell(&mailbox);
            assert_eq!(writer.join().expect("woken"), expected);
        }
    }
}

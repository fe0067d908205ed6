//! The way of an answer from the writer to whoever waits for it.
//!
//! After a sync many answers come at once. Waking each of those who wait, from this thread, takes a lock of their runtime
//! and often a call into the system, and while they are woken one by one they begin to work against the writer. So
//! all answers are laid down first, and of those who wait on the same thread one is woken: it wakes the others, which there
//! costs next to nothing.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread, ThreadId},
    time::{Duration, Instant},
};

/// Threads that are told apart in a batch; whoever waits on another one is woken from here.
const THREADS: usize = 16;
/// How long the one who is to wake the others may take. It was woken, and need not look.
const PATIENCE: Duration = Duration::from_millis(2);

thread_local! {
    static HERE: ThreadId = thread::current().id();
}

/// There will be no answer: the writer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoAnswer;

/// Where an answer goes. Dropped without one, it tells that there is none.
pub(super) struct Reply<T>(Option<Arc<Slot<T>>>);

/// An answer that comes. There is no slot any more once it was given.
pub(super) struct Awaited<T>(Option<Arc<Slot<T>>>);

/// Where the two meet.
struct Slot<T>(Mutex<Inner<T>>);

struct Inner<T> {
    told: Told<T>,
    /// Whom to wake, and where it waits.
    sleeper: Option<(Waker, ThreadId)>,
    /// Whom it is to wake in turn.
    others: Vec<Waker>,
    /// Nobody waits any more.
    left: bool,
}

enum Told<T> {
    Nothing,
    Answer(T),
    NoAnswer,
}

/// Someone whose answer is there and who is to be woken.
pub(super) struct Sleeper {
    waker: Waker,
    thread: ThreadId,
    slot: Arc<dyn WakesOthers>,
}

/// Who can be asked to wake others, as soon as it is awake.
trait WakesOthers: Send + Sync {
    /// Asks for it; gives back those it will not wake.
    fn wake_in_turn(&self, others: Vec<Waker>) -> Vec<Waker>;

    /// Takes back those that it did not wake yet.
    fn take_back(&self) -> Vec<Waker>;
}

/// An answer's two ends.
pub(super) fn reply<T>() -> (Reply<T>, Awaited<T>) {
    let slot = Arc::new(Slot(Mutex::new(Inner {
        told: Told::Nothing,
        sleeper: None,
        others: Vec::new(),
        left: false,
    })));
    (Reply(Some(slot.clone())), Awaited(Some(slot)))
}

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lay an answer down. Gives whom to wake.
    fn tell(&self, told: Told<T>) -> Option<(Waker, ThreadId)> {
        let mut inner = self.lock();
        if inner.left {
            return None;
        }
        inner.told = told;
        inner.sleeper.take()
    }
}

impl<T: Send> WakesOthers for Slot<T> {
    fn wake_in_turn(&self, others: Vec<Waker>) -> Vec<Waker> {
        let mut inner = self.lock();
        if inner.left {
            return others;
        }
        inner.others = others;
        Vec::new()
    }

    fn take_back(&self) -> Vec<Waker> {
        mem::take(&mut self.lock().others)
    }
}

impl<T: Send + 'static> Reply<T> {
    /// Answer now. Whoever went away loses its answer.
    pub(super) fn send(self, answer: T) {
        if let Some(sleeper) = self.lay(answer) {
            sleeper.waker.wake();
        }
    }

    /// Lay the answer down. Gives whom to wake for it, if somebody waits by now.
    pub(super) fn lay(mut self, answer: T) -> Option<Sleeper> {
        let slot = self.0.take()?;
        let (waker, thread) = slot.tell(Told::Answer(answer))?;
        Some(Sleeper {
            waker,
            thread,
            slot,
        })
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        let sleeper = self.0.take().and_then(|slot| slot.tell(Told::NoAnswer));
        if let Some((waker, _)) = sleeper {
            waker.wake();
        }
    }
}

impl<T> Future for Awaited<T> {
    type Output = Result<T, NoAnswer>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(slot) = &self.0 else {
            return Poll::Pending;
        };
        let mut inner = slot.lock();
        let answer = match mem::replace(&mut inner.told, Told::Nothing) {
            Told::Nothing => {
                let waker = context.waker();
                let known = inner.sleeper.take().map(|(known, _)| known);
                let known = known.filter(|known| known.will_wake(waker));
                let waker = known.unwrap_or_else(|| waker.clone());
                inner.sleeper = Some((waker, HERE.with(|here| *here)));
                return Poll::Pending;
            }
            Told::Answer(answer) => Ok(answer),
            Told::NoAnswer => Err(NoAnswer),
        };
        inner.left = true;
        let others = mem::take(&mut inner.others);
        drop(inner);
        self.0 = None;
        others.into_iter().for_each(Waker::wake);
        Poll::Ready(answer)
    }
}

impl<T> Drop for Awaited<T> {
    fn drop(&mut self) {
        let Some(slot) = &self.0 else {
            return;
        };
        let mut inner = slot.lock();
        inner.left = true;
        let others = mem::take(&mut inner.others);
        let told = mem::replace(&mut inner.told, Told::Nothing);
        drop(inner);
        drop(told);
        others.into_iter().for_each(Waker::wake);
    }
}

impl<T> Awaited<T> {
    /// Wait for it on this thread.
    pub(super) fn wait(self) -> Result<T, NoAnswer> {
        struct Parked(Thread);
        impl Wake for Parked {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Parked(thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut awaited = std::pin::pin!(self);
        loop {
            match awaited.as_mut().poll(&mut context) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => thread::park(),
            }
        }
    }
}

/// Who was asked to wake others, and when.
type Asked = VecDeque<(Instant, Arc<dyn WakesOthers>)>;

/// Those who were asked to wake others a moment ago, shared by the threads that answer.
#[derive(Clone, Default)]
pub(super) struct Rounds(Arc<Mutex<Asked>>);

impl Rounds {
    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wake everyone whose answer was laid down.
    pub(super) fn wake(&self, sleepers: impl Iterator<Item = Sleeper>) {
        let mut groups: Vec<(Sleeper, Vec<Waker>)> = Vec::new();
        for sleeper in sleepers {
            let thread = sleeper.thread;
            let place = groups.iter().position(|(first, _)| first.thread == thread);
            match place {
                Some(place) => groups[place].1.push(sleeper.waker),
                None if groups.len() < THREADS => groups.push((sleeper, Vec::new())),
                None => sleeper.waker.wake(),
            }
        }
        for (first, others) in groups {
            if !others.is_empty() {
                let left = first.slot.wake_in_turn(others);
                if left.is_empty() {
                    self.lock().push_back((Instant::now(), first.slot));
                }
                left.into_iter().for_each(Waker::wake);
            }
            first.waker.wake();
        }
    }

    /// When to see whether all were woken.
    pub(super) fn due(&self) -> Option<Instant> {
        self.lock().front().map(|(since, _)| *since + PATIENCE)
    }

    /// Wake those who should have been woken by now.
    pub(super) fn see_to(&self, now: Instant) {
        self.see_to_those(|since| since + PATIENCE <= now);
    }

    /// Wake everyone who was not yet.
    pub(super) fn end(&self) {
        self.see_to_those(|_| true);
    }

    fn see_to_those(&self, are_late: impl Fn(Instant) -> bool) {
        let next = || {
            let mut rounds = self.lock();
            let is_late = rounds.front().is_some_and(|(since, _)| are_late(*since));
            is_late.then(|| rounds.pop_front()).flatten()
        };
        while let Some((_, slot)) = next() {
            slot.take_back().into_iter().for_each(Waker::wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        task::Poll::{Pending, Ready},
    };

    use super::*;

    /// Counts how often it was woken.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Someone who waits for an answer.
    struct Caller {
        awaited: Awaited<usize>,
        count: Arc<Count>,
    }

    impl Caller {
        fn poll(&mut self) -> Poll<Result<usize, NoAnswer>> {
            let waker = Waker::from(self.count.clone());
            Pin::new(&mut self.awaited).poll(&mut Context::from_waker(&waker))
        }

        fn woken(&self) -> usize {
            self.count.0.load(Ordering::SeqCst)
        }
    }

    /// So many who wait on this thread, and where their answers go.
    fn callers(many: usize) -> (Vec<Reply<usize>>, Vec<Caller>) {
        let pairs = (0..many).map(|_| {
            let (to, awaited) = reply();
            let mut caller = Caller {
                awaited,
                count: Arc::default(),
            };
            assert_eq!(caller.poll(), Pending);
            (to, caller)
        });
        pairs.unzip()
    }

    /// Answer all of them at once, each with its place.
    fn answer(rounds: &Rounds, replies: Vec<Reply<usize>>) {
        let answers = replies.into_iter().enumerate();
        let sleepers: Vec<Sleeper> = answers
            .filter_map(|(place, reply)| reply.lay(place))
            .collect();
        rounds.wake(sleepers.into_iter());
    }

    fn woken(callers: &[Caller]) -> Vec<usize> {
        callers.iter().map(Caller::woken).collect()
    }

    #[test]
    fn of_those_who_wait_on_a_thread_one_is_woken_and_wakes_the_others() {
        let rounds = Rounds::default();
        let (replies, mut here) = callers(3);
        let (elsewhere, mut there) = thread::spawn(|| callers(2)).join().expect("callers");
        answer(&rounds, replies.into_iter().chain(elsewhere).collect());
        assert_eq!((woken(&here), woken(&there)), (vec![1, 0, 0], vec![1, 0]));
        assert_eq!(here[0].poll(), Ready(Ok(0)));
        assert_eq!((woken(&here), woken(&there)), (vec![1, 1, 1], vec![1, 0]));
        assert_eq!(there[0].poll(), Ready(Ok(3)));
        assert_eq!(woken(&there), [1, 1]);
        for (caller, place) in here[1..].iter_mut().chain(&mut there[1..]).zip([1, 2, 4]) {
            assert_eq!(caller.poll(), Ready(Ok(place)));
        }
        rounds.end();
        assert_eq!(woken(&here), [1, 1, 1], "once each");
    }

    #[test]
    fn whoever_goes_away_wakes_the_others_before() {
        let rounds = Rounds::default();
        let (replies, mut callers) = callers(3);
        answer(&rounds, replies);
        drop(callers.remove(0));
        assert_eq!(woken(&callers), [1, 1]);
    }

    #[test]
    fn whoever_looks_before_it_is_asked_to_wake_others_is_not_asked() {
        let rounds = Rounds::default();
        let (replies, mut callers) = callers(3);
        let answers = replies.into_iter().enumerate();
        let sleepers: Vec<Sleeper> = answers
            .filter_map(|(place, reply)| reply.lay(place))
            .collect();
        assert_eq!(callers[0].poll(), Ready(Ok(0)));
        rounds.wake(sleepers.into_iter());
        assert_eq!(woken(&callers), [1, 1, 1]);
        assert_eq!(rounds.due(), None);
    }

    #[test]
    fn those_whom_nobody_wakes_in_time_are_woken_all_the_same() {
        let rounds = Rounds::default();
        let (replies, callers) = callers(3);
        answer(&rounds, replies);
        let due = rounds.due().expect("one is to wake others");
        rounds.see_to(due - Duration::from_micros(1));
        assert_eq!(woken(&callers), [1, 0, 0]);
        rounds.see_to(due);
        assert_eq!((woken(&callers), rounds.due()), (vec![1, 1, 1], None));
    }

    #[test]
    fn threads_without_number_are_woken_one_by_one() {
        let rounds = Rounds::default();
        let threads = (0..2 * THREADS).map(|_| thread::spawn(|| callers(2)));
        let pairs: Vec<_> = threads.map(|one| one.join().expect("callers")).collect();
        let (replies, callers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        answer(&rounds, replies.into_iter().flatten().collect());
        let woken = callers.iter().flatten().map(Caller::woken).sum::<usize>();
        assert_eq!(
            woken,
            3 * THREADS,
            "one of each of so many, both of the others"
        );
        rounds.end();
        assert!(callers.iter().flatten().all(|caller| caller.woken() == 1));
    }

    #[test]
    fn a_reply_that_is_dropped_tells_that_there_is_no_answer() {
        let (mut replies, mut callers) = callers(1);
        drop(replies.remove(0));
        assert_eq!(callers[0].woken(), 1);
        assert_eq!(callers[0].poll(), Ready(Err(NoAnswer)));
    }

    #[test]
    fn an_answer_wakes_whoever_polled_last_and_is_there_for_who_comes_later() {
        let (to, awaited) = reply();
        let mut first = Caller {
            awaited,
            count: Arc::default(),
        };
        assert_eq!(first.poll(), Pending);
        let mut then = Caller {
            awaited: first.awaited,
            count: Arc::default(),
        };
        assert_eq!(then.poll(), Pending);
        to.send(7);
        assert_eq!((first.count.0.load(Ordering::SeqCst), then.woken()), (0, 1));
        assert_eq!(then.poll(), Ready(Ok(7)));
        let (to, awaited) = reply();
        to.send(8);
        assert_eq!(awaited.wait(), Ok(8));
    }

    #[test]
    fn a_thread_waits_for_its_answer() {
        let (to, awaited) = reply();
        let waits = thread::spawn(move || awaited.wait());
        to.send(9);
        assert_eq!(waits.join().expect("it ends"), Ok(9));
    }
}

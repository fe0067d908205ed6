//! Processor time of an attempt, apart from what its neighbours on the thread take.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// Between polls that follow each other within this time, the thread is taken to have run all along. The system takes
/// half a microsecond to tell a thread's time, a tenth of a short attempt's cost, and this halves how often it is asked.
const GAP: Duration = Duration::from_micros(20);

thread_local! {
    /// When the system was last asked for this thread's time, and what it said.
    static LAST: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// Run a future, and give back the processor time of its polls with what came of it. It is that of
/// the thread: what another thread does for the future is not in it.
pub(crate) async fn measured<F: Future>(future: F) -> (F::Output, Duration) {
    let mut future = pin!(future);
    let mut used = Duration::ZERO;
    poll_fn(|context| {
        let before = time_before();
        let polled = future.as_mut().poll(context);
        used += time_after().saturating_sub(before);
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(output) => Poll::Ready((output, used)),
        }
    })
    .await
}

fn time_before() -> Duration {
    match LAST.get().map(|(asked, said)| (asked.elapsed(), said)) {
        Some((passed, said)) if passed < GAP => said + passed,
        _ => thread_time(),
    }
}

fn time_after() -> Duration {
    let time = thread_time();
    LAST.set(Some((Instant::now(), time)));
    time
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::{
        future::ready,
        sync::mpsc::{RecvTimeoutError, channel},
    };

    use super::*;

    const WORK: Duration = Duration::from_millis(20);

    /// Take this much of the processor.
    fn work() {
        let start = thread_time();
        while thread_time() - start < WORK {}
    }

    fn used(work: impl FnOnce()) -> Duration {
        let mut work = Some(work);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let polled = poll_fn(move |_| {
            work.take().expect("polled once")();
            Poll::Ready(())
        });
        runtime.block_on(measured(polled)).1
    }

    #[test]
    fn only_a_futures_own_time_is_counted() {
        assert!(used(work) >= WORK);
        // What is done between two polls is nobody's.
        work();
        assert!(used(|| {}) < WORK / 2);
        // A thread that waits takes no time, in a poll or between two.
        let (_kept, never) = channel::<()>();
        let wait = || {
            let end = never.recv_timeout(WORK * 4);
            assert_eq!(end, Err(RecvTimeoutError::Timeout));
        };
        let waited = used(wait);
        assert!(waited < WORK / 2, "{waited:?}");
        wait();
        assert!(used(work) >= WORK);
    }

    #[test]
    fn polls_that_follow_each_other_at_once_are_told_apart() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let ((), worked) = measured(async { work() }).await;
            let ((), idle) = measured(ready(())).await;
            assert!(worked >= WORK && idle < WORK / 2, "{worked:?} {idle:?}");
            let ((), again) = measured(async { work() }).await;
            // Up to the gap may be taken for the polls' own or not.
            assert!(again + GAP >= WORK, "{again:?}");
        });
    }
}

//! Processor time of an attempt, apart from what its neighbours on the thread take.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

/// Run a future, and give back the processor time of its polls with what came of it. It is that of
/// the thread: what another thread does for the future is not in it.
pub(crate) async fn measured<F: Future>(future: F) -> (F::Output, Duration) {
    let mut future = pin!(future);
    let mut used = Duration::ZERO;
    poll_fn(|context| {
        let before = thread_time();
        let polled = future.as_mut().poll(context);
        used += thread_time().saturating_sub(before);
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(output) => Poll::Ready((output, used)),
        }
    })
    .await
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

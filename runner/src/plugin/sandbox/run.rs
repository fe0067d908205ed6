//! One visit to a guest: instantiate, call, and an end in bounded time whatever the guest does.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use wasmtime::{Engine, Store, UpdateDeadline};

use super::{
    bindings::{HandlerPlugin, HandlerPluginPre},
    state::{State, Stopped},
};

/// Bytes host and guest may copy to each other in one call, results included.
pub(crate) const HOSTCALL_BYTES: usize = 16 << 20;
/// Component handles a guest may hold.
pub(super) const COMPONENT_HANDLES: usize = 10_000;
/// How much later than a guest in its own code one that waits for the host is stopped. The first is
/// stopped with a backtrace, so it gets the chance.
const LATE: Duration = Duration::from_millis(50);

/// How a visit ended.
pub(crate) enum End<R> {
    /// The guest gave a result.
    Returned(R),
    /// The host stopped it; the error has its backtrace when it was in guest code.
    Stopped(Stopped, Option<wasmtime::Error>),
    /// It failed.
    Failed(Phase, wasmtime::Error),
    /// The host panicked while it ran.
    Panicked(String),
}

/// How far a visit had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Memory, tables and start functions.
    Instantiate,
    /// The call itself, its arguments and its result.
    Call,
}

/// A store for one visit, bounded on all sides.
pub(crate) fn store(engine: &Engine, state: State) -> Store<State> {
    let mut store = Store::new(engine, state);
    // The limiter's counts of instances, tables and memories are read here, once.
    store.limiter(|state| &mut state.meter);
    store.set_hostcall_fuel(HOSTCALL_BYTES);
    store.set_max_component_handles(COMPONENT_HANDLES);
    store.epoch_deadline_callback(|mut context| {
        let stop = &mut context.data_mut().stop;
        match stop.due() {
            Some(why) => {
                stop.stopped = Some(why);
                Ok(UpdateDeadline::Interrupt)
            }
            // tokio's own yield: a plain one is polled again before any other work of the thread.
            None => Ok(UpdateDeadline::YieldCustom(
                1,
                Box::pin(tokio::task::yield_now()),
            )),
        }
    });
    store
}

/// Instantiate and call, until the end or the state's deadline.
pub(crate) async fn visit<R>(
    store: &mut Store<State>,
    plugin: &HandlerPluginPre<State>,
    call: impl AsyncFnOnce(&HandlerPlugin, &mut Store<State>) -> wasmtime::Result<R>,
) -> End<R> {
    let live = Arc::clone(&store.data().stop.live);
    let latest = tokio::time::Instant::from_std(store.data().stop.deadline + LATE);
    let done = {
        let guest = pin!(unwinding(async {
            // Relative to now, so armed anew at each step.
            store.set_epoch_deadline(1);
            let instance = plugin
                .instantiate_async(&mut *store)
                .await
                .map_err(|error| (Phase::Instantiate, error))?;
            store.set_epoch_deadline(1);
            call(&instance, store)
                .await
                .map_err(|error| (Phase::Call, error))
        }));
        tokio::select! {
            biased;
            done = guest => done,
            () = live.interrupt_asked() => return End::Stopped(Stopped::Interrupted, None),
            () = tokio::time::sleep_until(latest) => return End::Stopped(Stopped::Deadline, None),
        }
    };
    match (done, store.data().stop.stopped) {
        (Ok(Ok(returned)), _) => End::Returned(returned),
        (Ok(Err((_, error))), Some(why)) => End::Stopped(why, Some(error)),
        (Ok(Err((phase, error))), None) => End::Failed(phase, error),
        (Err(text), _) => End::Panicked(text),
    }
}

/// Run a future and give back a panic's text instead of passing the panic on.
pub(crate) async fn unwinding<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    // After a panic the future is dropped unpolled, and what it shared is dropped with its store.
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Err(panic) => Poll::Ready(Err(panic_text(panic.as_ref()))),
        },
    )
    .await
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "a panic without a text".to_owned())
}

//! Connections of a listener, so many at a time, until a stop.

use std::{
    future::{Future, poll_fn},
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
    time::timeout,
};

/// How long nothing is accepted once that failed.
const PAUSE: Duration = Duration::from_millis(50);

/// Stops a server. Dropping it stops the server too.
#[derive(Debug)]
pub struct Handle {
    stop: watch::Sender<bool>,
}

impl Handle {
    /// One that was not stopped, and what it is watched by.
    pub(crate) fn new() -> (Self, watch::Receiver<bool>) {
        let (stop, stopped) = watch::channel(false);
        (Self { stop }, stopped)
    }

    /// Take no more connections, and end those that rest. Stopping twice is harmless.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// The connections under way.
pub(crate) struct Connections(JoinSet<()>);

impl Connections {
    /// Take connections until stopped. Each begins with its place among so many, or without one when there is
    /// none left; one that needs no time of its own gives nothing to wait for.
    pub(crate) async fn take<S, F: Future<Output = ()> + Send + 'static>(
        accept: impl Fn(&mut Context<'_>) -> Poll<io::Result<S>>,
        places: usize,
        mut stop: watch::Receiver<bool>,
        begin: impl Fn(S, Option<OwnedSemaphorePermit>) -> Option<F>,
    ) -> Self {
        let places = Arc::new(Semaphore::new(places));
        let mut under_way = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = poll_fn(&accept) => accepted,
                _ = stop.wait_for(|stop| *stop) => return Self(under_way),
            };
            while under_way.try_join_next().is_some() {}
            match accepted {
                Ok(stream) => {
                    let place = Arc::clone(&places).try_acquire_owned().ok();
                    begin(stream, place).map(|serving| under_way.spawn(serving));
                }
                Err(error) => {
                    // Out of descriptors, most likely: they come back as connections end.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Wait for those under way, and end those that take longer.
    pub(crate) async fn end(mut self, grace: Duration) {
        let all = async { while self.0.join_next().await.is_some() {} };
        let _ = timeout(grace, all).await;
    }
}

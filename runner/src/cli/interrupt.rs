//! Stopping a long command between two steps instead of in the middle of one.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use tokio::signal::unix::{SignalKind, signal};

/// Whether someone asked to stop, by `INT` or `TERM`. The second time ends the process at once.
pub(super) struct Interrupt(Arc<(Mutex<bool>, Condvar)>);

impl Interrupt {
    /// Listen from now on. Where that is not possible, a signal ends the process as ever.
    pub(super) fn listen() -> Self {
        let came = Arc::new((Mutex::new(false), Condvar::new()));
        let told = came.clone();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("signals".to_owned());
        let started = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build();
            if let Ok(runtime) = runtime {
                runtime.block_on(listen(&told, &ready));
            }
        });
        if started.is_ok() {
            // An error means that nobody listens: then a signal ends the process.
            let _ = is_ready.recv();
        }
        Self(came)
    }

    pub(super) fn came(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wait for so long, or until someone asks to stop.
    pub(super) fn wait(&self, time: Duration) {
        let (came, told) = &*self.0;
        let came = came.lock().unwrap_or_else(PoisonError::into_inner);
        // Woken for nothing, the caller looks at its clock again.
        drop(told.wait_timeout_while(came, time, |came| !*came));
    }
}

async fn listen(told: &(Mutex<bool>, Condvar), ready: &std::sync::mpsc::Sender<()>) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return;
    };
    let _ = ready.send(());
    for again in [false, true] {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if again {
            std::process::exit(130);
        }
        *told.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.1.notify_all();
    }
}

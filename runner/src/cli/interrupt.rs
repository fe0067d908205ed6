//! Stopping a long command between two steps instead of in the middle of one.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::signal::unix::{SignalKind, signal};

/// Whether someone asked to stop, by `INT` or `TERM`. The second time ends the process at once.
#[derive(Default)]
pub(super) struct Interrupt(Arc<Asked>);

#[derive(Default)]
struct Asked {
    state: Mutex<State>,
    told: Condvar,
}

#[derive(Default)]
struct State {
    came: bool,
    /// What is done at once when it comes.
    at_once: Option<Box<dyn Fn() + Send>>,
}

impl Asked {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self) {
        let mut state = self.state();
        state.came = true;
        if let Some(at_once) = &state.at_once {
            at_once();
        }
        self.told.notify_all();
    }
}

impl Interrupt {
    /// Listen from now on. Where that is not possible, a signal ends the process as ever.
    pub(super) fn listen() -> Self {
        let asked = Arc::new(Asked::default());
        let told = asked.clone();
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
        Self(asked)
    }

    pub(super) fn came(&self) -> bool {
        self.0.state().came
    }

    /// Wait for so long, or until someone asks to stop.
    pub(super) fn wait(&self, time: Duration) {
        let state = self.0.state();
        // Woken for nothing, the caller looks at its clock again.
        drop(
            self.0
                .told
                .wait_timeout_while(state, time, |state| !state.came),
        );
    }

    /// Do something long that `stop` ends. It is called when someone asks to stop meanwhile, or did
    /// so before.
    pub(super) fn during<T>(
        &self,
        stop: impl Fn() + Send + 'static,
        work: impl FnOnce() -> T,
    ) -> T {
        let mut state = self.0.state();
        if state.came {
            stop();
        }
        state.at_once = Some(Box::new(stop));
        drop(state);
        let done = work();
        self.0.state().at_once = None;
        done
    }
}

async fn listen(told: &Asked, ready: &std::sync::mpsc::Sender<()>) {
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
        told.ask();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn what_is_long_is_stopped_when_someone_asks() {
        let interrupt = Interrupt::default();
        let (stop, stopped) = mpsc::channel();
        let asked = interrupt.0.clone();
        let again = stop.clone();
        let waited = interrupt.during(
            move || stop.send(()).unwrap_or_default(),
            || {
                let asks = std::thread::spawn(move || asked.ask());
                let waited = stopped.recv_timeout(Duration::from_secs(20));
                asks.join().unwrap();
                waited
            },
        );
        assert_eq!(waited, Ok(()));
        assert!(interrupt.came());
        // What begins after that is stopped at its beginning, and no wait is long.
        let waited = interrupt.during(
            move || again.send(()).unwrap_or_default(),
            || stopped.try_recv(),
        );
        assert_eq!(waited, Ok(()));
        interrupt.wait(Duration::from_secs(3600));
        interrupt.0.ask();
        assert_eq!(stopped.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }
}

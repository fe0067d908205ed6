//! Someone between a client and a runner, who can keep an answer to himself.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use sandhog_kit::wait;

#[derive(Default)]
struct State {
    to: Option<SocketAddr>,
    keeps: bool,
    kept: bool,
    answers: usize,
    streams: Vec<TcpStream>,
}

/// It listens at one address, wherever the runner is.
pub(crate) struct Between {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Between {
    /// Leads nowhere yet.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let to = shared.lock().unwrap().to;
                // A runner that is away is a connection that ends.
                let Some(Ok(runner)) = to.map(TcpStream::connect) else {
                    continue;
                };
                join(&client, &runner, &shared);
            }
        });
        Self { address, state }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the runner is from now on.
    pub(crate) fn lead_to(&self, to: SocketAddr) {
        self.state.lock().unwrap().to = Some(to);
    }

    pub(crate) fn keep_the_next_answer(&self) {
        self.state.lock().unwrap().keeps = true;
    }

    pub(crate) fn wait_for_the_answer(&self) {
        wait::until("the runner's answer", Duration::from_secs(60), || {
            self.state.lock().unwrap().kept.then_some(())
        });
    }

    /// Waits until so many more answers went by.
    pub(crate) fn wait_for_more_answers(&self, more: usize) {
        let before = self.state.lock().unwrap().answers;
        wait::until("more answers", Duration::from_secs(60), || {
            (self.state.lock().unwrap().answers >= before + more).then_some(())
        });
    }

    /// Ends every connection, and keeps nothing any more. Where the runner is is not known until it is told.
    pub(crate) fn hang_up(&self) {
        let mut state = self.state.lock().unwrap();
        (state.keeps, state.to) = (false, None);
        for stream in state.streams.drain(..) {
            // Its other side may have ended it.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn join(client: &TcpStream, runner: &TcpStream, state: &Arc<Mutex<State>>) {
    let own = |stream: &TcpStream| stream.try_clone().unwrap();
    let (mut from, mut to) = (own(client), own(runner));
    thread::spawn(move || pass(&mut from, &mut to, || true));
    let (mut from, mut to) = (own(runner), own(client));
    let mut shared = state.lock().unwrap();
    shared.streams.push(own(client));
    let counted = Arc::clone(state);
    thread::spawn(move || {
        pass(&mut from, &mut to, || {
            let mut state = counted.lock().unwrap();
            state.answers += 1;
            state.kept |= state.keeps;
            !state.keeps
        });
    });
}

/// Bytes from one to the other as long as `each` lets them pass.
fn pass(from: &mut TcpStream, to: &mut TcpStream, mut each: impl FnMut() -> bool) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !each() {
            return;
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // One of them may be gone already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

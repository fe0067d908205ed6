//! The terminal, as long as it is drawn on. It is given back whatever happens: at the end, by an error, by a panic
//! of any thread, and before the process ends for a signal, which only asks the loop to end.

use std::io;

use ratatui::{DefaultTerminal, Frame};

pub(super) struct Held(DefaultTerminal);

impl Held {
    /// Raw, on its other screen, and with a hook for panics.
    pub(super) fn take() -> io::Result<Self> {
        ratatui::try_init().map(Self).inspect_err(|_| give_back())
    }

    pub(super) fn draw(&mut self, what: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.0.draw(what).map(drop)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    // A terminal that is gone has nothing to be given back to.
    let _ = ratatui::try_restore();
}

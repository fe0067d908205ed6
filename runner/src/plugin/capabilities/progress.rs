//! `progress`: how far the attempt has come.

use crate::plugin::{
    Progress,
    sandbox::{bindings::sandhog::job::progress, journal::clean, state::State},
};

/// Longest note, in bytes.
const NOTE_BYTES: usize = 256;

impl progress::Host for State {
    fn report(&mut self, done: u64, total: Option<u64>, note: Option<String>) {
        let note = note.map(|note| clean(note.as_bytes(), &mut { NOTE_BYTES }));
        self.stop
            .live
            .with(|view| view.progress = Some(Progress { done, total, note }));
    }
}

//! The keys of `[plugins]`.

use super::{Config, Form, GIB, HOUR, KIB, Key, MIB, Setting, Table, YEAR, count, size, span};
use crate::config::reload::Reload;

pub(super) const TABLE: Table = Table {
    name: "plugins",
    says: "How components are taken in, compiled and kept.",
    reload: Reload::Only(&[]),
    keys: &[
        key!(
            Config,
            plugins.max_file,
            "max_file",
            size(KIB, GIB),
            "Largest component taken."
        ),
        key!(
            Config,
            plugins.compile_timeout,
            "compile_timeout",
            span(1_000, HOUR),
            "Wall time of one compilation. It runs in a process of its own; one that takes longer is ended, and the component refused."
        ),
        key!(
            Config,
            plugins.compile_memory,
            "compile_memory",
            size(64 * MIB, 64 * GIB),
            "Resident memory of one compilation. One that takes more is ended, and the component refused."
        ),
        key!(
            Config,
            plugins.cache_size,
            "cache_size",
            size(MIB, 1024 * GIB),
            "Native code kept in the data directory. What was not used for longest goes first, never what is in use."
        ),
        key!(
            Config,
            plugins.cache_age,
            "cache_age",
            span(1_000, 10 * YEAR),
            "How long native code is kept that nothing uses."
        ),
        key!(
            Config,
            plugins.keep_versions,
            "keep_versions",
            count(1_000),
            "Versions of each plugin kept in the data directory to go back to, the last one that completed a job always among them."
        ),
        key!(
            Config,
            plugins.quarantine_after,
            "quarantine_after",
            Form::Count { min: 0, max: 1_000 },
            "After so many different jobs of a kind in a row that end in a trap, out of memory, or otherwise in a way that the same input repeats, the version is held back and its jobs wait. Never when 0."
        ),
    ],
};

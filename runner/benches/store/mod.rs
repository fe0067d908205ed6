//! The store alone, beside a bare log. Each open and each measure of memory has a process of its own.

pub(crate) mod appends;
pub(crate) mod bare;
pub(crate) mod letters;
pub(crate) mod memory;
pub(crate) mod recovery;

//! Bytes and records.

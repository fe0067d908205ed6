//! The orders jobs are looked up in.

//! The store on a system that fails on demand: the real program under `strace`, which kills it at a
//! chosen system call, lets a call fail or take long, or only writes down what was called.
//!
//! Rules for a call count per thread, which is what `strace` counts by.

mod acks;
mod audit;
mod caller;
mod durability;
mod fail;
mod full;
mod kill;
mod slow;
mod strace;
mod trace;

/// A line for the table that `SANDHOG_TABLE=1` asks for.
fn told(test: &str, what: &str) {
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!("{test}: {what}");
    }
}

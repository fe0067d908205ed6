//! What a store promises, tried on a real disk and on one that fails.

mod compact;
mod compact_faults;
mod conformance;
mod crash;
mod damage;
mod dead;
mod faults;
mod halves;
mod opening;
mod retain;
mod stage;
mod trimmed;

//! What a store promises, tried on a real disk and on one that fails.

mod call_off;
mod compact;
mod compact_faults;
mod conformance;
mod crash;
mod crons;
mod damage;
mod dead;
mod expiry;
mod faults;
mod full;
mod gate;
mod halves;
mod merging;
mod merging_crash;
mod opening;
mod promises;
mod queues;
mod repairing;
mod repairing_beside;
mod retain;
mod seeds;
mod stage;
mod trimmed;
mod unique;

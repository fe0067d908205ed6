//! What a store promises, tried on a real disk and on one that fails.

mod conformance;
mod crash;
mod damage;
mod dead;
mod faults;
mod full;
mod gate;
mod halves;
mod merging;
mod opening;
mod promises;
mod stage;

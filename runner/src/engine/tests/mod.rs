//! The engine on a real store, with a host that does what a test says.

mod budget;
mod chain;
mod cron;
mod gate;
mod idle;
mod lease;
mod life;
mod stage;

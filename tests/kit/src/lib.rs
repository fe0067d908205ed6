//! What the black-box tests share: a runner process to hold, its command line, inputs and checks
//! that do not use the runner's own code.

mod answer;
pub mod component;
pub mod hand_made;
mod home;
pub mod hostile;
pub mod http;
mod inputs;
mod ledger;
mod picture;
mod receiver;
mod runner;
mod terminal;
pub mod wait;
mod when;

pub use answer::Answer;
pub use home::{Home, guest, plugin};
pub use http::{Http, Reply};
pub use inputs::{Photo, own, photos, shared_table, workspace};
pub use ledger::Ledger;
pub use picture::size_of_png;
pub use receiver::{Received, Receiver};
pub use runner::Runner;
pub use terminal::Terminal;
pub use when::millis;

/// Whether the long rounds are asked for (`cargo xtask test --long`).
#[must_use]
pub fn long() -> bool {
    std::env::var_os("SANDHOG_LONG").is_some_and(|value| value == "1")
}

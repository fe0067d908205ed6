//! Guests of every sort against the sandbox: what each ends as, and what it leaves alone.

mod calls;
mod guests;
mod hand_made;
mod hints;
mod hostile;
pub(crate) mod kit;
mod leftovers;
mod limits;
mod stops;

//! What people say of queues.

use alloc::{boxed::Box, format, string::String, vec, vec::Vec};

use crate::{
    command::Rejected,
    event::Event,
    job::check_name,
    ledger::Ledger,
    limits::CANCELLED_BY_BYTES,
    queue::{QueueLimits, QueueMode, Steering},
    time::Now,
};

/// Nothing is written when it is so already.
pub(super) fn steer(
    ledger: &Ledger,
    queue: String,
    mode: Option<QueueMode>,
    limits: Option<QueueLimits>,
    by: String,
    now: Now,
) -> Result<Vec<Event>, Rejected> {
    check_name("queue", &queue).map_err(Rejected::Invalid)?;
    if by.len() >= CANCELLED_BY_BYTES {
        let length = by.len();
        return Err(Rejected::Invalid(format!(
            "the name of who says so has {length} bytes: at most {} are kept",
            CANCELLED_BY_BYTES - 1
        )));
    }
    if let Some(limits) = limits {
        limits.check().map_err(Rejected::Invalid)?;
    }
    let before = ledger.steering(&queue);
    let to = Steering {
        mode: mode.unwrap_or(before.mode),
        limits: limits.unwrap_or(before.limits),
    };
    if to == before {
        return Ok(Vec::new());
    }
    let (at, to) = (now.wall, Box::new(to));
    Ok(vec![Event::Steered { queue, at, by, to }])
}

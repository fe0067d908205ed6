//! A component of many kinds, most of which do what no handler should. Tests drop it into a
//! runner's plugin folder and look at what the host makes of it.
//!
//! Each kind is its function's name with `-` for `_`. What a kind needs comes in headers; a header
//! that is missing or no number counts as its default.

mod memory;
mod outside;
mod verdicts;
mod view;
mod violent;

use sandhog_sdk::Context;

sandhog_sdk::export!(
    verdicts::echo,
    verdicts::flaky,
    verdicts::permanent,
    verdicts::retry_after,
    verdicts::snooze,
    verdicts::discard,
    verdicts::spawn,
    verdicts::checkpoint,
    verdicts::heed,
    verdicts::rest,
    violent::panic,
    violent::unreachable,
    violent::divide,
    violent::out_of_bounds,
    violent::recurse,
    violent::r#loop,
    violent::exit,
    violent::flood,
    violent::sleep,
    memory::allocate,
    memory::huge,
    memory::relent,
    memory::peek,
    memory::poison,
    outside::scratch,
    outside::stretch,
    outside::hoard,
    outside::read,
    outside::variable,
    outside::fetch,
    outside::sign,
    view::headers,
    view::config,
    view::progress,
    view::recite,
);

/// A header as a number.
fn number(ctx: &Context, key: &str, default: u64) -> u64 {
    ctx.header(key)
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

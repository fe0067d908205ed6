//! Kinds that take memory: too much of it, or somebody else's.

use sandhog_sdk::{Bytes, Context, Error};
use serde_json::{Value, json};

use crate::number;

const PAGE: usize = 65_536;

/// Takes and touches memory, a MiB at a time, for ever.
#[sandhog_sdk::job]
pub(crate) fn allocate(_: Bytes) -> usize {
    let mut held: Vec<Vec<u8>> = Vec::new();
    loop {
        held.push(vec![0xa5; 1 << 20]);
        std::hint::black_box(&held);
        if held.len() == usize::MAX {
            return held.len();
        }
    }
}

/// Is refused more memory than it can have, makes do without, and panics about something else.
#[sandhog_sdk::job]
pub(crate) fn relent(_: Bytes) {
    let mut more: Vec<u8> = Vec::new();
    let refused = more.try_reserve_exact(1 << 30).is_err();
    panic!("one is not two, and 1 GiB refused: {refused}");
}

/// Gives back header `bytes` (1 GiB) bytes.
#[sandhog_sdk::job]
pub(crate) fn huge(_: Bytes, ctx: &Context) -> Bytes {
    let bytes = usize::try_from(number(ctx, "bytes", 1 << 30)).unwrap_or(usize::MAX);
    Bytes::new("application/octet-stream", vec![b'x'; bytes])
}

/// Takes header `pages` (256) fresh pages, fills them with a secret and keeps it there.
#[sandhog_sdk::job]
pub(crate) fn poison(_: Bytes, ctx: &Context) -> Result<Value, Error> {
    let pages = fresh_pages(ctx)?;
    pages.fill(0x5e);
    Ok(json!({ "bytes": pages.len() }))
}

/// Takes header `pages` (256) fresh pages and counts the bytes in them that are not zero.
#[sandhog_sdk::job]
pub(crate) fn peek(_: Bytes, ctx: &Context) -> Result<Value, Error> {
    let pages = fresh_pages(ctx)?;
    let found = pages.iter().filter(|byte| **byte != 0).count();
    Ok(json!({ "bytes": pages.len(), "nonzero": found }))
}

/// Pages straight from the host, never seen by an allocator that might have written to them.
#[cfg(target_family = "wasm")]
fn fresh_pages(ctx: &Context) -> Result<&'static mut [u8], Error> {
    let pages = usize::try_from(number(ctx, "pages", 256))?;
    let before = core::arch::wasm32::memory_grow::<0>(pages);
    if before == usize::MAX {
        return Err(Error::permanent(format!("the host gave no {pages} pages")));
    }
    let start = (before * PAGE) as *mut u8;
    // SAFETY: the pages did not exist before the call above and nobody else knows of them; a
    // sandbox's new memory is readable and holds some value in every byte.
    Ok(unsafe { std::slice::from_raw_parts_mut(start, pages * PAGE) })
}

#[cfg(not(target_family = "wasm"))]
fn fresh_pages(ctx: &Context) -> Result<&'static mut [u8], Error> {
    let pages = usize::try_from(number(ctx, "pages", 256))?;
    Ok(Vec::leak(vec![0; pages * PAGE]))
}

//! Who asks.

use std::{env, fs, os::unix::fs::MetadataExt};

/// The name of the user who runs this, for a person to read: nothing relies on it.
pub(super) fn this_user() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| {
        let name = env::var(name).ok()?;
        Some(name).filter(|name| !name.is_empty())
    });
    named.unwrap_or_else(|| match fs::metadata("/proc/self") {
        Ok(process) => format!("uid {}", process.uid()),
        Err(_) => "someone".to_owned(),
    })
}

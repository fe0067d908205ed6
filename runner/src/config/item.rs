//! What the lists of the settings are made of.

use std::path::Path;

use super::value::is_name;
use crate::plugin::{Network, OriginPattern};

/// What a list is made of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    Origin,
    Network,
    /// An absolute path.
    Folder,
    /// A name, or `*` for every one.
    Name,
    /// The name of a queue.
    Queue,
    /// A name of a machine, with a port or without.
    Host,
}

impl Item {
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Self::Origin => {
                "a list of origins, such as [\"https://api.example.com\", \"https://*.example.com\"]"
            }
            Self::Network => "a list of networks, such as [\"10.0.0.0/8\", \"127.0.0.1\"]",
            Self::Folder => "a list of absolute paths",
            Self::Name => "a list of names, or [\"*\"] for all",
            Self::Queue => "a list of queues, such as [\"critical\", \"default\"]",
            Self::Host => {
                "a list of names with a port or without, such as [\"jobs.example.com\", \"jobs.example.com:8443\"]"
            }
        }
    }

    /// What is wrong with one of them.
    pub(super) fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Origin => text.parse::<OriginPattern>().map(drop),
            Self::Network => text.parse::<Network>().map(drop),
            Self::Folder if Path::new(text).is_absolute() => Ok(()),
            Self::Folder => Err(format!("{text:?} is no absolute path")),
            Self::Name if text == "*" || is_name(text) => Ok(()),
            Self::Queue if is_name(text) => Ok(()),
            Self::Name | Self::Queue => Err(format!("{text:?} is no name")),
            Self::Host if is_host(text) => Ok(()),
            Self::Host => Err(format!("{text:?} is no name of a machine")),
        }
    }
}

/// Whether a text can name a machine, with a port or without.
fn is_host(text: &str) -> bool {
    let name = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            if port.parse::<u16>().is_err() {
                return false;
            }
            name
        }
        _ => text,
    };
    let inner = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
            (1..=253).contains(&name.len()) && name.bytes().all(fits)
        }
    }
}

//! Settings that were read again: one key waits for the next start.

use crate::api::{Difference, Reload, Reloaded, Setting, SettingsInForce};

pub(super) struct Papers;

fn differs() -> Difference {
    Difference {
        key: "runner.slots".to_owned(),
        before: None,
        after: Some("3".to_owned()),
        at_once: false,
    }
}

impl Reload for Papers {
    fn reload(&self) -> Reloaded<'_> {
        Box::pin(async { Ok(vec![differs()]) })
    }

    fn settings(&self) -> SettingsInForce {
        let setting = |key: &str, value: Option<&str>| Setting {
            key: key.to_owned(),
            value: value.map(str::to_owned),
            origin: "default".to_owned(),
        };
        SettingsInForce {
            file: Some("sandhog.toml".to_owned()),
            settings: vec![
                setting("runner.lease", Some("\"1m\"")),
                setting("dead.keep", None),
            ],
            waiting: vec![differs()],
        }
    }
}

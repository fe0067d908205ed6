//! `config`: the operator's settings for the kind, then those of the plugin's own file.

use crate::plugin::sandbox::{bindings::sandhog::job::config, state::State};

impl config::Host for State {
    fn get(&mut self, key: String) -> Option<String> {
        let granted = || self.grant.grants.config.get(&key);
        self.grant.config.get(&key).or_else(granted).cloned()
    }
}

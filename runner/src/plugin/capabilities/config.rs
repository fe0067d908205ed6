//! `config`: the operator's settings for the handler.

use crate::plugin::sandbox::{bindings::sandhog::job::config, state::State};

impl config::Host for State {
    fn get(&mut self, key: String) -> Option<String> {
        self.grant.config.get(&key).cloned()
    }
}

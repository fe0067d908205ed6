//! `context`: what an attempt may ask about itself, and the checkpoint.

use std::sync::Arc;

use crate::plugin::{
    bytes::human_bytes,
    sandbox::{bindings::sandhog::job::context, state::State},
};

impl context::Host for State {
    fn cancelled(&mut self) -> bool {
        self.stop.is_near()
    }

    fn remaining_ms(&mut self) -> u64 {
        u64::try_from(self.stop.remaining().as_millis()).unwrap_or(u64::MAX)
    }

    async fn checkpoint(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        let limit = self.grant.limits.checkpoint;
        if bytes.len() as u64 > limit {
            return Err(format!(
                "a checkpoint of {} is over its limit of {}",
                human_bytes(bytes.len() as u64),
                human_bytes(limit)
            ));
        }
        let services = Arc::clone(&self.grant.services);
        services
            .checkpoint(self.grant.job, self.grant.token, bytes)
            .await
    }
}

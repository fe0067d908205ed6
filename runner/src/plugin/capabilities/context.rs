//! `context`: what an attempt may ask about itself, and the checkpoint.

use std::{sync::Arc, time::Duration};

use crate::plugin::{
    bytes::human_bytes,
    sandbox::{
        bindings::sandhog::job::context,
        state::{CHECKPOINT_COST, CHECKPOINTS_BYTES, State},
    },
};

impl context::Host for State {
    fn cancelled(&mut self) -> bool {
        self.stop.is_near()
    }

    fn remaining_ms(&mut self) -> u64 {
        u64::try_from(self.stop.remaining().as_millis()).unwrap_or(u64::MAX)
    }

    async fn sleep(&mut self, ms: u64) -> bool {
        let span = Duration::from_millis(ms);
        let near = self.stop.until_near();
        let asked = self.stop.live.call_off_asked();
        tokio::select! {
            biased;
            () = asked => false,
            () = tokio::time::sleep(span.min(near)) => span < near,
        }
    }

    async fn checkpoint(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        let limit = self.grant.limits.checkpoint;
        if bytes.len() as u64 > limit {
            return Err(format!(
                "a checkpoint of {} is over its limit of {} (`checkpoint` under [limits] in sandhog.toml)",
                human_bytes(bytes.len() as u64),
                human_bytes(limit)
            ));
        }
        let cost = CHECKPOINT_COST.max(bytes.len() as u64);
        self.checkpointed = self.checkpointed.saturating_add(cost);
        if self.checkpointed > CHECKPOINTS_BYTES {
            return Err(format!(
                "the checkpoints of one attempt may have {} in all: keep fewer, or smaller ones",
                human_bytes(CHECKPOINTS_BYTES)
            ));
        }
        let services = Arc::clone(&self.grant.services);
        services
            .checkpoint(self.grant.job, self.grant.token, bytes)
            .await
    }
}

//! The engine of the double: one attempt that has logged and come a quarter of the way.

use std::sync::Arc;

use sandhog_model::{Cancellation, JobId, Token};

use super::{Engine, desk, trapped};
use crate::{
    engine::{MemoryUse, Mode, Running, WorkerRow},
    plugin::{Catalog, LiveView, Progress},
};

impl Running for Engine {
    fn live(&self, _: JobId) -> Option<LiveView> {
        Some(LiveView {
            progress: Some(Progress {
                done: 1,
                total: Some(4),
                note: Some("first\u{1b}[2J".into()),
            }),
            logs: trapped().logs,
        })
    }

    fn call_off(&self, _: JobId, _: Token, _: Cancellation) {}

    fn mode(&self) -> Mode {
        Mode::Running
    }

    fn be_quiet(&self, quiet: bool) -> Mode {
        if quiet { Mode::Quiet } else { Mode::Running }
    }

    fn ask_to_stop(&self) {}

    fn workers(&self) -> Vec<WorkerRow> {
        vec![WorkerRow {
            number: 0,
            slots: 4,
            running: Vec::new(),
            ended: 9,
        }]
    }

    fn memory(&self) -> MemoryUse {
        MemoryUse::default()
    }

    fn catalog(&self) -> Arc<Catalog> {
        let plugin = desk::page();
        let mut catalog = Catalog::default();
        catalog.plugins.insert("page".into(), Arc::new(plugin));
        Arc::new(catalog)
    }
}

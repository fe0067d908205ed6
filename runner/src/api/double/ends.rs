//! How the attempts of the double end.

use sandhog_model::{
    Attempt, Failure, FailureKind, JobId, LogLevel, LogLine, LogSource, Output, State, Token,
    TrapKind, UnixMs,
};

use super::Double;
use crate::store::{JobChange, JobView};

/// A failed attempt as a trap leaves it, with text that must not reach a terminal as it is.
pub(crate) fn trapped() -> Attempt {
    let mut failure = Failure::new(
        FailureKind::Trap(TrapKind::Unreachable),
        "unreachable",
        "the handler panicked: \u{1b}[31mred\u{7}",
    )
    .with_hint("see the backtrace");
    failure.panic = Some("boom at src/lib.rs:7".into());
    failure.backtrace = vec!["page::handle".into()];
    Attempt {
        number: 1,
        token: Token(7),
        started_at: UnixMs(1_790_000_000_000),
        ended_at: UnixMs(1_790_000_001_500),
        duration_us: 1_500_000,
        digest: "ab".repeat(32),
        plugin: "page".into(),
        peak_memory: 3 << 20,
        failure: Some(failure),
        logs: vec![LogLine {
            at_ms: 12,
            source: LogSource::Log,
            level: LogLevel::Warn,
            text: "careful\u{1b}]0;title\u{7}".into(),
            fields: vec![("row".into(), "3".into())],
        }],
        dropped_lines: 2,
        cpu_us: 1_200_000,
    }
}

impl Double {
    /// The job's first attempt runs.
    pub(crate) fn starts(&self, id: JobId) {
        self.ends(id, State::Running, |view| view.row.attempt = 1);
    }

    /// An attempt fails that logged nothing.
    pub(crate) fn fails_quietly(&self, id: JobId) {
        self.ends(id, State::Retryable, |view| {
            let mut attempt = trapped();
            attempt.logs.clear();
            attempt.dropped_lines = 0;
            view.attempts.push(attempt);
        });
    }

    pub(crate) fn completes(&self, id: JobId, content_type: &str, payload: &[u8]) {
        self.ends(id, State::Completed, |view| {
            view.output = Some(Output {
                content_type: content_type.into(),
                payload: payload.into(),
            });
        });
    }

    pub(super) fn ends(&self, id: JobId, state: State, change: impl FnOnce(&mut JobView)) {
        let mut inner = self.inner.lock().unwrap();
        let view = inner.jobs.get_mut(&id).unwrap();
        view.row.state = state;
        change(view);
        drop(inner);
        let _ = self.changes.send(JobChange { id, state });
    }
}

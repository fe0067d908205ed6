//! What a guest may try, as components written by hand: one for each thing, with the end that the
//! host must give it. `docs/sandbox.md` says the same in words.

mod hosts;
mod lies;
mod loads;
mod refused;
mod time;

use crate::hand_made::HandMade;

/// Wall time of what ends by its time, in milliseconds.
const LIMIT_MS: u64 = 300;
/// The setting whose presence tells a start function that this is no `describe`.
pub const GO: (&str, &str) = ("go", "1");

/// A thing a guest may try.
#[derive(Debug, Clone, Copy)]
pub struct Hostile {
    /// The kind of job that tries it.
    pub name: &'static str,
    made: HandMade<'static>,
    /// The wall time it is given, in milliseconds.
    pub limit_ms: u64,
    /// How it must end.
    pub end: End,
}

/// How an attempt must end.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// As a failed attempt.
    Failed {
        /// The failure's kind.
        kind: &'static str,
        /// Its code.
        code: &'static str,
        /// What its cause has to say.
        says: &'static str,
    },
    /// With a result: what it tried came to nothing and it went on.
    Completed,
    /// Not at all: the component is refused, and the cause says this.
    Refused(&'static str),
}

impl Hostile {
    /// The same for what ends by something else than its time, on however slow a machine.
    const fn patient(self) -> Self {
        Self {
            limit_ms: 60_000,
            ..self
        }
    }

    /// The component's bytes.
    ///
    /// # Panics
    ///
    /// When the fixture is no component.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let describe = format!(r#"{{"schema":1,"kinds":[{{"kind":"{}"}}]}}"#, self.name);
        HandMade {
            describe: &describe,
            ..self.made
        }
        .bytes()
    }
}

/// Every one.
pub fn all() -> impl Iterator<Item = &'static Hostile> {
    [time::ALL, loads::ALL, hosts::ALL, lies::ALL, refused::ALL]
        .into_iter()
        .flatten()
}

const fn try_to(name: &'static str, made: HandMade<'static>, end: End) -> Hostile {
    Hostile {
        name,
        made,
        limit_ms: LIMIT_MS,
        end,
    }
}

const fn failed(kind: &'static str, code: &'static str, says: &'static str) -> End {
    End::Failed { kind, code, says }
}

/// Stopped in its own code.
const STOPPED: End = failed("timeout", "timeout", "ran longer than 300 ms");
/// Stopped while it waited.
const WAITED: End = failed("timeout", "timeout", "it was waiting for the host");

//! What is said when a guest is denied something: to the attempt's log, with the lines that would
//! grant it.

use sandhog_model::LogLevel;

use crate::plugin::sandbox::{journal::Journal, state::State};

impl State {
    /// Log that the guest is not granted `what` (to do something) by a capability, with the lines that would grant it.
    /// Gives what the guest is told.
    pub(super) fn denied(&self, capability: &'static str, what: &str, lines: &[String]) -> String {
        let grant = &self.grant;
        grant.outside.denials.denied(capability);
        log(
            &self.journal,
            &grant.plugin,
            what,
            lines,
            &grant.grants.cuts,
        );
        format!("it is not granted {what}; the job's log says how to grant it")
    }
}

/// Write a denial to the attempt's log. `cuts` is what the operator's ceiling took from the
/// plugin's wishes.
pub(crate) fn log(journal: &Journal, plugin: &str, what: &str, toml: &[String], cuts: &[String]) {
    let say = |text: &str| journal.log(LogLevel::Warn, text, Vec::new());
    say(&format!(
        "denied: {what}. To grant it, write into {plugin}.toml beside {plugin}.wasm:"
    ));
    toml.iter().for_each(|line| say(line));
    for cut in cuts {
        say(&format!("asked for, but not granted: {cut}"));
    }
}

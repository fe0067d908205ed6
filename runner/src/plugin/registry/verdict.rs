//! What is said of a component that was looked at: what it is denied, and whether it can run.

use super::trial::Checked;
use crate::plugin::{Grants, Plugin};

/// An interface, what is said when it is imported in vain, and whether it is granted.
type Need = (&'static str, &'static str, fn(&Grants) -> bool);

/// Interfaces that are of no use without a grant.
const NEED_GRANTS: [Need; 3] = [
    (
        "wasi:http/outgoing-handler",
        "it may send requests, and no origin is granted",
        |grants| !grants.http.is_empty(),
    ),
    (
        "sandhog:job/enqueue",
        "it may enqueue jobs, and no queue is granted",
        |grants| grants.enqueue.is_some(),
    ),
    (
        "sandhog:job/signing",
        "it may sign, and no secret is granted for that",
        |grants| grants.secrets.iter().any(|secret| secret.sign),
    ),
];

/// SDKs of languages whose runtime is linked with all of the contract: an import says nothing of what is used.
const LINK_ALL: [&str; 2] = ["sandhog-python ", "sandhog-js "];

fn links_all(plugin: &Plugin) -> bool {
    LINK_ALL.iter().any(|sdk| plugin.sdk.starts_with(sdk))
}

impl Checked {
    /// The interfaces that it imports and that are of no use to it, with what is said of them.
    fn idle(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let idle = NEED_GRANTS.iter().filter(|(interface, _, granted)| {
            let names = self.imports.iter();
            let mut imported = names.filter_map(|name| name.split('@').next());
            imported.any(|name| name == *interface) && !granted(&self.plugin.grants)
        });
        idle.map(|(interface, why, _)| (*interface, *why))
    }

    /// What it wishes for and does not get, and what it imports for nothing.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let plugin = &self.plugin;
        let asked = plugin.asks.as_deref();
        let mut missing = asked.map_or_else(Vec::new, |asked| plugin.grants.unmet(asked));
        missing.extend(plugin.grants.cuts.iter().cloned());
        if !links_all(plugin) {
            let idle = self.idle();
            missing.extend(idle.map(|(interface, why)| format!("{interface}: {why}")));
        }
        missing
    }

    /// What its runtime links in whether the handler uses it or not, and nothing grants.
    #[must_use]
    pub fn linked(&self) -> Vec<&'static str> {
        let linked = self.idle().map(|(interface, _)| interface);
        linked.filter(|_| links_all(&self.plugin)).collect()
    }

    /// What becomes of it.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self.missing().is_empty() {
            true => "it can run",
            false => "it can run, and is denied what is not granted",
        }
    }
}

//! What is said of a component that no sandbox of this runner has room for.

use super::Fault;
use crate::plugin::sandbox::engines::{COMPONENT_MEMORIES, COMPONENT_TABLES, INSTANCES};

/// How wasmtime says that a memory or a table is too large from its start, and that there are too many
/// of a thing; it has no types for them.
const MEMORY: &str = "minimum byte size";
const TABLE: &str = "minimum element size";
const PARTS: [&str; 2] = ["transitively contains", "count of"];

/// Why a component that compiled does not fit, and the key to raise where there is one.
pub(super) fn no_room(error: &wasmtime::Error) -> Fault {
    let text = format!("{error:#}");
    let hint = if text.contains(MEMORY) {
        "raise `memory` under [limits] in sandhog.toml".to_owned()
    } else if text.contains(TABLE) {
        "raise `table_elements` under [limits] in sandhog.toml".to_owned()
    } else if PARTS.iter().any(|part| text.contains(part)) {
        format!(
            "join its modules: a component may have {INSTANCES} instances, {COMPONENT_MEMORIES} memories and {COMPONENT_TABLES} tables, whatever the settings"
        )
    } else {
        "build it smaller: what a sandbox keeps of a component is the same for all".to_owned()
    };
    let cause = text.lines().next().unwrap_or_default();
    Fault::new(format!("it does not fit in a sandbox: {cause}"), hint)
}

#[cfg(test)]
mod tests {
    use sandhog_kit::hand_made::HandMade;
    use wasmtime::component::Component;

    use super::*;
    use crate::plugin::sandbox::{SandboxOptions, engines::Engines};

    fn said(made: HandMade<'_>) -> Fault {
        let options = SandboxOptions {
            slots: 1,
            max_memory: 1 << 20,
            table_elements: 1_000,
            ..SandboxOptions::default()
        };
        let engines = Engines::start().unwrap();
        let engine = engines.compiler(&options, false).unwrap();
        let refused = Component::new(&engine, made.bytes()).err();
        no_room(&refused.expect("it does not fit"))
    }

    #[test]
    fn the_hint_names_what_can_be_raised_and_nothing_else() {
        let plain = HandMade::PLAIN;
        let many = |what| HandMade {
            parts: what,
            copies: (40, "(core instance (instantiate $more))"),
            ..HandMade::PLAIN
        };
        for (made, cause, hint) in [
            (
                HandMade { pages: 17, ..plain },
                "minimum byte size",
                "`memory`",
            ),
            (
                HandMade {
                    fields: "(table $t 1001 funcref)",
                    ..plain
                },
                "minimum element size",
                "`table_elements`",
            ),
            (
                many("(core module $more (table 1 funcref) (memory 1))"),
                "linear memories",
                "8 memories and 16 tables",
            ),
            (
                many("(core module $more (table 1 funcref))"),
                "tables",
                "8 memories and 16 tables",
            ),
            (
                HandMade {
                    copies: (64, "(core instance (instantiate $more))"),
                    ..many("(core module $more)")
                },
                "core module instances",
                "64 instances",
            ),
            (
                HandMade {
                    fields: "(memory $a 1) (memory $b 1) (memory $c 1) (memory $d 1)
                        (memory $e 1)",
                    ..plain
                },
                "memories count of 5",
                "8 memories",
            ),
        ] {
            let fault = said(made);
            assert!(
                fault.cause.contains(cause) && !fault.cause.contains('\n'),
                "{fault:?}"
            );
            assert!(fault.hint.contains(hint), "{fault:?}");
        }
    }
}

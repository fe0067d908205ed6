//! Why a component does not fit this host, in words that name what is missing.

use wasmtime::{
    Engine,
    component::{Component, types::ComponentItem},
};

use super::Fault;

/// What is offered: a package, and the versions that link to it (within 0.x, a minor version is a
/// track of its own).
const OFFERED: [(&str, &[&str]); 8] = [
    (
        "sandhog:job",
        &[
            "types", "context", "log", "progress", "enqueue", "config", "signing",
        ],
    ),
    ("wasi:http", &["types", "outgoing-handler"]),
    ("wasi:cli", &[]),
    ("wasi:io", &[]),
    ("wasi:clocks", &[]),
    ("wasi:random", &[]),
    ("wasi:filesystem", &[]),
    ("wasi:sockets", &[]),
];
const HANDLER: &str = "sandhog:job/handler";

/// The fault of a component that could not be linked, `refused` being the engine's own text.
pub(crate) fn link_fault(engine: &Engine, component: &Component, refused: &str) -> Fault {
    let ty = component.component_type();
    let missing: Vec<String> = ty
        .imports(engine)
        .filter_map(|(name, _)| missing(name))
        .collect();
    let hint = "this host offers sandhog:job@0.1 and wasi:cli, io, clocks, random, filesystem, sockets and http (outgoing) @0.2: build with the matching SDK, and without what it does not offer";
    if missing.is_empty() {
        Fault::new(format!("its imports do not fit: {refused}"), hint)
    } else {
        Fault::new(
            format!(
                "it imports what this host does not offer: {}",
                missing.join("; ")
            ),
            hint,
        )
    }
}

/// The fault of a component that links but exports no handler, `refused` being the engine's text.
pub(crate) fn world_fault(engine: &Engine, component: &Component, refused: &str) -> Fault {
    let ty = component.component_type();
    let exports: Vec<String> = ty
        .exports(engine)
        .filter(|(_, export)| !matches!(export.ty, ComponentItem::Type(_)))
        .map(|(name, _)| name.to_owned())
        .collect();
    let hint = "use sandhog-sdk, `crate-type = [\"cdylib\"]` and `sandhog_sdk::export!`";
    if exports.iter().any(|name| name.starts_with(HANDLER)) {
        let versions = exports.join(", ");
        return Fault::new(
            format!(
                "its handler does not fit: it exports {versions}, this host calls {HANDLER}@0.1: {refused}"
            ),
            hint,
        );
    }
    let has = if exports.is_empty() {
        "it exports nothing".to_owned()
    } else {
        format!("it exports {}", exports.join(", "))
    };
    Fault::new(
        format!("it is no job handler: it does not export {HANDLER}@0.1; {has}"),
        hint,
    )
}

/// What to say of an import that is not offered, `None` when it is.
fn missing(import: &str) -> Option<String> {
    let (path, version) = import.split_once('@').unwrap_or((import, ""));
    let (package, interface) = path.split_once('/').unwrap_or((path, ""));
    let Some((_, interfaces)) = OFFERED.iter().find(|(name, _)| *name == package) else {
        return Some(import.to_owned());
    };
    let track = if package == "sandhog:job" {
        "0.1."
    } else {
        "0.2."
    };
    if !version.starts_with(track) {
        return Some(format!(
            "{import} (this host has {package}@{})",
            track.trim_end_matches('.')
        ));
    }
    let known = interfaces.is_empty() || interfaces.contains(&interface);
    (!known).then(|| import.to_owned())
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn imports_are_looked_up_by_package_and_track() {
        assert_eq!(missing("wasi:cli/stdout@0.2.12"), None);
        assert_eq!(missing("sandhog:job/log@0.1.3"), None);
        assert_eq!(
            missing("sandhog:job/kv@0.1.0").as_deref(),
            Some("sandhog:job/kv@0.1.0")
        );
        assert_eq!(
            missing("wasi:cli/stdout@0.3.0").as_deref(),
            Some("wasi:cli/stdout@0.3.0 (this host has wasi:cli@0.2)")
        );
        assert_eq!(
            missing("wasi:http/incoming-handler@0.2.0").as_deref(),
            Some("wasi:http/incoming-handler@0.2.0")
        );
    }
}

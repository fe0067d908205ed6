//! Why a component does not fit this host, in words that name what is missing.

use std::fmt;

use serde::{Deserialize, Serialize};
use wasmtime::{
    Engine,
    component::{Component, Linker, types::ComponentItem},
};

use super::Fault;
use crate::plugin::sandbox::state::State;

/// What is offered: packages with the version the linker has them under. Within 0.x a minor version
/// is a track of its own, and any version of the track links to it.
const OFFERED: [(&str, &str); 8] = [
    ("sandhog:job", "0.1.0"),
    ("wasi:cli", "0.2.12"),
    ("wasi:http", "0.2.12"),
    ("wasi:io", "0.2.12"),
    ("wasi:clocks", "0.2.12"),
    ("wasi:random", "0.2.12"),
    ("wasi:filesystem", "0.2.12"),
    ("wasi:sockets", "0.2.12"),
];
/// Functions named of an interface that lacks many.
const NAMED: usize = 8;
const HANDLER: &str = "sandhog:job/handler";

/// An import that this host does not offer as it is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingImport {
    /// What the component imports, with its version.
    pub wanted: String,
    /// The same package as this host has it, with its version; `None` when it has none of that name.
    pub offered: Option<String>,
    /// Functions and resources that the host's version of the interface does not have; empty when
    /// the whole interface is missing.
    pub lacks: Vec<String>,
}

impl fmt::Display for MissingImport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wanted)?;
        let here = self.offered.as_deref();
        if self.lacks.is_empty() {
            return match here {
                Some(here) if track_of(here) == track_of(&self.wanted) => {
                    write!(f, " (this host's {here} has no such interface)")
                }
                Some(here) => write!(f, " (this host has {here})"),
                None => f.write_str(" (this host has no version of it)"),
            };
        }
        let named = &self.lacks[..self.lacks.len().min(NAMED)];
        write!(f, " (this host has {} without ", here.unwrap_or_default())?;
        f.write_str(&named.join(", "))?;
        match self.lacks.len() - named.len() {
            0 => f.write_str(")"),
            more => write!(f, " and {more} more)"),
        }
    }
}

/// Every import of a component that a linker does not offer, with the versions wanted and offered.
/// What is offered but of another type is not among them.
pub(crate) fn missing_imports(linker: &Linker<State>, component: &Component) -> Vec<MissingImport> {
    let engine = linker.engine();
    let ty = component.component_type();
    let imports = ty.imports(engine);
    imports
        .filter_map(|(name, import)| missing(engine, linker, name, &import.ty))
        .collect()
}

/// What is missing of one import, `None` when nothing is.
fn missing(
    engine: &Engine,
    linker: &Linker<State>,
    import: &str,
    item: &ComponentItem,
) -> Option<MissingImport> {
    let of = |offered, lacks| {
        Some(MissingImport {
            wanted: import.to_owned(),
            offered,
            lacks,
        })
    };
    let path = import.split_once('@').map_or(import, |(path, _)| path);
    let (package, interface) = path.split_once('/').unwrap_or((path, ""));
    let Some((_, version)) = OFFERED.iter().find(|(name, _)| *name == package) else {
        return of(None, Vec::new());
    };
    if track_of(import) != track(version) {
        return of(Some(format!("{package}@{version}")), Vec::new());
    }
    let ComponentItem::ComponentInstance(instance) = item else {
        return of(Some(format!("{package}@{version}")), Vec::new());
    };
    let here = format!("{package}/{interface}@{version}");
    let names: Vec<&str> = instance
        .exports(engine)
        .filter(|(_, export)| {
            matches!(
                export.ty,
                ComponentItem::ComponentFunc(_) | ComponentItem::Resource(_)
            )
        })
        .map(|(name, _)| name)
        .collect();
    let lacks: Vec<String> = names
        .iter()
        .filter(|name| !has(linker, &here, name))
        .map(|name| (*name).to_owned())
        .collect();
    match lacks.len() {
        0 => None,
        all if all == names.len() => of(Some(format!("{package}@{version}")), Vec::new()),
        _ => of(Some(here), lacks),
    }
}

/// What a version links within: 0.2 of 0.2.12, 1 of 1.4.0.
fn track(version: &str) -> Option<(&str, &str)> {
    let mut parts = version.split('.');
    let major = parts.next().filter(|major| !major.is_empty())?;
    Some((major, if major == "0" { parts.next()? } else { "" }))
}

/// The track of a name that ends in a version.
fn track_of(name: &str) -> Option<(&str, &str)> {
    track(name.split_once('@')?.1)
}

/// Whether a linker has something of that name. It cannot be asked, but refuses a second definition.
fn has(linker: &Linker<State>, interface: &str, name: &str) -> bool {
    let mut probe = linker.clone();
    let Ok(mut interface) = probe.instance(interface) else {
        return false;
    };
    interface
        .func_new(name, |_, _, _, _| wasmtime::bail!("a probe is not called"))
        .is_err()
}

/// The fault of a component that could not be linked, `refused` being the engine's own text.
pub(crate) fn link_fault(linker: &Linker<State>, component: &Component, refused: &str) -> Fault {
    let missing: Vec<String> = missing_imports(linker, component)
        .iter()
        .map(ToString::to_string)
        .collect();
    let packages: Vec<String> = OFFERED
        .iter()
        .map(|(package, version)| format!("{package}@{version}"))
        .collect();
    let hint = format!(
        "this host offers {}: build with the matching SDK, and without what it does not offer",
        packages.join(", ")
    );
    if missing.is_empty() {
        return Fault::new(format!("its imports do not fit: {refused}"), hint);
    }
    Fault::new(
        format!(
            "it imports what this host does not offer: {}",
            missing.join("; ")
        ),
        hint,
    )
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

#[cfg(test)]
mod tests {
    use wasmtime::component::Linker;

    use super::*;
    use crate::plugin::{
        SandboxOptions,
        sandbox::{engines::Engines, linker::linker},
    };

    fn host() -> Linker<State> {
        let engines = Engines::start().unwrap();
        let engine = engines.compiler(&SandboxOptions::default(), false).unwrap();
        linker(&engine).unwrap()
    }

    fn of(linker: &Linker<State>, imports: &[(&str, &str)]) -> Vec<String> {
        let imports: String = imports
            .iter()
            .map(|(name, exports)| format!(r#"(import "{name}" (instance {exports}))"#))
            .collect();
        let bytes = wat::parse_str(format!("(component {imports})")).unwrap();
        let component = Component::new(linker.engine(), bytes).unwrap();
        let missing = missing_imports(linker, &component);
        missing.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_said_to_be_offered_is_what_the_linker_has() {
        let linker = host();
        for (package, interface, name) in [
            ("sandhog:job", "log", "log"),
            ("wasi:cli", "environment", "get-environment"),
            ("wasi:http", "outgoing-handler", "handle"),
            ("wasi:io", "poll", "poll"),
            ("wasi:clocks", "wall-clock", "now"),
            ("wasi:random", "random", "get-random-u64"),
            ("wasi:filesystem", "preopens", "get-directories"),
            ("wasi:sockets", "instance-network", "instance-network"),
        ] {
            let (_, version) = OFFERED.iter().find(|(one, _)| *one == package).unwrap();
            assert!(
                has(&linker, &format!("{package}/{interface}@{version}"), name),
                "{package} is not there as {version}"
            );
        }
        assert_eq!(OFFERED.len(), 8);
    }

    #[test]
    fn every_missing_import_is_named_with_the_versions_wanted_and_offered() {
        let get = r#"(export "get" (func))"#;
        let said = of(
            &host(),
            &[
                (
                    "wasi:cli/environment@0.2.0",
                    r#"(export "get-environment" (func))"#,
                ),
                ("sandhog:job/log@2.0.0", get),
                ("sandhog:job/kv@0.1.0", get),
                ("wasi:http/incoming-handler@0.2.0", get),
                (
                    "wasi:clocks/wall-clock@0.2.3",
                    r#"(export "now" (func)) (export "then" (func)) (export "when" (func))"#,
                ),
                ("wasi:cli/stdout@0.3.0", get),
                ("mine:own/thing", get),
            ],
        );
        assert_eq!(
            said,
            [
                "sandhog:job/log@2.0.0 (this host has sandhog:job@0.1.0)",
                "sandhog:job/kv@0.1.0 (this host's sandhog:job@0.1.0 has no such interface)",
                "wasi:http/incoming-handler@0.2.0 (this host's wasi:http@0.2.12 has no such interface)",
                "wasi:clocks/wall-clock@0.2.3 (this host has wasi:clocks/wall-clock@0.2.12 without then, when)",
                "wasi:cli/stdout@0.3.0 (this host has wasi:cli@0.2.12)",
                "mine:own/thing (this host has no version of it)",
            ]
        );
    }

    #[test]
    fn a_version_has_a_track() {
        assert_eq!(track("0.2.12"), track("0.2.0"));
        assert_ne!(track("0.2.12"), track("0.3.0"));
        assert_eq!(track("1.4.0"), track("1.9.1"));
        assert_ne!(track("1.4.0"), track("0.1.4"));
        assert_eq!(track(""), None);
    }
}

//! Where a guest was when it ended.

use rustc_demangle::demangle;
use wasmtime::{FrameInfo, WasmBacktrace};

use super::journal::clean;

/// Most lines of a backtrace, and the longest in bytes: names and files are of the guest's choosing.
const LINES: usize = 64;
const LINE_BYTES: usize = 512;

/// Names of the language runtime, by how they start: they tell nothing about the handler.
const RUNTIME: [&str; 14] = [
    "std::",
    "core::",
    "alloc::",
    "<std::",
    "<core::",
    "<alloc::",
    "rust_",
    "__rust",
    "_R",
    "__wasi",
    "__wasm",
    "__main_void",
    "abort",
    "panic_abort",
];

/// Where its source is, for what was inlined and has no path in its name.
const RUNTIME_FILES: [&str; 4] = ["std/src/", "core/src/", "alloc/src/", "panic_abort/src/"];

/// The frames of an error, innermost first, as function names with their place when the component
/// has line tables; what the compiler inlined has a line of its own then. Runs of runtime frames and
/// of the same function are folded into one line.
pub(crate) fn frames(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else {
        return Vec::new();
    };
    let lines = fold(backtrace.frames().iter().flat_map(frame).collect());
    lines.into_iter().take(LINES).collect()
}

fn frame(frame: &FrameInfo) -> Vec<String> {
    let own = match frame.func_name() {
        Some(name) => readable(name),
        None => format!("function {}", frame.func_index()),
    };
    let symbols = frame.symbols();
    let mut lines = Vec::new();
    for (n, symbol) in symbols.iter().enumerate() {
        let (Some(file), Some(line)) = (symbol.file(), symbol.line()) else {
            continue;
        };
        // Line tables name a function without its path; the module has the path of the outermost,
        // into which the others were inlined.
        let name = match symbol.name() {
            Some(name) if n + 1 < symbols.len() => readable(name),
            _ => own.clone(),
        };
        lines.push(format!("{name} at {}:{line}", within_crate(file)));
    }
    if lines.is_empty() {
        lines.push(own);
    }
    let short = |line: String| clean(line.as_bytes(), &mut { LINE_BYTES });
    lines.into_iter().map(short).collect()
}

fn readable(name: &str) -> String {
    // The shortest names read as types of other languages when they are demangled.
    if name.len() < 3 {
        name.to_owned()
    } else {
        format!("{:#}", demangle(name))
    }
}

/// A source file from its crate's folder on: `shop/src/order.rs`. Where that folder lies on the
/// machine that compiled the guest is nobody's business here.
fn within_crate(file: &str) -> &str {
    if !file.starts_with('/') {
        return file;
    }
    let Some((before, _)) = file.rsplit_once("/src/") else {
        return file.rsplit('/').next().unwrap_or(file);
    };
    let start = before.rfind('/').map_or(0, |slash| slash + 1);
    &file[start..]
}

fn fold(frames: Vec<String>) -> Vec<String> {
    let mut folded = Vec::new();
    let mut rest = frames.as_slice();
    while let Some(first) = rest.first() {
        let runtime = rest.iter().take_while(|name| is_runtime(name)).count();
        let same = rest.iter().take_while(|name| *name == first).count();
        let taken = runtime.max(same).max(1);
        folded.push(match (runtime, same) {
            (2.., _) => format!("({runtime} frames of the language runtime)"),
            (_, 2..) => format!("{first} ({same} times)"),
            _ => first.clone(),
        });
        rest = &rest[taken..];
    }
    folded
}

fn is_runtime(line: &str) -> bool {
    let (name, place) = line.split_once(" at ").unwrap_or((line, ""));
    RUNTIME.iter().any(|start| name.starts_with(start))
        || RUNTIME_FILES.iter().any(|start| place.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::{fold, within_crate};

    #[test]
    fn files_are_told_from_their_crate_on() {
        for (file, told) in [
            ("/build/shop/src/order.rs", "shop/src/order.rs"),
            (
                "/build/src/shop/src/order/list.rs",
                "shop/src/order/list.rs",
            ),
            (
                "/rustc/abc/library/std/src/panicking.rs",
                "std/src/panicking.rs",
            ),
            ("shop/src/order.rs", "shop/src/order.rs"),
            ("/tmp/order.c", "order.c"),
            ("src/order.rs", "src/order.rs"),
        ] {
            assert_eq!(within_crate(file), told);
        }
    }

    #[test]
    fn runtime_and_repeated_frames_fold() {
        let frames = [
            "std::panicking::begin",
            "panic_fmt at core/src/panicking.rs:7",
            "shop::deeper",
            "shop::deeper",
            "shop::deeper",
            "shop::order",
            "core::ops::call",
            "shop::handle",
        ];
        assert_eq!(
            fold(frames.iter().map(ToString::to_string).collect()),
            [
                "(2 frames of the language runtime)",
                "shop::deeper (3 times)",
                "shop::order",
                "core::ops::call",
                "shop::handle",
            ]
        );
    }
}

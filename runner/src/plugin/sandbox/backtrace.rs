//! Where a guest was when it ended.

use rustc_demangle::demangle;
use wasmtime::{FrameInfo, WasmBacktrace};

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

/// The frames of an error, innermost first, as function names with their place when the component
/// has line tables. Runs of runtime frames and of the same function are folded into one line.
pub(crate) fn frames(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else {
        return Vec::new();
    };
    fold(backtrace.frames().iter().map(frame).collect())
}

fn frame(frame: &FrameInfo) -> String {
    let name = match frame.func_name() {
        // The shortest names read as types of other languages when they are demangled.
        Some(name) if name.len() < 3 => name.to_owned(),
        Some(name) => format!("{:#}", demangle(name)),
        None => format!("function {}", frame.func_index()),
    };
    let place = frame
        .symbols()
        .iter()
        .find_map(|symbol| Some((symbol.file()?, symbol.line()?)));
    match place {
        Some((file, line)) => format!("{name} at {file}:{line}"),
        None => name,
    }
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

fn is_runtime(name: &str) -> bool {
    RUNTIME.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn runtime_and_repeated_frames_fold() {
        let frames = [
            "std::panicking::begin",
            "rust_panic",
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

//! The first bytes of a file, before any parser sees it: what it is, in words that help.

use super::Fault;

const MAGIC: [u8; 4] = *b"\0asm";
/// Version 13 of the binary format at layer 1, which is a component.
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];
/// Version 1 at layer 0, which is a core module.
const MODULE: [u8; 4] = [1, 0, 0, 0];
/// The system an ELF file names when it is code that wasmtime compiled.
const WASMTIME_ABI: u8 = 200;
/// How packed files begin, and what unpacks them.
const PACKED: [(&[u8], &str, &str); 4] = [
    (
        b"\x1f\x8b",
        "gzip",
        "unpack it with `gunzip` and drop what comes out",
    ),
    (
        b"PK\x03\x04",
        "a zip archive",
        "unpack it and drop the `.wasm` component in it",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "zstd",
        "unpack it with `zstd -d` and drop what comes out",
    ),
    (
        b"\xfd7zXZ",
        "xz",
        "unpack it with `xz -d` and drop what comes out",
    ),
];
const REBUILD: &str =
    "build it with `cargo build --release --target wasm32-wasip2`, or `sandhog plugin build`";

/// Refuse what cannot be a component.
pub(crate) fn check(bytes: &[u8]) -> Result<(), Fault> {
    let fault = |cause: &str, hint: &str| Err(Fault::new(cause, hint));
    if bytes.is_empty() {
        return fault("the file is empty", "copy the component again");
    }
    if bytes.starts_with(b"\x7fELF") && bytes.get(7) == Some(&WASMTIME_ABI) {
        return fault(
            "this is native code made by wasmtime (`.cwasm`), which is never loaded from here",
            "drop the `.wasm` component it was made from: the runner compiles it",
        );
    }
    if bytes.starts_with(b"\x7fELF") {
        return fault(
            "this is native code (ELF), which is never loaded from here",
            "drop the `.wasm` component itself: the runner compiles it",
        );
    }
    if MAGIC.starts_with(&bytes[..bytes.len().min(4)]) && bytes.len() < 8 {
        return fault(
            "the file ends within its first 8 bytes",
            "copy the component again",
        );
    }
    if let Some((_, what, hint)) = PACKED.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        return fault(&format!("this is packed: {what}"), hint);
    }
    if !bytes.starts_with(&MAGIC) {
        let text = bytes
            .iter()
            .take(256)
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace() || !byte.is_ascii());
        let start = bytes.trim_ascii_start();
        return if text && (start.starts_with(b"(") || start.starts_with(b";;")) {
            fault(
                "this is WebAssembly as text, which is not loaded",
                "turn it into a component with `wasm-tools parse`, and drop that",
            )
        } else if text {
            fault("this is text, not a component", REBUILD)
        } else {
            fault("this is no WebAssembly file", REBUILD)
        };
    }
    match bytes[4..8] {
        [a, b, c, d] if [a, b, c, d] == COMPONENT => Ok(()),
        [a, b, c, d] if [a, b, c, d] == MODULE => fault(
            "this is a core module, not a component",
            "build it with `--target wasm32-wasip2`, which makes components",
        ),
        _ => fault(
            "this is a WebAssembly file of a version the runner does not know",
            REBUILD,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn each_wrong_file_is_told_apart() {
        for (bytes, says) in [
            (&b""[..], "empty"),
            (b"\0as", "first 8 bytes"),
            (b"\0asm\x0d\0\x01", "first 8 bytes"),
            (b"\0asm\x01\0\0\0rest", "core module"),
            (b"\0asm\x07\0\0\0rest", "version"),
            (b"\x7fELF\x02\x01\x01", "native code"),
            (b"\x7fELF\x02\x01\x01\xc8", ".cwasm"),
            (b"(component)", "WebAssembly as text"),
            (b";; a comment\n(module)", "WebAssembly as text"),
            (b"#!/bin/sh", "this is text"),
            (b"\x1f\x8b\x08\0", "gzip"),
            (b"PK\x03\x04\0", "zip"),
            (b"\x28\xb5\x2f\xfd\0", "zstd"),
            (b"\xfd7zXZ\0", "xz"),
            (b"\x89PNG\r\n\x1a\n\0\0", "no WebAssembly"),
        ] {
            let fault = check(bytes).unwrap_err();
            assert!(fault.cause.contains(says), "{bytes:?}: {fault:?}");
        }
        assert_eq!(check(b"\0asm\x0d\0\x01\0"), Ok(()));
    }
}

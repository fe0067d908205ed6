//! The components that are run.

use std::{fmt::Write as _, fs, path::Path};

use sandhog_kit::hand_made::HandMade;

/// A component and the kind of job it completes at once.
pub(crate) struct Guest {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// A few instructions written by hand, and what a compiler makes of a handler with the SDK.
pub(crate) fn all() -> Result<[Guest; 2], String> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests/misbehave.wasm");
    let bytes = fs::read(&built).map_err(|error| {
        let file = built.display();
        format!("cannot read {file}: {error}: run `cargo xtask plugins` first")
    })?;
    Ok([
        Guest {
            name: "hand-made",
            kind: "hand-made",
            bytes: HandMade::PLAIN.bytes(),
        },
        Guest {
            name: "Rust",
            kind: "echo",
            bytes,
        },
    ])
}

/// Functions of a padded component: it has about the native code of a small Rust handler.
const FUNCTIONS: usize = 2_500;

/// One of many components of a usual size, each with a kind and code of its own.
pub(crate) fn padded(number: usize) -> Vec<u8> {
    let mut fields = String::new();
    for function in 0..FUNCTIONS {
        let _ = write!(
            fields,
            "(func (export \"f{function}\") (param i32) (result i32)
               (i32.store (i32.const 8192) (i32.add (local.get 0) (i32.const {number})))
               (i32.mul (i32.xor (i32.load (i32.const 8200)) (i32.const {function}))
                 (i32.rotl (local.get 0) (i32.load (i32.const 8208)))))"
        );
    }
    let describe = format!(r#"{{"schema":1,"kinds":[{{"kind":"padded-{number}"}}]}}"#);
    HandMade {
        fields: &fields,
        describe: &describe,
        ..HandMade::PLAIN
    }
    .bytes()
}

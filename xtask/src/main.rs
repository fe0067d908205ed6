//! The project's own commands, called as `cargo xtask COMMAND`.

mod guests;
mod toolchain;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in the workspace");
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["plugins"] => guests::build_plugins(root),
        ["misbehave"] => guests::build_misbehave(root).map(|file| vec![file]),
        _ => Err("usage: cargo xtask plugins | misbehave".to_owned()),
    };
    match done {
        Ok(files) => {
            for file in files {
                println!("{}", file.display());
            }
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

//! The project's own commands, called as `cargo xtask COMMAND`.

mod api;
mod bench;
mod browser;
mod debian;
mod demo;
mod guests;
mod inputs;
mod languages;
mod process;
mod result;
mod summary;
mod test;
mod toolchain;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  demo [FOLDER]   run every photo, table and page of FOLDER through a runner that is killed half-way
                  (without FOLDER: the project's own pages and small inputs)
  test [--long]   build the guests, then every test, lint and house rule; --long adds crash rounds
  plugins         build the sample plugins into plugins/*.wasm, and the one the tests need
  languages [--only python|js|c]
                  install the tools of the other languages, test their SDKs, build their handlers
  api             try the API over HTTP with requests made of its OpenAPI document (schemathesis, from PyPI), and
                  with a client for Python made of it (openapi-python-client)
  browser [--long]
                  try the dashboard in Debian's chromium (Playwright, from npm); --long adds page times at
                  a million jobs and 200,000 dead letters
  tidy            the house rules alone
  bench [store|sandbox|drain|latency|scheduler|recovery|coldstart|runaways|scale ...] [OPTIONS]
                  measure the product beside the least that any program would need, in an optimised build; all
                  of them when none is named; --help shows what each does and the options
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = root();
    let done = match words[..] {
        ["demo"] => demo::run(&root, None),
        ["demo", folder] if !folder.starts_with('-') => demo::run(&root, Some(Path::new(folder))),
        ["test"] => test::run(&root, false),
        ["test", "--long"] => test::run(&root, true),
        ["plugins"] => lay_guests(&root),
        ["languages"] => languages::run(&root, None),
        ["languages", "--only", only] if languages::NAMES.contains(&only) => {
            languages::run(&root, Some(only))
        }
        ["api"] => api::run(&root, 50),
        ["browser"] => browser::run(&root, false),
        ["browser", "--long"] => browser::run(&root, true),
        ["tidy"] => test::tidy(&root),
        ["bench", ref words @ ..] => bench::run(&root, words),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("cargo xtask does not know {:?}\n{USAGE}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder, known since this program was built.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Builds every guest, lays the plugins into `plugins/` and the misbehaving one beside its source,
/// and prints each with its size.
fn lay_guests(root: &Path) -> Result<(), String> {
    let mut laid = guests::build_plugins(root)?;
    let built = guests::build_misbehave(root)?;
    let place = root.join("tests/guests/misbehave.wasm");
    fs::copy(&built, &place).map_err(|e| {
        format!(
            "cannot copy {} to {}: {e}",
            built.display(),
            place.display()
        )
    })?;
    laid.push(place);
    for file in laid {
        let size = fs::metadata(&file).map_or(0, |meta| meta.len());
        let file = file.strip_prefix(root).unwrap_or(&file);
        println!("{:>6} KiB  {}", size.div_ceil(1024), file.display());
    }
    Ok(())
}

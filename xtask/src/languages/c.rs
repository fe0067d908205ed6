//! C, with clang and wasi-libc of Debian and wit-bindgen of crates.io.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Built, NotBuilt, Place, built, get, install};
use crate::toolchain;

/// wit-bindgen's own command line, as `docs/handlers-c.md` installs it.
const WIT_BINDGEN: &str = "wit-bindgen-cli@0.58.0";

/// What is built, each from its source.
const SOURCES: [(&str, &str); 2] = [
    ("c-accesslog", "plugins/c-accesslog/handler.c"),
    ("trials-c", "tests/guests/c/trials.c"),
];

pub(super) fn build(place: &Place) -> Result<Vec<Built>, NotBuilt> {
    // Brings wasi-libc, the linker, and `wasm-component-ld`, where the machine has none.
    toolchain::prepare().map_err(NotBuilt::NotRun)?;
    compiler()?;
    let bindgen = bindgen(place)?;
    let build = |(name, source): (&str, &str)| {
        let to = place.component(name);
        let mut script = Command::new("sh");
        script
            .current_dir(&place.root)
            .arg("sdk/c/build.sh")
            .arg(&to)
            .arg(source)
            .env("WIT_BINDGEN", &bindgen)
            .env("CFLAGS", "-Wall -Wextra -Werror");
        built(to, &format!("sdk/c/build.sh of {source}"), &mut script)
    };
    SOURCES.into_iter().map(build).collect()
}

/// clang with its runtime for wasm32: the newest pair that Debian has.
fn compiler() -> Result<(), NotBuilt> {
    if has_runtime(Path::new("/usr/lib")) {
        return Ok(());
    }
    let script = r#"
        set -e
        sudo=; [ "$(id -u)" = 0 ] || sudo="sudo -n"
        n=$(apt-cache search --names-only '^libclang-rt-[0-9]+-dev-wasm32$' | sed 's/[^0-9]*\([0-9]*\).*/\1/' | sort -n | tail -1)
        [ -n "$n" ] || { echo "no package of clang with a runtime for wasm32"; exit 1; }
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq install -y \
            --no-install-recommends "clang-$n" "libclang-rt-$n-dev-wasm32" "lld-$n" wasi-libc"#;
    get("installing clang", Command::new("sh").args(["-c", script]))
}

/// Whether a `llvm-N` below this folder has both the compiler and its runtime.
fn has_runtime(lib: &Path) -> bool {
    let Ok(entries) = fs::read_dir(lib) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let llvm = entry.path();
        let name = entry.file_name();
        let Some(version) = name
            .to_string_lossy()
            .strip_prefix("llvm-")
            .map(str::to_owned)
        else {
            return false;
        };
        let runtime = llvm.join(format!("lib/clang/{version}/lib/wasi"));
        llvm.join("bin/clang").exists() && runtime.is_dir()
    })
}

/// wit-bindgen, compiled once.
fn bindgen(place: &Place) -> Result<PathBuf, NotBuilt> {
    let folder = place.tools("c");
    install(&folder, WIT_BINDGEN, || {
        eprintln!("compiling {WIT_BINDGEN} (once; a minute or two)");
        let mut cargo = crate::process::cargo(&place.root);
        cargo
            .args(["install", "--quiet", "--locked", "--debug", WIT_BINDGEN])
            .args(["--no-default-features", "--features", "c", "--root"])
            .arg(&folder)
            // The workspace's own settings are not for it.
            .env_remove("CARGO_TARGET_DIR");
        get("cargo install wit-bindgen-cli", &mut cargo)
    })?;
    Ok(folder.join("bin/wit-bindgen"))
}

#[cfg(test)]
mod tests {
    use super::{WIT_BINDGEN, has_runtime};
    use std::{fs, path::Path};

    #[test]
    fn a_compiler_without_its_runtime_is_none() {
        let lib = std::env::temp_dir().join(format!("xtask-llvm-{}", std::process::id()));
        assert!(!has_runtime(&lib));
        fs::create_dir_all(lib.join("llvm-22/bin")).unwrap();
        fs::write(lib.join("llvm-22/bin/clang"), "").unwrap();
        assert!(!has_runtime(&lib));
        fs::create_dir_all(lib.join("llvm-22/lib/clang/22/lib/wasi")).unwrap();
        assert!(has_runtime(&lib));
        fs::remove_dir_all(&lib).unwrap();
    }

    #[test]
    fn the_version_tried_is_the_one_that_is_told() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/handlers-c.md");
        assert!(fs::read_to_string(page).unwrap().contains(WIT_BINDGEN));
    }
}

//! Measures that need a process of their own: what an open or a filled store costs is not to be mixed
//! with what came before it.

use std::{path::Path, process::Command, time::Instant};

use sandhog::store::{Inspect, wal::Durability};
use serde_json::{Value, json};

use crate::{memory, stage};

/// The first word of such a process.
pub(crate) const FLAG: &str = "--part";

/// Run a part in a process of its own; its figures.
pub(crate) fn figures(words: &[&str], dir: &Path) -> Result<Value, String> {
    let program = std::env::current_exe().map_err(|error| format!("no own program: {error}"))?;
    let out = Command::new(program)
        .arg(FLAG)
        .arg(dir)
        .args(words)
        .output()
        .map_err(|error| format!("cannot start a part: {error}"))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(format!("{words:?}: {said}"));
    }
    serde_json::from_slice(&out.stdout).map_err(|error| format!("{words:?} gave no JSON: {error}"))
}

/// One number of them.
pub(crate) fn figure(figures: &Value, name: &str) -> Result<f64, String> {
    figures[name]
        .as_f64()
        .ok_or_else(|| format!("a part gave no {name}: {figures}"))
}

/// Be that process.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let figures = match words[..] {
        [dir, "open"] => open(Path::new(dir)),
        [dir, "read"] => read(Path::new(dir)),
        [dir, "fill", jobs] => memory::fill(Path::new(dir), jobs),
        _ => Err(format!("{words:?} is no part")),
    }?;
    println!("{figures}");
    Ok(())
}

/// Open a data directory as a start does.
fn open(dir: &Path) -> Result<Value, String> {
    let before = memory::resident()?;
    let start = Instant::now();
    let store = stage::store(dir, Durability::Commit)?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let after = memory::rested(&*store)?;
    let stats = stage::runtime().block_on(store.stats());
    let stats = stats.map_err(|error| error.to_string())?;
    let jobs: u64 = stats.jobs.iter().map(|(_, count)| count).sum();
    Ok(json!({
        "ms": ms,
        "resident": after.saturating_sub(before),
        "jobs": jobs,
        "letters": stats.dead_letters,
    }))
}

/// Read and checksum the same files, and do nothing with them.
fn read(dir: &Path) -> Result<Value, String> {
    use std::io::Read as _;
    let files = stage::files(dir)?;
    let start = Instant::now();
    let mut buffer = vec![0; 1 << 20];
    let mut sum = crc32fast::Hasher::new();
    let mut bytes = 0;
    for (path, _) in &files {
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
        let mut file = std::fs::File::open(path).map_err(failed)?;
        loop {
            let more = file.read(&mut buffer).map_err(failed)?;
            if more == 0 {
                break;
            }
            sum.update(&buffer[..more]);
            bytes += more;
        }
    }
    let ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(json!({"ms": ms, "bytes": bytes, "sum": sum.finalize()}))
}

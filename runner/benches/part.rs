//! Measures that need a process of their own: what an open or a filled store costs is not to be mixed
//! with what came before it.

use std::{path::Path, process::Command, time::Instant};

use sandhog::store::{Inspect, wal::Durability};
use sandhog_model::codec::{FRAME_HEADER_BYTES, SEGMENT_HEADER_BYTES};
use serde_json::{Value, json};

use crate::{scale, stage, store::memory};

/// Bytes read at once.
const PIECE: usize = 512 << 10;
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
        [dir, "scale", queues] => scale::steps(Path::new(dir), queues),
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

/// Read the same files and checksum them record by record, as their format has it; nothing else is done
/// with them.
fn read(dir: &Path) -> Result<Value, String> {
    use std::io::Read as _;
    let files = stage::files(dir)?;
    let start = Instant::now();
    let mut buffer = Vec::new();
    let (mut sum, mut bytes, mut records) = (0, 0, 0_u64);
    for (path, length) in &files {
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
        let mut file = std::fs::File::open(path).map_err(failed)?;
        buffer.resize(*length as usize, 0);
        let (mut filled, mut at) = (0, SEGMENT_HEADER_BYTES);
        while filled < buffer.len() {
            let end = buffer.len().min(filled + PIECE);
            let more = file.read(&mut buffer[filled..end]).map_err(failed)?;
            if more == 0 {
                break;
            }
            filled += more;
            while let Some(frame) = frame(&buffer[at.min(filled)..filled]) {
                let mut hasher = crc32fast::Hasher::new();
                hasher.update(frame);
                sum ^= hasher.finalize();
                records += 1;
                at += frame.len();
            }
        }
        bytes += filled;
    }
    let ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(json!({"ms": ms, "bytes": bytes, "records": records, "sum": sum}))
}

/// The frame that some bytes begin with, when there is one to its end.
fn frame(bytes: &[u8]) -> Option<&[u8]> {
    let length = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    (length > 0).then(|| bytes.get(..FRAME_HEADER_BYTES + length))?
}

//! Amounts of bytes and of time, as people read them.

/// A byte count with a binary unit, exact when it is a whole number of them.
pub(crate) fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut whole = bytes;
    let mut rest = 0;
    while whole >= 1024 && unit + 1 < UNITS.len() {
        rest = whole % 1024;
        whole /= 1024;
        unit += 1;
    }
    if unit == 0 || rest == 0 {
        format!("{whole} {}", UNITS[unit])
    } else {
        format!("{whole}.{} {}", rest * 10 / 1024, UNITS[unit])
    }
}

/// Milliseconds as seconds when they are whole ones.
pub(crate) fn human_ms(ms: u64) -> String {
    if ms >= 1_000 && ms.is_multiple_of(1_000) {
        format!("{} s", ms / 1_000)
    } else {
        format!("{ms} ms")
    }
}

const UNITS: [(&str, u64); 8] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
    ("", 1),
];

/// Read a size such as `128MiB`, `1 MiB`, `512 KB` or `4096`. What is wrong otherwise.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = trimmed.split_at(digits.unwrap_or(trimmed.len()));
    let unit = unit.trim_start();
    let factor = UNITS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .map(|(_, factor)| *factor);
    number
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor))
        .ok_or_else(|| format!("is {text:?}, no size"))
}

/// A size as it is written in settings: with the largest unit that divides it.
pub fn exact_bytes(bytes: u64) -> String {
    let unit = UNITS[..3]
        .iter()
        .rev()
        .find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    match unit {
        Some((name, factor)) => format!("{}{name}", bytes / factor),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::{human_bytes, human_ms};

    #[test]
    fn amounts_read_well() {
        assert_eq!(human_bytes(0), "0 bytes");
        assert_eq!(human_bytes(128 << 20), "128 MiB");
        assert_eq!(human_bytes(1_572_864), "1.5 MiB");
        assert_eq!(human_bytes(u64::MAX), "16777215.9 TiB");
        assert_eq!(human_ms(30_000), "30 s");
        assert_eq!(human_ms(1_500), "1500 ms");
    }
}

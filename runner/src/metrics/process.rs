//! This process, as the kernel sees it. What it does not say is zero.

use std::fs;

use rustix::{param::clock_ticks_per_second, param::page_size};

#[derive(Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) cpu_seconds: f64,
    pub(super) resident_bytes: u64,
    pub(super) open_files: u64,
    pub(super) threads: u64,
    /// In seconds since 1970.
    pub(super) started_at: f64,
}

pub(super) fn look() -> Seen {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let machine = fs::read_to_string("/proc/stat").unwrap_or_default();
    let files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    Seen {
        // The one that lists them is among them.
        open_files: (files as u64).saturating_sub(1),
        ..read(
            &stat,
            &machine,
            clock_ticks_per_second() as f64,
            page_size() as u64,
        )
    }
}

/// From the two files, as `proc(5)` describes them.
fn read(stat: &str, machine: &str, ticks: f64, page: u64) -> Seen {
    // The name before it may hold anything.
    let Some((_, fields)) = stat.rsplit_once(") ") else {
        return Seen::default();
    };
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    let booted = machine.lines().find_map(|line| line.strip_prefix("btime "));
    let booted: f64 = booted.and_then(|at| at.trim().parse().ok()).unwrap_or(0.0);
    Seen {
        cpu_seconds: (number(11) + number(12)) / ticks,
        threads: number(17) as u64,
        started_at: booted + number(19) / ticks,
        resident_bytes: number(21) as u64 * page,
        open_files: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_from_behind_the_name() {
        let stat = "7 (a) b) c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 12 0 300 99999 42 18446744073709551615 1 1";
        let seen = read(stat, "cpu 1 2\nbtime 1000\n", 100.0, 4096);
        let right = Seen {
            cpu_seconds: 3.0,
            resident_bytes: 42 * 4096,
            open_files: 0,
            threads: 12,
            started_at: 1003.0,
        };
        assert_eq!(seen, right);
        assert_eq!(read("", "", 100.0, 4096), Seen::default());
    }

    #[test]
    fn this_process_is_seen() {
        let seen = look();
        assert!(
            seen.resident_bytes > 1 << 20 && seen.threads > 0 && seen.open_files > 0,
            "{seen:?}"
        );
        assert!(seen.started_at > 1.6e9, "{seen:?}");
    }
}

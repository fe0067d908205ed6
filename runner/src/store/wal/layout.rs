//! Names and places: how a data directory is laid out, and what a record's place means.

use std::path::{Path, PathBuf};

use sandhog_model::RecordAt;

/// A log's id: 128 random bits, in hex as the name of its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) struct LogId(pub(in crate::store) u128);

impl std::fmt::Display for LogId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl LogId {
    /// The id a directory is named by.
    pub(in crate::store) fn parse(name: &str) -> Option<Self> {
        if name.len() != 32 {
            return None;
        }
        let log = u128::from_str_radix(name, 16).ok().map(Self)?;
        // One name for each log: no capitals, no sign.
        (log.to_string() == name).then_some(log)
    }
}

/// The directory of all logs.
pub(in crate::store) fn logs_dir(data: &Path) -> PathBuf {
    data.join("logs")
}

/// The directory of one log.
pub(in crate::store) fn log_dir(data: &Path, log: LogId) -> PathBuf {
    logs_dir(data).join(log.to_string())
}

/// The name of a log that was taken over and is being removed.
pub(in crate::store) fn taken_dir(data: &Path, log: LogId) -> PathBuf {
    logs_dir(data).join(format!("{log}.merged"))
}

/// The log in such a name.
pub(in crate::store) fn taken_log(name: &str) -> Option<LogId> {
    LogId::parse(name.strip_suffix(".merged")?)
}

/// A segment's file. Numbers start at 1 and have no gaps.
pub(in crate::store) fn segment_path(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{number:010}.seg"))
}

/// The number in a segment's file name.
pub(in crate::store) fn segment_number(name: &str) -> Option<u32> {
    name.strip_suffix(".seg")
        .filter(|digits| digits.len() == 10)
        .and_then(|digits| digits.parse().ok())
        .filter(|number| *number > 0)
}

/// The name of the zero-filled file that becomes the next segment.
pub(in crate::store) const SPARE: &str = "spare.tmp";

/// That file.
pub(in crate::store) fn spare_path(dir: &Path) -> PathBuf {
    dir.join(SPARE)
}

/// Where a torn tail is kept before it is cut.
pub(in crate::store) fn torn_path(dir: &Path, segment: u32, offset: u64) -> PathBuf {
    dir.join(format!("torn-{segment:010}-{offset}.bin"))
}

/// A record's place: the segment above, the offset of its frame below. Larger is later.
pub(in crate::store) fn place(segment: u32, offset: u64) -> RecordAt {
    debug_assert!(offset <= u64::from(u32::MAX), "a segment ends before 4 GiB");
    RecordAt(u64::from(segment) << 32 | offset)
}

/// The segment and offset of a place.
pub(in crate::store) fn segment_and_offset(at: RecordAt) -> (u32, u64) {
    ((at.0 >> 32) as u32, at.0 & u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_grow_over_segments_and_read_back() {
        let early = place(1, u64::from(u32::MAX));
        let late = place(2, 0);
        assert!(early < late);
        assert_eq!(segment_and_offset(early), (1, u64::from(u32::MAX)));
    }

    #[test]
    fn only_our_own_names_are_segments() {
        assert_eq!(segment_number("0000000007.seg"), Some(7));
        for name in [
            "7.seg",
            "0000000000.seg",
            "000000000x.seg",
            "0000000007.seg.bak",
        ] {
            assert_eq!(segment_number(name), None, "{name}");
        }
    }
}

//! Bytes and names of the simulated disk, as seen and as durable.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::Unsynced;

const SECTOR: usize = 512;

#[derive(Debug, Clone, Default)]
struct Content {
    seen: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors of `seen` that differ from `durable`, or may.
    dirty: BTreeSet<usize>,
    /// Whether a sync of it failed.
    unsure: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    File(u64),
    Dir,
}

type Names = BTreeMap<PathBuf, Node>;

/// One change of names in a directory, not yet durable.
#[derive(Debug, Clone)]
enum NameOp {
    Make(PathBuf, Node),
    Rename(PathBuf, PathBuf, Node),
    /// The name is taken from this file, not from another that has it by then.
    Remove(PathBuf, Node),
}

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    files: BTreeMap<u64, Content>,
    next_file: u64,
    seen: Names,
    durable: Names,
    unsynced: Vec<NameOp>,
    syncs_after_failure: u64,
}

impl NameOp {
    fn dir(&self) -> Option<&Path> {
        match self {
            Self::Make(path, _) | Self::Rename(_, path, _) | Self::Remove(path, _) => path.parent(),
        }
    }

    fn apply(&self, names: &mut Names) {
        match self {
            Self::Make(path, node) => {
                names.insert(path.clone(), *node);
            }
            Self::Rename(from, to, Node::Dir) => {
                // A directory takes along all that is in it.
                let moved: Vec<PathBuf> = names
                    .keys()
                    .filter(|path| path.starts_with(from) && *path != from)
                    .cloned()
                    .collect();
                for path in moved {
                    if let (Some(node), Ok(rest)) = (names.remove(&path), path.strip_prefix(from)) {
                        names.insert(to.join(rest), node);
                    }
                }
                names.remove(from);
                names.insert(to.clone(), Node::Dir);
            }
            Self::Rename(from, to, node) => {
                if names.get(from) == Some(node) {
                    names.remove(from);
                }
                names.insert(to.clone(), *node);
            }
            Self::Remove(path, node) => {
                if names.get(path) == Some(node) {
                    names.remove(path);
                }
            }
        }
    }
}

impl Content {
    fn touch(&mut self, from: usize, to: usize) {
        self.dirty.extend(from / SECTOR..to.div_ceil(SECTOR));
    }

    fn after_crash(&self, mut keep: impl FnMut() -> bool) -> Vec<u8> {
        let mut left = self.durable.clone();
        // The length is one more thing that may or may not have reached the device.
        if left.len() != self.seen.len() && keep() {
            left.resize(self.seen.len(), 0);
        }
        for sector in &self.dirty {
            let from = sector * SECTOR;
            let to = (from + SECTOR).min(self.seen.len()).min(left.len());
            if from < to && keep() {
                left[from..to].copy_from_slice(&self.seen[from..to]);
            }
        }
        left
    }
}

impl State {
    pub(super) fn used(&self) -> u64 {
        self.seen
            .values()
            .map(|node| match node {
                Node::File(file) => self.bytes(*file).len() as u64,
                Node::Dir => 0,
            })
            .sum()
    }

    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.seen
            .iter()
            .filter(|(_, node)| matches!(node, Node::File(_)))
            .map(|(path, _)| path.clone())
            .collect()
    }

    pub(super) fn find(&self, path: &Path) -> Option<u64> {
        match self.seen.get(path) {
            Some(Node::File(file)) => Some(*file),
            Some(Node::Dir) | None => None,
        }
    }

    pub(super) fn is_dir(&self, path: &Path) -> bool {
        path.parent().is_none() || self.seen.get(path) == Some(&Node::Dir)
    }

    pub(super) fn list(&self, dir: &Path) -> Vec<String> {
        self.seen
            .keys()
            .filter(|path| path.parent() == Some(dir))
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect()
    }

    pub(super) fn bytes(&self, file: u64) -> &[u8] {
        self.files.get(&file).map_or(&[], |content| &content.seen)
    }

    pub(super) fn write(&mut self, file: u64, offset: usize, bytes: &[u8]) {
        let content = self.files.entry(file).or_default();
        let end = offset + bytes.len();
        let old = content.seen.len();
        if old < end {
            content.seen.resize(end, 0);
            content.touch(old.min(offset), end);
        }
        content.seen[offset..end].copy_from_slice(bytes);
        content.touch(offset, end);
    }

    pub(super) fn resize(&mut self, file: u64, len: usize) {
        let content = self.files.entry(file).or_default();
        let old = content.seen.len();
        content.seen.resize(len, 0);
        content.touch(old.min(len), old.max(len));
    }

    pub(super) fn sync(&mut self, file: u64) {
        let content = self.files.entry(file).or_default();
        self.syncs_after_failure += u64::from(content.unsure);
        content.durable.resize(content.seen.len(), 0);
        for sector in core::mem::take(&mut content.dirty) {
            let from = sector * SECTOR;
            let to = (from + SECTOR).min(content.seen.len());
            if from < to {
                content.durable[from..to].copy_from_slice(&content.seen[from..to]);
            }
        }
    }

    /// What a failed sync does: the bytes count as clean although they are not on the device.
    pub(super) fn forget_unsynced(&mut self, file: u64) {
        if let Some(content) = self.files.get_mut(&file) {
            content.dirty.clear();
            content.unsure = true;
        }
    }

    pub(super) fn syncs_after_failure(&self) -> u64 {
        self.syncs_after_failure
    }

    pub(super) fn tamper(&mut self, file: u64, change: impl FnOnce(&mut Vec<u8>)) {
        let content = self.files.entry(file).or_default();
        change(&mut content.seen);
        content.durable = content.seen.clone();
        content.dirty.clear();
    }

    fn change(&mut self, op: NameOp) {
        op.apply(&mut self.seen);
        self.unsynced.push(op);
    }

    pub(super) fn make_dir(&mut self, dir: &Path) {
        self.change(NameOp::Make(dir.to_path_buf(), Node::Dir));
    }

    pub(super) fn make_file(&mut self, path: &Path) -> u64 {
        let file = self.next_file;
        self.next_file += 1;
        self.files.insert(file, Content::default());
        self.change(NameOp::Make(path.to_path_buf(), Node::File(file)));
        file
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Option<()> {
        let node = *self.seen.get(from)?;
        self.change(NameOp::Rename(from.to_path_buf(), to.to_path_buf(), node));
        Some(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> Option<()> {
        let node = Node::File(self.find(path)?);
        self.change(NameOp::Remove(path.to_path_buf(), node));
        Some(())
    }

    pub(super) fn remove_dir(&mut self, dir: &Path) -> Option<()> {
        self.seen.get(dir).filter(|node| **node == Node::Dir)?;
        self.change(NameOp::Remove(dir.to_path_buf(), Node::Dir));
        Some(())
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) {
        let (ours, rest): (Vec<_>, Vec<_>) = core::mem::take(&mut self.unsynced)
            .into_iter()
            .partition(|op| op.dir() == Some(dir));
        for op in ours {
            op.apply(&mut self.durable);
        }
        self.unsynced = rest;
    }

    /// The state a start after a power loss finds.
    pub(super) fn after_crash(&self, unsynced: Unsynced) -> Self {
        let mut chance = Chance(match unsynced {
            Unsynced::BySector(seed) | Unsynced::Scattered(seed) => seed,
            Unsynced::Dropped | Unsynced::Kept => 0,
        });
        let mut keep = || match unsynced {
            Unsynced::Dropped => false,
            Unsynced::Kept => true,
            Unsynced::BySector(_) | Unsynced::Scattered(_) => chance.next() & 1 == 1,
        };
        let mut names = self.durable.clone();
        for op in &self.unsynced {
            match unsynced {
                Unsynced::Dropped => break,
                Unsynced::Kept => {}
                // A journal writes changes of names in their order: the last part is lost.
                Unsynced::BySector(_) if !keep() && !keep() => break,
                Unsynced::BySector(_) => {}
                Unsynced::Scattered(_) if !keep() => continue,
                Unsynced::Scattered(_) => {}
            }
            op.apply(&mut names);
        }
        // A file whose directory's own name was lost is lost with it.
        let reachable = |path: &Path, names: &Names| {
            path.ancestors()
                .skip(1)
                .all(|dir| dir.parent().is_none() || names.get(dir) == Some(&Node::Dir))
        };
        let lost: Vec<PathBuf> = names
            .keys()
            .filter(|path| !reachable(path, &names))
            .cloned()
            .collect();
        for path in lost {
            names.remove(&path);
        }
        let files = self
            .files
            .iter()
            .map(|(file, content)| {
                let left = content.after_crash(&mut keep);
                let content = Content {
                    seen: left.clone(),
                    durable: left,
                    dirty: BTreeSet::new(),
                    unsure: false,
                };
                (*file, content)
            })
            .collect();
        Self {
            files,
            next_file: self.next_file,
            syncs_after_failure: 0,
            seen: names.clone(),
            durable: names,
            unsynced: Vec::new(),
        }
    }
}

/// A small generator of chance (splitmix64): the same seed gives the same crash.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

//! The files beside the components that say what each is granted.
//!
//! A file is taken when two looks in a row find it unchanged. One that cannot be read takes its
//! plugin out of the catalog: its jobs wait, rather than run with rights that were taken back.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use super::folder::{self, Reading, Stamp};
use crate::plugin::{Catalog, Ceilings, Grants, Problem, capabilities::grants::parse};

/// Largest file of grants, in bytes.
const FILE_BYTES: u64 = 256 << 10;
const HINT: &str = "mend it; its jobs wait until then (docs/capabilities.md has every key)";

/// What is known of the files.
#[derive(Debug)]
pub(crate) struct GrantFiles {
    folder: PathBuf,
    ceilings: Arc<Ceilings>,
    files: BTreeMap<String, Known>,
}

/// What is known of one file.
#[derive(Debug)]
struct Known {
    /// At the last look; `None` when it was not there.
    seen: Option<Stamp>,
    /// The state that was read, and what came of it.
    taken: Option<Taken>,
}

/// A state of a file, `None` when it is not there, and what it says or what is wrong with it.
type Taken = (Option<Stamp>, Result<Said, String>);

/// What a file says.
#[derive(Debug)]
struct Said {
    asked: Grants,
    /// What of it lies under the ceilings.
    granted: Arc<Grants>,
}

impl Said {
    fn new(name: &str, asked: Grants, ceilings: &Ceilings) -> Self {
        let granted = Arc::new(ceilings.bound(name, &asked));
        for cut in &granted.cuts {
            tracing::warn!(plugin = name, "not granted: {cut}");
        }
        Self { asked, granted }
    }
}

impl GrantFiles {
    /// The files in `folder`.
    pub(crate) fn new(folder: PathBuf, ceilings: Arc<Ceilings>) -> Self {
        Self {
            folder,
            ceilings,
            files: BTreeMap::new(),
        }
    }

    /// Hold what was taken against other ceilings from now on.
    pub(crate) fn bound_by(&mut self, ceilings: Arc<Ceilings>) {
        for (name, known) in &mut self.files {
            if let Some((_, Ok(said))) = &mut known.taken {
                *said = Said::new(name, said.asked.clone(), &ceilings);
            }
        }
        self.ceilings = ceilings;
    }

    /// Give each plugin of a catalog its grants, and take out those whose file is wrong. False while
    /// a file is waiting to be seen unchanged twice. Without `look`, what was taken before counts.
    pub(crate) fn apply(&mut self, catalog: &mut Catalog, look: bool) -> bool {
        let mut settled = true;
        self.files
            .retain(|name, _| catalog.plugins.contains_key(name));
        let names: Vec<String> = catalog.plugins.keys().cloned().collect();
        for name in names {
            let path = self.folder.join(format!("{name}.toml"));
            let known = self.files.entry(name.clone());
            let first = matches!(known, std::collections::btree_map::Entry::Vacant(_));
            let known = known.or_insert(Known {
                seen: None,
                taken: None,
            });
            if look || first {
                settled &= known.look(&name, &path, first, &self.ceilings);
            }
            match &known.taken {
                Some((_, Ok(said))) => {
                    if let Some(plugin) = catalog.plugins.get_mut(&name)
                        && plugin.grants != said.granted
                    {
                        Arc::make_mut(plugin).grants = Arc::clone(&said.granted);
                    }
                }
                Some((_, Err(cause))) => {
                    catalog.plugins.remove(&name);
                    catalog.problems.push(Problem {
                        file: path,
                        cause: cause.clone(),
                        hint: HINT.into(),
                        earlier_served: false,
                    });
                }
                // Seen for the first time: with the next look it is known what it may do.
                None => drop(catalog.plugins.remove(&name)),
            }
        }
        settled
    }
}

impl Known {
    /// True when what was taken is what is there.
    fn look(&mut self, name: &str, path: &Path, first: bool, ceilings: &Ceilings) -> bool {
        let now = fs::symlink_metadata(path)
            .ok()
            .map(|metadata| Stamp::of(&metadata));
        if self.taken.as_ref().is_some_and(|(stamp, _)| *stamp == now) {
            self.seen = now;
            return true;
        }
        // A file that was never there cannot be half-written; one that was there may be on its way.
        let rests = || now.is_none_or(|stamp| stamp.rests(SystemTime::now()));
        let steady = match first {
            true => rests(),
            false => self.seen == now,
        };
        self.seen = now;
        if !steady {
            return false;
        }
        let found = match now {
            None => Ok(Grants::default()),
            Some(stamp) => match read(path, Some(stamp)) {
                Some(found) => found,
                None => return false,
            },
        };
        let found = found.map(|asked| Said::new(name, asked, ceilings));
        match &found {
            Ok(_) => {
                if now.is_some() || self.taken.is_some() {
                    tracing::info!(plugin = name, file = %path.display(), "grants taken");
                }
            }
            Err(cause) => tracing::warn!("{}: {cause}; {HINT}", path.display()),
        }
        self.taken = Some((now, found));
        true
    }
}

/// What a file asks for, `None` while it is being written.
fn read(path: &Path, stamp: Option<Stamp>) -> Option<Result<Grants, String>> {
    let bytes = match folder::read(path, stamp, FILE_BYTES) {
        Reading::Whole(bytes) => bytes,
        Reading::Unsettled => return None,
        Reading::Faulty(fault) => return Some(Err(fault.cause)),
    };
    Some(match str::from_utf8(&bytes) {
        Ok(text) => parse(text),
        Err(error) => Err(format!("not UTF-8 from byte {} on", error.valid_up_to())),
    })
}

/// The grants of the file beside a component, once. Without one there are none.
pub(crate) fn beside(component: &Path, ceilings: &Ceilings) -> Result<Grants, Problem> {
    let path = component.with_extension("toml");
    let name = component.file_stem().unwrap_or_default().to_string_lossy();
    if !path.exists() {
        return Ok(ceilings.bound(&name, &Grants::default()));
    }
    let asked = read(&path, None).unwrap_or_else(|| Err("it is being written".into()));
    asked
        .map(|asked| ceilings.bound(&name, &asked))
        .map_err(|cause| Problem {
            file: path,
            cause,
            hint: HINT.into(),
            earlier_served: false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::{Plugin, bytes::human_bytes};

    fn catalog() -> Catalog {
        let plugin = Plugin {
            name: "p".into(),
            file: "p.wasm".into(),
            digest: "d".into(),
            size: 1,
            sdk: String::new(),
            kinds: Vec::new(),
            code: "p.cwasm".into(),
            cached: false,
            asks: None,
            grants: Arc::default(),
        };
        let mut catalog = Catalog::default();
        catalog.plugins.insert("p".into(), Arc::new(plugin));
        catalog
    }

    fn look(files: &mut GrantFiles) -> (Catalog, bool) {
        let mut catalog = catalog();
        let settled = files.apply(&mut catalog, true);
        (catalog, settled)
    }

    #[test]
    fn a_file_counts_once_it_is_steady_and_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.toml");
        let mut files = GrantFiles::new(folder.path().to_path_buf(), Arc::default());
        let (found, settled) = look(&mut files);
        assert!(settled && found.plugins["p"].grants.scratch.is_none());

        fs::write(&file, "[grants]\nscratch = \"1MiB\"\n").unwrap();
        let (found, settled) = look(&mut files);
        assert!(!settled && found.plugins["p"].grants.scratch.is_none());
        let (found, settled) = look(&mut files);
        assert!(settled);
        assert_eq!(found.plugins["p"].grants.scratch, Some(1 << 20));

        fs::remove_file(&file).unwrap();
        let (found, settled) = look(&mut files);
        assert!(!settled, "an editor may be about to put it back");
        assert_eq!(found.plugins["p"].grants.scratch, Some(1 << 20));
        let (found, settled) = look(&mut files);
        assert!(settled && found.plugins["p"].grants.scratch.is_none());
    }

    #[test]
    fn no_attempt_runs_before_the_first_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("p.toml"),
            "[grants]\nscratch = \"1MiB\"\n",
        )
        .unwrap();
        let mut files = GrantFiles::new(folder.path().to_path_buf(), Arc::default());
        assert!(look(&mut files).0.plugins.is_empty());
        let (found, settled) = look(&mut files);
        assert!(settled);
        assert_eq!(found.plugins["p"].grants.scratch, Some(1 << 20));
    }

    #[test]
    fn a_wrong_file_takes_its_plugin_out_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.toml");
        let mut files = GrantFiles::new(folder.path().to_path_buf(), Arc::default());
        look(&mut files);
        for (bytes, says) in [
            (
                b"[grants]\nscrach = \"1MiB\"\n".to_vec(),
                "line 2, `scrach`",
            ),
            (b"\xff\xfe".to_vec(), "not UTF-8"),
            (vec![b'#'; 300 << 10], human_bytes(FILE_BYTES).as_str()),
        ] {
            fs::write(&file, bytes).unwrap();
            look(&mut files);
            let (found, settled) = look(&mut files);
            assert!(settled && found.plugins.is_empty(), "{says}");
            assert_eq!(found.problems[0].file, file);
            assert!(
                found.problems[0].cause.contains(says),
                "{:?}",
                found.problems
            );
        }
        fs::write(&file, "").unwrap();
        look(&mut files);
        assert_eq!(look(&mut files).0.plugins.len(), 1);
    }
}

//! The plugin folder: what is taken up, what is refused, and what stays served meanwhile.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sandhog_kit::wait;
use tempfile::TempDir;

use super::component;
use crate::plugin::{
    Catalog, Compiler, Halt, Plugin, Plugins, Registry, RegistryError, RegistryOptions,
};

/// A folder with a registry over it, and a code cache of its own.
pub(super) struct Folder {
    pub(super) dir: TempDir,
    pub(super) registry: Option<Registry>,
}

impl Folder {
    pub(super) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("plugins")).unwrap();
        Self {
            dir,
            registry: None,
        }
    }

    pub(super) fn options(&self) -> RegistryOptions {
        RegistryOptions {
            poll: Duration::from_millis(20),
            again: Duration::from_millis(50),
            compiler: Compiler::Here,
            ..RegistryOptions::new(
                self.dir.path().join("plugins"),
                self.dir.path().join("code"),
                self.dir.path().join("versions"),
            )
        }
    }

    pub(super) fn start(self) -> Self {
        let options = self.options();
        self.start_with(options)
    }

    pub(super) fn start_with(mut self, options: RegistryOptions) -> Self {
        self.registry = None;
        self.registry = Some(Registry::start(options, Halt::default()).unwrap());
        self
    }

    pub(super) fn registry(&self) -> &Registry {
        self.registry.as_ref().unwrap()
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join("plugins").join(file)
    }

    pub(super) fn write(&self, file: &str, bytes: &[u8]) {
        fs::write(self.path(file), bytes).unwrap();
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.registry.as_ref().unwrap().catalog()
    }

    /// The catalog once it is as told. The folder is another process's to change, so it is polled.
    pub(super) fn once(&self, what: &str, is: impl Fn(&Catalog) -> bool) -> Arc<Catalog> {
        wait::until(what, Duration::from_secs(20), || {
            let catalog = self.catalog();
            is(&catalog).then_some(catalog)
        })
    }

    pub(super) fn code_files(&self) -> Vec<PathBuf> {
        fs::read_dir(self.dir.path().join("code"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }
}

pub(super) fn digest(catalog: &Catalog, name: &str) -> String {
    catalog.plugins[name].digest.clone()
}

#[test]
fn the_first_scan_is_complete_when_start_returns() {
    let folder = Folder::new();
    folder.write("one.wasm", &component(&["a", "b"]));
    folder.write("two.wasm", &component(&["c"]));
    folder.write("readme.txt", b"no plugin");
    let folder = folder.start();
    let catalog = folder.catalog();
    assert_eq!(catalog.kinds(), ["a", "b", "c"]);
    assert_eq!(catalog.problems, []);
    let one: &Plugin = &catalog.plugins["one"];
    assert_eq!(
        (one.file.clone(), one.cached),
        (folder.path("one.wasm"), false)
    );
    assert_eq!(one.digest.len(), 64);
    assert!(one.code.path().is_file());
}

#[test]
fn a_second_start_compiles_and_runs_nothing() {
    let folder = Folder::new();
    folder.write("one.wasm", &component(&["a"]));
    let folder = folder.start();
    let before = digest(&folder.catalog(), "one");
    let code = folder.catalog().plugins["one"].code.path().to_owned();
    let written = fs::metadata(&code).unwrap().modified().unwrap();
    let folder = folder.start();
    let plugin = Arc::clone(&folder.catalog().plugins["one"]);
    assert!(plugin.cached);
    assert_eq!(plugin.digest, before);
    assert_eq!(fs::metadata(&code).unwrap().modified().unwrap(), written);
    assert_eq!(folder.code_files().len(), 2);
}

#[test]
fn code_that_was_cut_short_is_made_again() {
    let folder = Folder::new();
    folder.write("one.wasm", &component(&["a"]));
    let folder = folder.start();
    let code = folder.catalog().plugins["one"].code.path().to_owned();
    let whole = fs::read(&code).unwrap();
    fs::write(&code, &whole[..whole.len() / 2]).unwrap();
    let folder = folder.start();
    assert!(!folder.catalog().plugins["one"].cached);
    assert_eq!(fs::read(&code).unwrap().len(), whole.len());
}

#[test]
fn the_code_cache_is_the_runners_alone() {
    let folder = Folder::new().start();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let code = folder.dir.path().join("code");
    assert_eq!(mode(&code), 0o700);
    fs::set_permissions(&code, fs::Permissions::from_mode(0o777)).unwrap();
    let folder = folder.start();
    assert_eq!(mode(&code), 0o700);
    let mut options = folder.options();
    options.cache_dir = folder.path("code");
    let refused = Registry::start(options, Halt::default()).unwrap_err();
    assert!(matches!(refused, RegistryError::OwnDirInPlugins { .. }));
}

#[test]
fn files_come_change_and_go_while_it_runs() {
    let folder = Folder::new().start();
    let mut changed = folder.registry.as_ref().unwrap().changed();
    assert_eq!(*changed.borrow_and_update(), 0);
    folder.write("one.wasm", &component(&["a"]));
    let first = folder.once("there", |catalog| catalog.kinds() == ["a"]);
    assert_eq!(*changed.borrow_and_update(), 1);
    fs::write(folder.path("new"), component(&["a", "b"])).unwrap();
    fs::rename(folder.path("new"), folder.path("one.wasm")).unwrap();
    let second = folder.once("replaced", |catalog| catalog.kinds() == ["a", "b"]);
    assert_ne!(digest(&first, "one"), digest(&second, "one"));
    // The same bytes again are no change.
    let count = *changed.borrow_and_update();
    folder.write("one.wasm", &component(&["a", "b"]));
    folder.write("two.wasm", &component(&["c"]));
    let third = folder.once("joined", |catalog| catalog.kinds() == ["a", "b", "c"]);
    assert!(Arc::ptr_eq(&second.plugins["one"], &third.plugins["one"]));
    assert_eq!(*changed.borrow_and_update(), count + 1);
    fs::remove_file(folder.path("one.wasm")).unwrap();
    folder.once("gone", |catalog| catalog.kinds() == ["c"]);
}

#[test]
fn a_bad_file_never_unseats_a_good_one() {
    let folder = Folder::new();
    let good = component(&["a"]);
    folder.write("one.wasm", &good);
    let folder = folder.start();
    let before = digest(&folder.catalog(), "one");
    for bad in [&good[..good.len() / 2], b"", b"text", &component(&[])] {
        folder.write("one.wasm", bad);
        let catalog = folder.once("a problem", |catalog| !catalog.problems.is_empty());
        assert!(catalog.problems[0].earlier_served);
        assert_eq!(catalog.problems[0].file, folder.path("one.wasm"));
        assert_eq!(digest(&catalog, "one"), before);
        folder.write("one.wasm", &good);
        let catalog = folder.once("well again", |catalog| catalog.problems.is_empty());
        assert_eq!(digest(&catalog, "one"), before);
    }
}

#[test]
fn of_two_files_with_one_kind_the_second_is_refused() {
    let folder = Folder::new();
    folder.write("first.wasm", &component(&["a", "b"]));
    folder.write("second.wasm", &component(&["b", "c"]));
    let folder = folder.start();
    let catalog = folder.catalog();
    assert_eq!(catalog.kinds(), ["a", "b"]);
    let [problem] = &catalog.problems[..] else {
        panic!("{:?}", catalog.problems);
    };
    assert_eq!(problem.file, folder.path("second.wasm"));
    for name in ["\"b\"", "first.wasm", "second.wasm"] {
        assert!(problem.cause.contains(name), "{}", problem.cause);
    }
    // What is served stays, whatever comes first by name.
    folder.write("a.wasm", &component(&["a"]));
    let catalog = folder.once("refused", |catalog| catalog.problems.len() == 2);
    assert_eq!(catalog.kinds(), ["a", "b"]);
    // A new version that takes another's kind leaves the earlier one in place.
    folder.write("third.wasm", &component(&["d"]));
    folder.once("there", |catalog| catalog.kinds() == ["a", "b", "d"]);
    folder.write("third.wasm", &component(&["d", "a"]));
    let catalog = folder.once("refused", |catalog| catalog.problems.len() == 3);
    assert_eq!(catalog.kinds(), ["a", "b", "d"]);
    assert!(catalog.problems[2].earlier_served);
    fs::remove_file(folder.path("first.wasm")).unwrap();
    folder.once("taken over", |catalog| {
        catalog.kinds() == ["a", "b", "c", "d"] || catalog.kinds() == ["b", "c", "a", "d"]
    });
}

#[test]
fn what_is_no_regular_file_is_not_read() {
    let folder = Folder::new();
    folder.write("good.wasm", &component(&["a"]));
    folder.write("Bad Name.wasm", &component(&["b"]));
    symlink(folder.path("good.wasm"), folder.path("link.wasm")).unwrap();
    fs::create_dir(folder.path("dir.wasm")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.path("pipe.wasm"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    fs::File::create(folder.path("large.wasm"))
        .unwrap()
        .set_len((64 << 20) + 1)
        .unwrap();
    let folder = folder.start();
    let catalog = folder.catalog();
    assert_eq!(catalog.kinds(), ["a"]);
    let causes: Vec<&str> = catalog
        .problems
        .iter()
        .map(|it| it.cause.as_str())
        .collect();
    assert_eq!(causes.len(), 5, "{causes:?}");
    for (cause, says) in causes.iter().zip([
        "no plugin name",
        "not a regular file",
        "over the limit of 64 MiB",
        "symbolic link",
        "not a regular file",
    ]) {
        assert!(cause.contains(says), "{causes:?}");
    }
}

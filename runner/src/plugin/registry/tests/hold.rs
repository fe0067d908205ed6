//! Versions that are held back, and what is served in their place.

use sandhog_model::{Failure, FailureKind, JobId, Outcome, Output, TrapKind};

use super::{
    component,
    folder::{Folder, digest},
};
use crate::plugin::{ActRefused, Catalog, PluginAct, PluginDesk, Plugins};

fn trap() -> Outcome {
    Outcome::Failed {
        failure: Failure::new(
            FailureKind::Trap(TrapKind::Unreachable),
            "unreachable",
            "why",
        ),
        retry_after_ms: None,
    }
}

fn done() -> Outcome {
    Outcome::Completed(Output {
        content_type: String::new(),
        payload: Vec::new(),
    })
}

/// As a worker tells of attempts.
fn ends(folder: &Folder, jobs: std::ops::Range<u128>, outcome: &Outcome) {
    let catalog = folder.catalog();
    let Some(plugin) = catalog.plugins.get("one") else {
        panic!("nothing is served: {catalog:?}")
    };
    for job in jobs {
        folder.registry().ended(plugin, "a", JobId(job), outcome);
    }
}

/// A folder whose plugin had two versions, the first of which completed a job and the second broke
/// ten in a row; with their digests.
fn broken() -> (Folder, String, String) {
    let folder = Folder::new();
    folder.write("one.wasm", &component(&["a"]));
    let folder = folder.start();
    let good = digest(&folder.catalog(), "one");
    ends(&folder, 0..1, &done());
    folder.write("one.wasm", &component(&["a", "b"]));
    let catalog = folder.once("replaced", |catalog| catalog.kinds() == ["a", "b"]);
    let bad = digest(&catalog, "one");
    ends(&folder, 0..9, &trap());
    assert_eq!(folder.catalog().kinds(), ["a", "b"]);
    ends(&folder, 9..10, &trap());
    (folder, good, bad)
}

fn held(catalog: &Catalog) -> Option<&str> {
    catalog
        .held
        .get("one")
        .map(|held| held.plugin.digest.as_str())
}

#[test]
fn a_version_that_breaks_jobs_in_a_row_is_held_back_at_once() {
    let (folder, _, bad) = broken();
    let catalog = folder.catalog();
    assert_eq!(
        (catalog.kinds(), held(&catalog)),
        (vec![], Some(bad.as_str()))
    );
    // What its handler says of its kinds is still known.
    assert_eq!(catalog.describing("b").unwrap().kind, "b");
    assert_eq!(catalog.holding("b").unwrap().0, "one");
    let folder = folder.start();
    assert_eq!(held(&folder.catalog()), Some(bad.as_str()));
}

#[test]
fn going_back_serves_the_last_good_version_over_restarts() {
    let (folder, good, bad) = broken();
    folder
        .registry()
        .act("one", PluginAct::Rollback { to: None })
        .unwrap();
    let catalog = folder.once("served", |catalog| catalog.kinds() == ["a"]);
    assert_eq!(
        (digest(&catalog, "one"), catalog.replaced["one"].clone()),
        (good.clone(), bad)
    );
    assert!(catalog.held.is_empty());
    let folder = folder.start();
    assert_eq!(digest(&folder.catalog(), "one"), good);
    // Touching the file is no change of it.
    folder.write("one.wasm", &component(&["a", "b"]));
    folder.write("two.wasm", &component(&["c"]));
    let catalog = folder.once("a look later", |catalog| {
        catalog.plugins.contains_key("two")
    });
    assert_eq!(digest(&catalog, "one"), good);
    folder.write("one.wasm", &component(&["a", "d"]));
    let catalog = folder.once("replaced", |catalog| catalog.kinds() == ["a", "c", "d"]);
    assert!(catalog.replaced.is_empty());
}

#[test]
fn another_plugin_may_take_over_what_a_held_back_one_serves() {
    let (folder, ..) = broken();
    folder.write("two.wasm", &component(&["b"]));
    let catalog = folder.once("taken over", |catalog| catalog.kinds() == ["b"]);
    assert_eq!(catalog.problems, []);
    // Released, it has to give way to the one that is served.
    folder.registry().act("one", PluginAct::Release).unwrap();
    let catalog = folder.once("refused", |catalog| !catalog.problems.is_empty());
    assert!(
        catalog.problems[0].cause.contains("two.wasm"),
        "{:?}",
        catalog.problems
    );
    assert_eq!(catalog.kinds(), ["b"]);
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let (folder, _, bad) = broken();
    let act = |name: &str, act| folder.registry().act(name, act).unwrap_err();
    let why = act("nobody", PluginAct::Release);
    assert!(matches!(&why, ActRefused::NoPlugin { known, .. } if known == "one"));
    let why = act("one", PluginAct::Quarantine { why: None });
    assert!(matches!(why, ActRefused::NotServed { .. }));
    let why = act("one", PluginAct::Rollback { to: Some(bad) });
    assert!(matches!(why, ActRefused::NoVersion(_)));
    folder.registry().act("one", PluginAct::Release).unwrap();
    assert_eq!(
        act("one", PluginAct::Release),
        ActRefused::NotHeld { name: "one".into() }
    );
    let view = folder.registry().view("one").unwrap();
    assert_eq!(view.served.unwrap().kinds.len(), 2);
    assert_eq!(view.versions.len(), 2);
    assert_eq!(
        (
            view.versions[0].version.proven,
            view.versions[1].version.proven
        ),
        (false, true)
    );
    assert!(folder.registry().view("nobody").is_none());
}

#[test]
fn a_kept_version_that_was_damaged_is_not_served() {
    let (folder, good, _) = broken();
    let kept = folder
        .dir
        .path()
        .join("versions")
        .join(format!("{good}.wasm"));
    std::fs::write(&kept, component(&["a", "z"])).unwrap();
    folder
        .registry()
        .act("one", PluginAct::Rollback { to: None })
        .unwrap();
    let catalog = folder.once("refused", |catalog| {
        catalog
            .held
            .get("one")
            .is_some_and(|held| held.why.contains("damaged"))
    });
    assert_eq!(catalog.kinds(), [""; 0]);
    // The way out of it.
    folder.registry().act("one", PluginAct::Release).unwrap();
    folder.once("served", |catalog| catalog.kinds() == ["a", "b"]);
}

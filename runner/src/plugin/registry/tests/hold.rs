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

/// A start after the process before it went away while it ran jobs of kind `a`.
fn after_a_crash(folder: Folder, jobs: &[u128]) -> Folder {
    let folder = folder.start();
    let jobs: Vec<(JobId, String)> = jobs.iter().map(|job| (JobId(*job), "a".into())).collect();
    folder.registry().went_away(&jobs);
    folder
}

fn served_one() -> (Folder, String) {
    let folder = Folder::new();
    folder.write("one.wasm", &component(&["a"]));
    let folder = folder.start();
    let version = digest(&folder.catalog(), "one");
    (folder, version)
}

#[test]
fn a_version_with_which_the_runner_goes_away_again_and_again_is_held_back() {
    let (mut folder, version) = served_one();
    for jobs in [&[1, 2], &[2, 3]] {
        folder = after_a_crash(folder, jobs);
        assert_eq!(held(&folder.catalog()), None);
    }
    folder = after_a_crash(folder, &[3, 4]);
    assert_eq!(held(&folder.catalog()), Some(version.as_str()));
    let why = &folder.catalog().held["one"].why;
    assert!(why.contains("went away 3 times in a row"), "{why}");
    // A restart knows of it; a release begins anew.
    folder = folder.start();
    assert_eq!(held(&folder.catalog()), Some(version.as_str()));
    folder.registry().act("one", PluginAct::Release).unwrap();
    for jobs in [&[5], &[6]] {
        folder = after_a_crash(folder, jobs);
        assert_eq!(held(&folder.catalog()), None);
    }
}

#[test]
fn one_job_that_takes_the_runner_down_each_time_is_its_own_fault() {
    let (mut folder, version) = served_one();
    for jobs in [&[1, 2], &[1, 3], &[1, 4], &[1, 5]] {
        folder = after_a_crash(folder, jobs);
        assert_eq!(held(&folder.catalog()), None);
    }
    // It was buried, and the runner still goes away.
    folder = after_a_crash(folder, &[5, 6]);
    assert_eq!(held(&folder.catalog()), Some(version.as_str()));
}

#[test]
fn a_completed_job_or_another_version_ends_the_row() {
    let (mut folder, _) = served_one();
    for jobs in [&[1], &[2]] {
        folder = after_a_crash(folder, jobs);
    }
    ends(&folder, 3..4, &done());
    for jobs in [&[4], &[5]] {
        folder = after_a_crash(folder, jobs);
        assert_eq!(held(&folder.catalog()), None);
    }
    // What came while no runner was up ran none of these jobs.
    folder.registry = None;
    folder.write("one.wasm", &component(&["a", "b"]));
    let folder = after_a_crash(folder, &[6]);
    assert_eq!(
        (held(&folder.catalog()), folder.catalog().kinds().len()),
        (None, 2)
    );
}

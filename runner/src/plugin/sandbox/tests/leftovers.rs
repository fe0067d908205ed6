//! What one guest leaves for the next: nothing.

use std::sync::Arc;

use sandhog_kit::hand_made::HandMade;
use sandhog_model::Outcome;
use tempfile::TempDir;

use super::kit::{Rig, unchecked};
use crate::plugin::Plugin;

/// Fills all its memory and its table.
const DIRTY: HandMade<'static> = HandMade {
    fields: "(table $t 20000 funcref) (func $f) (elem declare func $f)",
    handle: "(table.fill $t (i32.const 0) (ref.func $f) (i32.const 20000))
      (if (i32.eq (memory.grow (i32.const 1900)) (i32.const -1)) (then unreachable))
      (memory.fill (i32.const 8192) (i32.const 94) (i32.const 124575744))",
    ..HandMade::PLAIN
};

/// Looks at every place of its memory and its table, and traps at one that is not zero.
const SCAN: HandMade<'static> = HandMade {
    fields: "(table $t 20000 funcref)",
    handle: "(local $at i32)
      (loop $l
        (if (i32.eqz (ref.is_null (table.get $t (local.get $at)))) (then unreachable))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $l (i32.lt_u (local.get $at) (i32.const 20000))))
      (if (i32.eq (memory.grow (i32.const 1900)) (i32.const -1)) (then unreachable))
      (local.set $at (i32.const 8192))
      (loop $l
        (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then unreachable))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br_if $l (i32.lt_u (local.get $at) (i32.const 124583936))))",
    ..HandMade::PLAIN
};

fn named(name: &str, made: HandMade<'_>) -> (TempDir, Arc<Plugin>) {
    let dir = TempDir::new().unwrap();
    let plugin = Plugin {
        name: name.into(),
        digest: name.into(),
        ..unchecked(dir.path(), &made.text())
    };
    (dir, Arc::new(plugin))
}

fn nothing_is_left(on: fn(Plugin) -> Rig) {
    let (_dirt, dirty) = named("dirty", DIRTY);
    let (_look, scan) = named("scan", SCAN);
    let rig = on((*dirty).clone());
    let run = |plugin: &Arc<Plugin>| {
        let mut request = rig.request("hand-made", &[]);
        request.plugin = Arc::clone(plugin);
        rig.attempt(request).outcome
    };
    for _ in 0..4 {
        for plugin in [&dirty, &scan] {
            let outcome = run(plugin);
            let well = matches!(outcome, Outcome::Completed(_));
            assert!(well, "{}: {outcome:?}", plugin.name);
        }
    }
}

#[test]
fn a_slot_of_the_pool_is_clean_for_the_next_guest() {
    // One slot, so that the next guest gets the memory of the one before.
    nothing_is_left(|plugin| Rig::with_slots(plugin, 1));
}

#[test]
fn a_slot_is_clean_also_where_the_kernel_does_not_tell_what_was_touched() {
    nothing_is_left(|plugin| Rig::clearing(plugin, 1));
}

#[test]
fn what_is_mapped_for_a_guest_is_clean() {
    nothing_is_left(Rig::on_demand);
}

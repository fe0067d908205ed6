//! The sorted map does what a tree does.

use super::*;
use alloc::vec;
use proptest::prelude::*;

/// What a chunk must be, whatever was done.
fn holds(sorted: &Sorted<u32, u32>) {
    let mut last = None;
    let mut len = 0;
    let mut few = 0;
    let end = sorted.last.iter().map(|(bound, chunk)| (bound, chunk));
    for (bound, chunk) in sorted.chunks.iter().chain(end) {
        assert!(!chunk.keys.is_empty() && chunk.keys.len() <= MOST);
        assert_eq!(chunk.keys.len(), chunk.values.len());
        assert!(chunk.keys.is_sorted() && *bound <= chunk.keys[0]);
        assert!(last < Some(*bound), "a chunk reaches into the next");
        last = chunk.keys.last().copied();
        len += chunk.keys.len();
        few += usize::from(chunk.keys.len() < FEW / 2);
    }
    assert_eq!(len, sorted.len);
    assert_eq!(sorted.last.is_none(), len == 0);
    assert!(few <= sorted.chunks.len() / 2 + 1, "{few} chunks of few");
}

fn same(sorted: &Sorted<u32, u32>, tree: &BTreeMap<u32, u32>) {
    let pairs = |(key, value): (&u32, &u32)| (*key, *value);
    let entries: Vec<(u32, u32)> = sorted.iter().map(|(key, value)| (key, *value)).collect();
    assert_eq!(entries, tree.iter().map(pairs).collect::<Vec<_>>());
    assert_eq!(
        sorted.first().map(|(key, _)| key),
        tree.keys().next().copied()
    );
    assert_eq!(sorted.is_empty(), tree.is_empty());
    let some = entries.get(entries.len() / 2).map(|(key, _)| *key);
    for end in [None, Some(0), Some(777), some, Some(u32::MAX)] {
        let below: Vec<u32> = sorted.below(end).map(|(key, _)| key).collect();
        let range = tree.range(..end.unwrap_or(u32::MAX));
        assert_eq!(below, range.rev().map(|(key, _)| *key).collect::<Vec<_>>());
        let start = end.unwrap_or(1);
        let from: Vec<u32> = sorted.from(start).map(|(key, _)| key).collect();
        let range = tree.range(start..).map(|(key, _)| *key);
        assert_eq!(from, range.collect::<Vec<_>>());
    }
}

#[derive(Debug, Clone)]
enum Op {
    Insert(u32),
    Run { from: u32, len: u32, down: bool },
    Remove(u32),
    Sweep { from: u32, len: u32, step: u32 },
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (0..2_000_u32).prop_map(Op::Insert),
        2 => (0..2_000_u32, 1..400_u32, any::<bool>())
            .prop_map(|(from, len, down)| Op::Run { from, len, down }),
        2 => (0..2_000_u32).prop_map(Op::Remove),
        2 => (0..2_000_u32, 1..900_u32, 1..4_u32)
            .prop_map(|(from, len, step)| Op::Sweep { from, len, step }),
    ];
    prop::collection::vec(op, 1..60)
}

fn keys(op: &Op) -> (Vec<u32>, bool) {
    match *op {
        Op::Insert(key) => (vec![key], true),
        Op::Remove(key) => (vec![key], false),
        Op::Run { from, len, down } => {
            let keys = from..from + len;
            (
                if down {
                    keys.rev().collect()
                } else {
                    keys.collect()
                },
                true,
            )
        }
        Op::Sweep { from, len, step } => {
            ((from..from + len).step_by(step as usize).collect(), false)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_what_a_tree_does(ops in ops()) {
        let mut sorted = Sorted::default();
        let mut tree = BTreeMap::new();
        for (step, op) in (0..).zip(&ops) {
            let (keys, inserts) = keys(op);
            for key in keys {
                if inserts {
                    prop_assert_eq!(sorted.insert(key, step), tree.insert(key, step));
                } else {
                    prop_assert_eq!(sorted.remove(&key), tree.remove(&key));
                }
                prop_assert_eq!(sorted.get(&key), tree.get(&key));
                prop_assert_eq!(sorted.get_mut(&(key + 1)), tree.get_mut(&(key + 1)));
            }
            holds(&sorted);
            same(&sorted, &tree);
        }
        let mut built = Sorted::default();
        for (key, value) in tree {
            built.insert(key, value);
        }
        prop_assert_eq!(&built, &sorted, "equal entries, whatever the chunks");
    }
}

#[test]
fn keys_that_grow_fill_every_chunk() {
    let mut sorted = Sorted::default();
    // Every tenth comes a little late.
    for key in 0..100_000_u32 {
        let key = if key % 10 == 9 {
            key - 5
        } else {
            key + key % 10 / 5
        };
        sorted.insert(key, ());
    }
    assert!(
        sorted.chunks.len() <= sorted.len() / (MOST * 7 / 8),
        "{}",
        sorted.chunks.len()
    );
}

#[test]
fn a_map_that_is_emptied_keeps_no_chunk_and_a_thinned_one_few() {
    let mut sorted = Sorted::default();
    for key in 0..10_000_u32 {
        sorted.insert(key, key);
    }
    for key in (0..10_000).filter(|key| key % 50 != 0) {
        sorted.remove(&key);
    }
    assert_eq!(sorted.len(), 200);
    let end = sorted.last.iter().map(|(_, chunk)| chunk);
    let chunks = sorted.chunks.values().chain(end);
    let room: usize = chunks.map(|chunk| chunk.values.capacity()).sum();
    assert!(
        sorted.chunks.len() <= 12 && room <= 800,
        "{} {room}",
        sorted.chunks.len()
    );
    for key in (0..10_000).step_by(50) {
        sorted.remove(&key);
    }
    assert!(sorted.chunks.is_empty() && sorted.last.is_none() && sorted.is_empty());
}

#[test]
fn maps_of_other_entries_are_not_the_same() {
    let of = |pairs: &[(u32, u32)]| {
        let mut sorted = Sorted::default();
        for (key, value) in pairs {
            sorted.insert(*key, *value);
        }
        sorted
    };
    assert!(of(&[(1, 2)]) == of(&[(1, 2)]));
    for other in [&[][..], &[(1, 3)], &[(2, 2)], &[(1, 2), (3, 4)]] {
        assert!(of(&[(1, 2)]) != of(other), "{other:?}");
    }
}

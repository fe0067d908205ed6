//! Waiting for another process: the one place that polls, always with a bound.

use std::{
    thread,
    time::{Duration, Instant},
};

/// How often is looked.
const POLL: Duration = Duration::from_millis(5);

/// Looks until there is something and gives it.
///
/// # Panics
///
/// When there is nothing within the bound; the message says what was waited for.
#[track_caller]
pub fn until<T>(what: &str, bound: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(
            start.elapsed() < bound,
            "waited {bound:?} in vain for {what}"
        );
        thread::sleep(POLL);
    }
}

/// Lets an outside process run for a time: how long it may work before it is killed is the very
/// thing a crash test varies.
pub fn let_run(time: Duration) {
    thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::until;
    use std::time::Duration;

    #[test]
    fn gives_what_it_sees() {
        let mut looks = 0;
        let seen = until("a third look", Duration::from_secs(60), || {
            looks += 1;
            (looks == 3).then_some("there")
        });
        assert_eq!((seen, looks), ("there", 3));
    }

    #[test]
    #[should_panic(expected = "in vain for a thing that never comes")]
    fn has_an_end() {
        until("a thing that never comes", Duration::from_millis(1), || {
            None::<()>
        });
    }
}

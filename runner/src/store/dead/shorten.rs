//! What is left out of a letter that would not fit in a frame.

use sandhog_model::Letter;

/// Attempts kept in a letter that would otherwise not fit.
const SHORT_HISTORY: usize = 25;
/// Bytes kept of each text of such an attempt, and of its headers together.
const SHORT_TEXT: usize = 2048;

/// The letter with what a person needs least left out: log lines, backtraces and details of every
/// attempt, all but the latest attempts, and the ends of long texts. The job and its payload stay as
/// they are.
pub(super) fn shortened(letter: &Letter) -> Letter {
    let mut letter = letter.clone();
    let oldest = letter.attempts.len().saturating_sub(SHORT_HISTORY);
    letter.attempts.drain(..oldest);
    for attempt in &mut letter.attempts {
        attempt.dropped_lines += attempt.logs.len() as u64;
        attempt.logs.clear();
        if let Some(failure) = &mut attempt.failure {
            failure.backtrace.clear();
            failure.details.clear();
            let texts = [Some(&mut failure.code), Some(&mut failure.cause)];
            let more = [failure.hint.as_mut(), failure.panic.as_mut()];
            for text in texts.into_iter().chain(more).flatten() {
                text.truncate(text.floor_char_boundary(SHORT_TEXT));
            }
        }
    }
    letter
}

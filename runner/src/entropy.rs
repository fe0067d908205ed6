//! Chance, from the operating system.

use std::cell::RefCell;

/// Gives random bits. Tests hand in a seeded one.
pub trait Entropy: Send + Sync + 'static {
    /// 128 random bits.
    fn next(&self) -> u128;
}

/// The kernel's random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

/// Bytes asked of the kernel at once: a call for each number would cost more than all else a small
/// job's id costs.
const AT_ONCE: usize = 256;

thread_local! {
    /// Numbers not given yet.
    static POOL: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
}

impl Entropy for SystemEntropy {
    fn next(&self) -> u128 {
        POOL.with_borrow_mut(|pool| {
            if pool.is_empty() {
                let bytes = from_kernel();
                let (numbers, _) = bytes.as_chunks::<16>();
                pool.extend(numbers.iter().map(|bytes| u128::from_le_bytes(*bytes)));
            }
            pool.pop().unwrap_or_default()
        })
    }
}

fn from_kernel() -> [u8; AT_ONCE] {
    let mut bytes = [0; AT_ONCE];
    let mut filled = 0;
    while filled < bytes.len() {
        // Only an interrupted call can fail here: so few bytes never block after boot.
        if let Ok(more) =
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
        {
            filled += more;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_do_not_repeat_over_threads_and_refills() {
        let draw = || (0..100).map(|_| SystemEntropy.next()).collect::<Vec<_>>();
        let other = std::thread::spawn(draw);
        let mut all = draw();
        all.extend(other.join().expect("drawn"));
        assert!(!all.contains(&0));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}

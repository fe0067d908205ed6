//! Chance, from the operating system.

/// Gives random bits. Tests hand in a seeded one.
pub trait Entropy: Send + Sync + 'static {
    /// 128 random bits.
    fn next(&self) -> u128;
}

/// The kernel's random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn next(&self) -> u128 {
        let mut bytes = [0; 16];
        let mut filled = 0;
        while filled < bytes.len() {
            // Only an interrupted call can fail here: sixteen bytes never block after boot.
            if let Ok(more) =
                rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
            {
                filled += more;
            }
        }
        u128::from_le_bytes(bytes)
    }
}

//! Which keys count for a runner that reads its settings again.

/// What of a table a runner takes in when it reads its settings again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reload {
    /// All of it.
    All,
    /// All but these keys, which count from the next start.
    AllBut(&'static [&'static str]),
    /// These keys alone; the others count from the next start.
    Only(&'static [&'static str]),
}

impl Reload {
    pub(super) fn takes(self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::AllBut(keys) => !keys.contains(&key),
            Self::Only(keys) => keys.contains(&key),
        }
    }

    /// The same for the page.
    pub(super) fn says(self) -> String {
        let listed = |keys: &[&str]| {
            let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            quoted.join(", ")
        };
        match self {
            Self::All => "Taken in by a reload.".into(),
            Self::AllBut(keys) => {
                format!("Taken in by a reload, but for {}.", listed(keys))
            }
            Self::Only([]) => "Counts from the next start.".into(),
            Self::Only(keys) => {
                format!("Counts from the next start, but for {}.", listed(keys))
            }
        }
    }
}

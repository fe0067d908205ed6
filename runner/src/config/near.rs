//! What is said of a name that is not known: the one that was most likely meant.

/// The refusal of a name.
pub(super) fn unknown(
    what: &str,
    shown: &str,
    name: &str,
    known: impl Iterator<Item = &'static str> + Clone,
) -> String {
    let near = nearest(name, known.clone());
    match near {
        Some(one) => format!("unknown {what} {shown}: did you mean `{one}`?"),
        None => {
            let all: Vec<&str> = known.collect();
            format!("unknown {what} {shown}: known are {}", all.join(", "))
        }
    }
}

/// The name that was most likely meant.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|one| (distance(one, name), one))
        .min()
        .filter(|(steps, one)| *steps <= 2.min(one.len() / 2))
        .map(|(_, one)| one)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            if i == 0 || j == 0 {
                rows[i][j] = i + j;
                continue;
            }
            let replace = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[one.len()][other.len()]
}

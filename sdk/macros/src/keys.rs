//! The names of the attribute's keys, how each is written, and which one somebody meant.

/// Every key with a sample of how it is written.
pub(crate) const KEYS: [(&str, &str); 7] = [
    ("kind", r#"kind = "greet""#),
    ("timeout", r#"timeout = "30s""#),
    ("max_attempts", "max_attempts = 5"),
    ("trap_attempts", "trap_attempts = 3"),
    ("backoff", r#"backoff = "exponential 1s max 1h""#),
    ("queue", r#"queue = "images""#),
    ("content_type", r#"content_type = "image/png""#),
];

/// What other job systems call the same things.
const ELSEWHERE: [(&str, &str); 12] = [
    ("name", "kind"),
    ("id", "kind"),
    ("deadline", "timeout"),
    ("ttl", "timeout"),
    ("attempts", "max_attempts"),
    ("retries", "max_attempts"),
    ("max_retries", "max_attempts"),
    ("retry", "backoff"),
    ("delay", "backoff"),
    ("media_type", "content_type"),
    ("mime", "content_type"),
    ("mime_type", "content_type"),
];

/// How a key is written; nothing for one that is not known.
pub(crate) fn sample(key: &str) -> Option<&'static str> {
    let found = KEYS.iter().find(|(known, _)| *known == key);
    found.map(|(_, sample)| *sample)
}

/// What is wrong with a key that is none, and what was meant if that can be told.
pub(crate) fn unknown(key: &str) -> String {
    let all: Vec<&str> = KEYS.iter().map(|(known, _)| *known).collect();
    let all = all.join(", ");
    match meant(key) {
        Some(meant) => {
            let sample = sample(meant).unwrap_or(meant);
            format!("unknown key `{key}`: did you mean `{sample}`? The keys are {all}")
        }
        None => format!("unknown key `{key}`: the keys are {all}"),
    }
}

fn meant(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == key);
    if let Some((_, meant)) = elsewhere {
        return Some(meant);
    }
    let near = KEYS
        .iter()
        .map(|(known, _)| (distance(&key, known), *known));
    let (distance, nearest) = near.min()?;
    (distance <= 1 + nearest.len() / 4).then_some(nearest)
}

/// How many letters have to be put in, taken out or replaced to make one word the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, known) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *known);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, meant, unknown};

    #[test]
    fn the_distance_counts_letters() {
        for (one, other, expected) in [
            ("", "abc", 3),
            ("abc", "", 3),
            ("kind", "kind", 0),
            ("knd", "kind", 1),
            ("kinds", "kind", 1),
            ("time_out", "timeout", 1),
            ("quuee", "queue", 2),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn what_was_meant_is_told_when_it_is_near_or_known_elsewhere() {
        for (key, expected) in [
            ("knd", Some("kind")),
            ("time_out", Some("timeout")),
            ("Timeout", Some("timeout")),
            ("maxattempts", Some("max_attempts")),
            ("max_retries", Some("max_attempts")),
            ("contenttype", Some("content_type")),
            ("name", Some("kind")),
            ("priority", None),
            ("x", None),
        ] {
            assert_eq!(meant(key), expected, "{key}");
        }
        assert!(unknown("knd").contains(r#"did you mean `kind = "greet"`?"#));
        assert!(unknown("priority").contains("the keys are kind, timeout"));
    }
}

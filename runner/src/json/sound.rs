//! Whether a text is JSON that means one thing: no key twice, not too deep, no number that would change.

use std::{collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Most arrays and objects within each other.
pub(crate) const DEPTH: usize = 64;

/// Why a text is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsound {
    /// It is not UTF-8.
    #[error("it is not UTF-8 from byte {0} on")]
    NotText(usize),
    /// It is no JSON, too deep, or has a key twice.
    #[error("{0}")]
    NotJson(String),
}

/// The text of bytes that are JSON, at most [`DEPTH`] deep and without a key that stands twice in its
/// object.
pub(crate) fn check(bytes: &[u8]) -> Result<&str, Unsound> {
    let text = str::from_utf8(bytes).map_err(|error| Unsound::NotText(error.valid_up_to()))?;
    let mut json = serde_json::Deserializer::from_str(text);
    Sound(0)
        .deserialize(&mut json)
        .and_then(|()| json.end())
        .map_err(|error| Unsound::NotJson(error.to_string()))?;
    Ok(text)
}

/// The value of bytes that are JSON, when nothing of it is lost in it.
pub(crate) fn exact(bytes: &[u8]) -> Option<Value> {
    let text = check(bytes).ok()?;
    numbers(text).all(is_kept).then_some(())?;
    serde_json::from_str(text).ok()
}

/// The numbers of a text that is JSON.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    let outside = move |c: char| {
        let is_part = !quoted && (c.is_ascii_digit() || "+-.eE".contains(c));
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        !is_part
    };
    let parts = text.split(outside);
    // Of `true` and `false` the `e` stays.
    parts.filter(|part| part.bytes().any(|byte| byte.is_ascii_digit()))
}

fn is_kept(number: &str) -> bool {
    if number.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    }
    let Ok(read) = number.parse::<f64>() else {
        return false;
    };
    // What 64 bits hold is written with as few digits as tell it from all others.
    read.is_finite() && Decimal::of(number) == Decimal::of(&format!("{read:e}"))
}

/// A number as its digits, without zeros around them, and the power of ten of the last one.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    power: i64,
}

impl Decimal {
    fn of(number: &str) -> Self {
        let (mantissa, exponent) = match number.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse().unwrap_or(i64::MAX)),
            None => (number, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{}{part}", whole.trim_start_matches('-'));
        let kept = digits.trim_end_matches('0');
        let dropped = digits.len() - kept.len();
        let digits = kept.trim_start_matches('0').to_owned();
        let power = exponent
            .saturating_sub(part.len() as i64)
            .saturating_add(dropped as i64);
        Self {
            is_negative: whole.starts_with('-'),
            power: if digits.is_empty() { 0 } else { power },
            digits,
        }
    }
}

/// Walks over a value at a depth.
#[derive(Clone, Copy)]
struct Sound(usize);

impl Sound {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.0 == DEPTH {
            return Err(E::custom(format_args!(
                "arrays and objects are more than {DEPTH} deep"
            )));
        }
        Ok(Self(self.0 + 1))
    }
}

impl<'de> DeserializeSeed<'de> for Sound {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sound {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while seq.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(inner)?;
            if let Some(twice) = keys.replace(key) {
                let shown: String = twice.chars().take(64).collect();
                return Err(A::Error::custom(format_args!(
                    "the key {shown:?} stands there twice"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_one_thing_is_taken() {
        for text in [
            "null",
            " [1, -2.5e3, \"a\\\"b\", true] ",
            r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#,
            "18446744073709551616",
        ] {
            assert_eq!(check(text.as_bytes()), Ok(text));
        }
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(check(deep(DEPTH).as_bytes()).is_ok());
        for (text, says) in [
            (r#"{"a":1,"b":2,"\u0061":3}"#, "\"a\" stands there twice"),
            ("{} {}", "trailing"),
            ("", "EOF"),
            ("1e400", "out of range"),
            (&deep(DEPTH + 1), "more than 64 deep"),
            (&"[".repeat(200_000), "more than 64 deep"),
        ] {
            let said = check(text.as_bytes()).unwrap_err().to_string();
            assert!(said.contains(says), "{said}");
        }
        assert_eq!(check(b"\"\xff\""), Err(Unsound::NotText(1)));
    }

    proptest::proptest! {
        #[test]
        fn what_a_program_computes_comes_back(number in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            let text = format!("{number:e}");
            let value = exact(text.as_bytes()).expect("it is kept");
            proptest::prop_assert_eq!(value.as_f64(), Some(number));
        }
    }

    #[test]
    fn a_value_is_given_only_when_it_is_the_same() {
        for text in [
            "18446744073709551615",
            "-9223372036854775808",
            "[0.1,1e300,-0.00,123456789012.345,\"18446744073709551616 \\\" 1\"]",
            // As programs write what they compute.
            "[0.30000000000000004,0.7071067811865476,1796073227.4712389,5e-324,1.7976931348623157E+308]",
            "[100.0,1e2,1E+2,0.0010,-1.50e-3]",
        ] {
            assert!(exact(text.as_bytes()).is_some(), "{text}");
        }
        for text in [
            "18446744073709551616",
            "[-9223372036854775809]",
            r#"{"a":0.1234567890123456789}"#,
            "1e-400",
            "0.10000000000000001",
            "123456789012345678.5",
            r#"{"a":1,"a":2}"#,
        ] {
            assert_eq!(exact(text.as_bytes()), None, "{text}");
        }
    }
}

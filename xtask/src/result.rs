//! A job's result out of the JSON that shows it: JSON as it is, text, or base64.

use serde_json::Value;

/// The result's bytes; none when the job has no result.
pub(crate) fn bytes(job: &Value) -> Result<Vec<u8>, String> {
    if let Some(text) = job["result_base64"].as_str() {
        return base64(text).ok_or_else(|| format!("the result of job {} is no base64", job["id"]));
    }
    match &job["result"] {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(text.clone().into_bytes()),
        json => serde_json::to_vec_pretty(json).map_err(|e| format!("cannot write JSON: {e}")),
    }
}

/// Standard alphabet with padding (RFC 4648, section 4).
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{base64, bytes};
    use serde_json::json;

    #[test]
    fn reads_the_examples_of_the_rfc() {
        let pairs = [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYmFy", "foobar"),
        ];
        for (text, expected) in pairs {
            assert_eq!(base64(text), Some(expected.into()), "{text}");
        }
        assert_eq!(base64("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
        assert_eq!(base64("Zm9v!"), None);
    }

    #[test]
    fn every_form_of_a_result_becomes_bytes() {
        let of = |job| bytes(&job);
        assert_eq!(of(json!({"result_base64": "Zm8="})), Ok(b"fo".to_vec()));
        assert_eq!(of(json!({"result": "<p>"})), Ok(b"<p>".to_vec()));
        assert_eq!(
            of(json!({"result": {"a": 1}})),
            Ok(b"{\n  \"a\": 1\n}".to_vec())
        );
        assert_eq!(of(json!({"state": "completed"})), Ok(Vec::new()));
        assert!(of(json!({"result_base64": "!"})).is_err());
    }
}

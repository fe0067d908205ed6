//! Whether a value fits a schema, and no field is there of which the schema says nothing.

use serde_json::Value;

/// What does not fit, and where.
pub(in crate::web) fn misfit(
    document: &Value,
    schema: &Value,
    value: &Value,
    at: &str,
) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let named = document.pointer(name.trim_start_matches('#'));
        return misfit(document, named.expect(name), value, at);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let misfits: Option<Vec<String>> = any
            .iter()
            .map(|one| misfit(document, one, value, at))
            .collect();
        return misfits.map(|all| all.join("; or "));
    }
    let types = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !types.contains(&is) {
        return Some(format!("{at} is {value}, not {types:?}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return Some(format!("{at} is {value}, none of {words:?}"));
    }
    match value {
        Value::Array(items) => items.iter().enumerate().find_map(|(number, item)| {
            misfit(document, &schema["items"], item, &format!("{at}[{number}]"))
        }),
        Value::Object(fields) => {
            let must = schema["required"].as_array().into_iter().flatten();
            let mut missing = must
                .filter_map(Value::as_str)
                .filter(|name| !fields.contains_key(*name));
            if let Some(name) = missing.next() {
                return Some(format!("{at} has no {name}"));
            }
            fields.iter().find_map(|(name, field)| {
                let at = format!("{at}.{name}");
                match schema["properties"].get(name) {
                    Some(schema) => misfit(document, schema, field, &at),
                    None => Some(format!("{at} is not in the schema")),
                }
            })
        }
        _ => None,
    }
}

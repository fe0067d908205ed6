//! Words to write schemas with.

use serde_json::{Map, Value, json};

/// The schema of this name.
pub(super) fn name(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// An object of an answer: all of these fields are there, and later versions may have more.
pub(super) fn object(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let properties: Map<String, Value> = fields
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

/// The same object, without these fields having to be there.
pub(super) fn without(mut object: Value, fields: &[&str]) -> Value {
    if let Some(required) = object["required"].as_array_mut() {
        required.retain(|name| !fields.iter().any(|field| name == field));
    }
    object
}

/// An object of a request: these fields and no others, of which some must be there.
pub(super) fn closed(
    must: &[&str],
    fields: impl IntoIterator<Item = (&'static str, Value)>,
) -> Value {
    let mut object = object(fields);
    object["required"] = json!(must);
    object["additionalProperties"] = false.into();
    object
}

pub(super) fn text(says: &str) -> Value {
    json!({ "type": "string", "description": says })
}

/// A text of so many characters at most.
pub(super) fn bounded(most: usize, says: &str) -> Value {
    json!({ "type": "string", "maxLength": most, "description": says })
}

/// A name of a kind or queue.
pub(super) fn kind_or_queue(says: &str) -> Value {
    let mut schema = super::super::form::Form::Name.schema();
    schema["description"] = says.into();
    schema
}

pub(super) fn count(says: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": says })
}

pub(super) fn range(least: i64, most: i64, says: &str) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most, "description": says })
}

pub(super) fn flag(says: &str) -> Value {
    json!({ "type": "boolean", "description": says })
}

pub(super) fn instant(says: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": says })
}

pub(super) fn id(says: &str) -> Value {
    json!({ "type": "string", "description": says })
}

/// A span such as `1m 30s`.
pub(super) fn span(says: &str) -> Value {
    let mut schema = super::super::form::pattern(&crate::json::when::span_pattern());
    schema["description"] = says.into();
    schema
}

pub(super) fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

pub(super) fn one_of(words: &[&str], says: &str) -> Value {
    json!({ "type": "string", "enum": words, "description": says })
}

/// Any JSON.
pub(super) fn any(says: &str) -> Value {
    json!({ "description": says })
}

/// The same, or null.
pub(super) fn or_null(mut schema: Value) -> Value {
    // Programs that make types of schemas make one of words that have a place of their own.
    if schema.get("$ref").is_some() || schema.get("enum").is_some() {
        return json!({ "anyOf": [schema, { "type": "null" }] });
    }
    if let Some(of) = schema["type"].as_str().map(str::to_owned) {
        schema["type"] = json!([of, "null"]);
    }
    schema
}

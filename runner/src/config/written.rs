//! A value as a settings file has it, held against the form that its key takes.

use toml::{Spanned, de::DeValue};

use super::value::{Form, Value};

/// The value, or what is wrong with it.
pub(super) fn checked(form: Form, value: &DeValue<'_>) -> Result<Value, String> {
    match value {
        DeValue::String(text) => form.text(text),
        DeValue::Integer(number) => {
            let parsed = i128::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| format!("is {}, out of range", number.as_str()))?;
            form.number(parsed)
        }
        DeValue::Table(table) if matches!(form, Form::Pairs) => table
            .iter()
            .map(|(key, value)| match value.get_ref().as_str() {
                Some(text) => Ok((key.get_ref().to_string(), text.to_string())),
                None => Err(format!(
                    "has the {} `{}`, not a string",
                    value.get_ref().type_str(),
                    key.get_ref()
                )),
            })
            .collect::<Result<_, _>>()
            .map(Value::Pairs),
        DeValue::Boolean(flag) if matches!(form, Form::Flag) => Ok(Value::Flag(*flag)),
        DeValue::Array(items) => {
            let Form::List(item) = form else {
                return Err("is a list".into());
            };
            let each = |value: &Spanned<DeValue<'_>>| match value.get_ref().as_str() {
                Some(text) => match item.check(text) {
                    Ok(()) => Ok(text.to_string()),
                    Err(why) => Err(format!("has an entry that does not fit ({why})")),
                },
                None => {
                    let what = value.get_ref().type_str();
                    let a = if what.starts_with(['a', 'i']) {
                        "an"
                    } else {
                        "a"
                    };
                    Err(format!("has {a} {what} in it"))
                }
            };
            let list: Vec<String> = items.iter().map(each).collect::<Result<_, _>>()?;
            let is_again = |(place, one): &(usize, &String)| list[..*place].contains(one);
            match list.iter().enumerate().find(is_again) {
                Some((_, again)) => Err(format!("has {again:?} twice")),
                None => Ok(Value::List(list)),
            }
        }
        other => Err(format!("is of type {}", other.type_str())),
    }
}

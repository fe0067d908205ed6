//! The keys of `#[job(..)]`.

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};
use syn::{Ident, LitInt, LitStr, Token};

use crate::{backoff, duration};

/// What the author proposed for the kind; `None` where nothing was said.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) kind: Option<LitStr>,
    pub(crate) queue: Option<LitStr>,
    pub(crate) content_type: Option<LitStr>,
    pub(crate) backoff: Option<LitStr>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) trap_attempts: Option<u32>,
}

const KEYS: &str = "kind, timeout, max_attempts, trap_attempts, backoff, queue, content_type";

impl Attributes {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let parse = |input: ParseStream<'_>| {
            let mut attributes = Self::default();
            let mut seen: Vec<Ident> = Vec::new();
            while !input.is_empty() {
                let key: Ident = input.parse()?;
                if seen.contains(&key) {
                    return Err(syn::Error::new(
                        key.span(),
                        format!("`{key}` is given twice"),
                    ));
                }
                input.parse::<Token![=]>()?;
                attributes.set(&key, input)?;
                seen.push(key);
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(attributes)
        };
        parse.parse2(tokens)
    }

    fn set(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "kind" => self.kind = Some(name(input)?),
            "queue" => self.queue = Some(name(input)?),
            "content_type" => self.content_type = Some(media_type(input)?),
            "timeout" => {
                let text: LitStr = input.parse()?;
                let length = duration::milliseconds(&text.value());
                self.timeout_ms = Some(length.map_err(|why| syn::Error::new(text.span(), why))?);
            }
            "backoff" => {
                let text: LitStr = input.parse()?;
                backoff::check(&text.value()).map_err(|why| syn::Error::new(text.span(), why))?;
                self.backoff = Some(text);
            }
            "max_attempts" => self.max_attempts = Some(count(input)?),
            "trap_attempts" => self.trap_attempts = Some(count(input)?),
            _ => {
                let message = format!("unknown key `{key}`: the keys are {KEYS}");
                return Err(syn::Error::new(key.span(), message));
            }
        }
        Ok(())
    }
}

/// A kind or a queue: 1 to 128 bytes of what needs no quoting in a shell, a path or a metric.
fn name(input: ParseStream<'_>) -> syn::Result<LitStr> {
    let text: LitStr = input.parse()?;
    let value = text.value();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if value.is_empty() || value.len() > 128 || !value.chars().all(plain) {
        let message = "a name has 1 to 128 letters, digits, `-`, `_`, `.` or `:`";
        return Err(syn::Error::new(text.span(), message));
    }
    Ok(text)
}

fn media_type(input: ParseStream<'_>) -> syn::Result<LitStr> {
    let text: LitStr = input.parse()?;
    let value = text.value();
    let halves = value.split_once('/');
    if halves.is_none_or(|(left, right)| left.is_empty() || right.is_empty()) {
        let message = format!("`{value}` is no media type such as `image/png`");
        return Err(syn::Error::new(text.span(), message));
    }
    Ok(text)
}

fn count(input: ParseStream<'_>) -> syn::Result<u32> {
    let literal: LitInt = input.parse()?;
    match literal.base10_parse::<u32>() {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(syn::Error::new(
            literal.span(),
            "a whole number from 1 to 4294967295 is needed",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::Attributes;
    use quote::quote;

    #[test]
    fn keeps_every_key() {
        let all = Attributes::parse(quote!(
            kind = "a.b",
            timeout = "30s",
            max_attempts = 5,
            trap_attempts = 2,
            backoff = "fixed 1s",
            queue = "images",
            content_type = "image/png",
        ))
        .unwrap();
        assert_eq!(all.kind.unwrap().value(), "a.b");
        assert_eq!(all.queue.unwrap().value(), "images");
        assert_eq!(all.content_type.unwrap().value(), "image/png");
        assert_eq!(all.backoff.unwrap().value(), "fixed 1s");
        assert_eq!((all.timeout_ms, all.max_attempts), (Some(30_000), Some(5)));
        assert_eq!(all.trap_attempts, Some(2));
    }

    #[test]
    fn says_what_it_refuses() {
        for (tokens, part) in [
            (quote!(knd = "a"), "unknown key `knd`"),
            (quote!(kind = "a", kind = "b"), "twice"),
            (quote!(kind = ""), "1 to 128"),
            (quote!(queue = "a b"), "1 to 128"),
            (quote!(timeout = "soon"), "no duration"),
            (quote!(max_attempts = 0), "from 1"),
            (quote!(max_attempts = 5000000000), "from 1"),
            (quote!(backoff = "sometimes"), "no backoff"),
            (quote!(content_type = "png"), "media type"),
            (quote!(kind = 5), "string literal"),
        ] {
            let text = tokens.to_string();
            let error = Attributes::parse(tokens).err().map(|e| e.to_string());
            assert!(
                error.as_ref().is_some_and(|e| e.contains(part)),
                "{text}: {error:?}"
            );
        }
    }
}

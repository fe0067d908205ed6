//! The keys of `#[job(..)]`.

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Token};

use crate::{backoff, duration, keys, name};

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

impl Attributes {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let parse = |input: ParseStream<'_>| {
            let mut attributes = Self::default();
            let mut seen: Vec<Ident> = Vec::new();
            while !input.is_empty() {
                let key = key(input)?;
                if seen.contains(&key) {
                    let message = format!("`{key}` is given twice: take one of them out");
                    return Err(Error::new(key.span(), message));
                }
                attributes.set(&key, input)?;
                seen.push(key);
                if !input.is_empty() {
                    comma(input)?;
                }
            }
            Ok(attributes)
        };
        parse.parse2(tokens)
    }

    fn set(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "kind" => self.kind = Some(checked(key, input, name::check)?),
            "queue" => self.queue = Some(checked(key, input, name::check)?),
            "content_type" => self.content_type = Some(checked(key, input, media_type)?),
            "backoff" => self.backoff = Some(checked(key, input, backoff::check)?),
            "timeout" => {
                let text = text(key, input)?;
                let length = duration::milliseconds(&text.value());
                self.timeout_ms = Some(length.map_err(|why| Error::new(text.span(), why))?);
            }
            "max_attempts" => self.max_attempts = Some(count(key, input)?),
            _ => self.trap_attempts = Some(count(key, input)?),
        }
        Ok(())
    }
}

/// A known key and the `=` behind it.
fn key(input: ParseStream<'_>) -> syn::Result<Ident> {
    if input.peek(LitStr) {
        let text: LitStr = input.parse()?;
        let message = format!("a value needs its key: write `kind = {:?}`", text.value());
        return Err(Error::new(text.span(), message));
    }
    let key: Ident = input.parse()?;
    let Some(sample) = keys::sample(&key.to_string()) else {
        return Err(Error::new(key.span(), keys::unknown(&key.to_string())));
    };
    if !input.peek(Token![=]) || input.peek(Token![==]) {
        let message = format!("`{key}` needs a value: write `{sample}`");
        return Err(Error::new(key.span(), message));
    }
    input.parse::<Token![=]>()?;
    Ok(key)
}

fn comma(input: ParseStream<'_>) -> syn::Result<()> {
    if input.peek(Token![,]) {
        return input.parse::<Token![,]>().map(drop);
    }
    Err(input.error("put a `,` between this and what is before it"))
}

/// What stands behind a key.
fn value(key: &Ident, input: ParseStream<'_>) -> syn::Result<Expr> {
    if input.is_empty() || input.peek(Token![,]) {
        let message = format!("`{key}` needs a value: write `{}`", sample(key));
        return Err(Error::new(key.span(), message));
    }
    input.parse()
}

fn sample(key: &Ident) -> &'static str {
    keys::sample(&key.to_string()).unwrap_or_default()
}

fn text(key: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    match value(key, input)? {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Ok(text),
        other => {
            let message = format!("`{key}` is a text in quotes: write `{}`", sample(key));
            Err(Error::new_spanned(other, message))
        }
    }
}

fn checked(
    key: &Ident,
    input: ParseStream<'_>,
    check: impl Fn(&str) -> Result<(), String>,
) -> syn::Result<LitStr> {
    let text = text(key, input)?;
    check(&text.value()).map_err(|why| Error::new(text.span(), why))?;
    Ok(text)
}

fn media_type(value: &str) -> Result<(), String> {
    match value.split_once('/') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() => Ok(()),
        _ => Err(format!(
            "`{value}` is no media type: write two words with a `/`, such as `image/png`"
        )),
    }
}

fn count(key: &Ident, input: ParseStream<'_>) -> syn::Result<u32> {
    let value = value(key, input)?;
    let literal = match &value {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    };
    let sample = sample(key);
    let message = match literal {
        Some(Lit::Int(number)) => match number.base10_parse::<u32>() {
            Ok(0) => {
                format!("with no attempt the job would never run: write 1 or more, `{sample}`")
            }
            Ok(count) => return Ok(count),
            Err(_) => format!("`{key}` is a whole number from 1 to 4294967295: write `{sample}`"),
        },
        Some(Lit::Str(_)) => format!("`{key}` is a number without quotes: write `{sample}`"),
        _ => format!("`{key}` is a whole number from 1 to 4294967295: write `{sample}`"),
    };
    Err(Error::new_spanned(value, message))
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
    fn says_what_it_refuses_and_how_it_is_written() {
        for (tokens, part) in [
            (quote!(knd = "a"), "unknown key `knd`: did you mean `kind"),
            (quote!(kind = "a", kind = "b"), "twice: take one"),
            (quote!("greet"), "write `kind = \"greet\"`"),
            (quote!(kind), "needs a value: write `kind = \"greet\"`"),
            (quote!(kind = ), "needs a value"),
            (quote!(kind =, queue = "a"), "needs a value"),
            (quote!(kind("a")), "write `kind = \"greet\"`"),
            (quote!(kind = "a" queue = "b"), "put a `,` between"),
            (quote!(kind = ""), "is empty"),
            (quote!(queue = "a b"), "a space in it"),
            (quote!(kind = KIND), "in quotes: write"),
            (quote!(timeout = "soon"), "no duration"),
            (quote!(timeout = 30), "write `timeout = \"30s\"`"),
            (quote!(max_attempts = 0), "never run: write 1 or more"),
            (quote!(max_attempts = -1), "from 1"),
            (quote!(max_attempts = "5"), "without quotes"),
            (quote!(max_attempts = 5000000000), "from 1"),
            (quote!(backoff = "sometimes"), "no backoff"),
            (quote!(content_type = "png"), "such as `image/png`"),
            (quote!(kind = 5), "in quotes"),
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

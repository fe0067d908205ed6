//! `export!`: the handlers of a crate as one component.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, LitStr, Path, Token, token};

/// What `export!` names.
struct Export {
    handlers: Vec<Path>,
    grants: Option<Expr>,
}

pub(crate) fn export(tokens: TokenStream) -> syn::Result<TokenStream> {
    let Export { handlers, grants } = parse.parse2(tokens)?;
    let grants = grants.map_or_else(|| quote!(""), |grants| quote!(#grants));
    let mut entries = Vec::new();
    let mut checks = Vec::new();
    let mut found = Vec::new();
    for (at, handler) in handlers.iter().enumerate() {
        // Each with the span of its own, so that what is wrong with it is told where it is named.
        let span = handler.span();
        let name = format_ident!("handler_{at}");
        found.push(find(&name, handler));
        entries.push(quote!(#name::ENTRY));
        checks.push(quote_spanned! {span=>
            const _: () = ::sandhog_sdk::__private::assert_new(HANDLERS, #at);
        });
    }
    let once = Ident::new("export_is_called_once_with_all_handlers", Span::call_site());
    let guest = guest();
    Ok(quote! {
        // A second one is refused by this name.
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        enum #once {}

        const _: () = {
            #(#found)*
            const HANDLERS: &[::sandhog_sdk::__private::Entry] = &[#(#entries),*];
            #(#checks)*
            #[allow(dead_code)]
            const GRANTS: &str = #grants;
            #guest
        };
    })
}

/// The type that the attribute puts beside a handler, as `found` in a module of this name. A function without the
/// attribute has none: then the one of the glob takes its place, which is no handler and says so.
fn find(module: &Ident, handler: &Path) -> TokenStream {
    let span = handler.span();
    let first = handler.segments.first();
    let first = first.filter(|_| handler.leading_colon.is_none());
    let from = first.and_then(|first| match handler.segments.len() {
        // One module further down.
        _ if first.ident == "super" => Some(quote!(super::)),
        // A crate may have the same name, and is none.
        1 => Some(quote!(self::)),
        _ => None,
    });
    quote_spanned! {span=>
        #[allow(unused_imports, non_camel_case_types, dead_code, clippy::wildcard_imports)]
        mod #module {
            use super::*;
            use instead::*;
            use #from #handler as found;
            mod instead {
                pub(super) struct found {}
            }
            pub(super) const ENTRY: ::sandhog_sdk::__private::Entry =
                <found as ::sandhog_sdk::__private::Handler>::ENTRY;
        }
    }
}

/// What the host calls.
fn guest() -> TokenStream {
    quote! {
        #[cfg(target_family = "wasm")]
        struct Component;

        #[cfg(target_family = "wasm")]
        impl ::sandhog_sdk::bindings::exports::sandhog::job::handler::Guest for Component {
            fn describe(
                _host_info: ::std::string::String,
            ) -> ::core::result::Result<::std::string::String, ::std::string::String> {
                ::core::result::Result::Ok(::sandhog_sdk::__private::describe(HANDLERS, GRANTS))
            }

            fn handle(
                job: ::sandhog_sdk::bindings::exports::sandhog::job::handler::Job,
            ) -> ::core::result::Result<
                ::sandhog_sdk::bindings::exports::sandhog::job::handler::Output,
                ::sandhog_sdk::bindings::exports::sandhog::job::handler::JobError,
            > {
                ::sandhog_sdk::__private::handle(HANDLERS, job)
            }
        }

        #[cfg(target_family = "wasm")]
        ::sandhog_sdk::bindings::export_handler!(Component);
    }
}

fn parse(input: ParseStream<'_>) -> syn::Result<Export> {
    let mut handlers = Vec::new();
    while !input.is_empty() && !input.peek(Token![;]) {
        handlers.push(handler(input)?);
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
        } else if !input.is_empty() && !input.peek(Token![;]) {
            return Err(
                input.error("put a `,` between the handlers: `export!(greet, pages::render);`")
            );
        }
    }
    if handlers.is_empty() {
        return Err(input.error("name the functions with `#[sandhog_sdk::job]`: `export!(greet);`"));
    }
    if input.is_empty() {
        return Ok(Export {
            handlers,
            grants: None,
        });
    }
    input.parse::<Token![;]>()?;
    let grants = Some(grants(input)?);
    Ok(Export { handlers, grants })
}

fn handler(input: ParseStream<'_>) -> syn::Result<Path> {
    if input.peek(LitStr) {
        let text: LitStr = input.parse()?;
        let message = format!(
            "name the function without quotes: `export!({});`",
            text.value()
        );
        return Err(Error::new(text.span(), message));
    }
    let path = input.call(Path::parse_mod_style).map_err(|error| {
        Error::new(
            error.span(),
            "name a function with `#[sandhog_sdk::job]`, by its path: `export!(greet);`",
        )
    })?;
    if input.peek(token::Paren) {
        return Err(Error::new_spanned(
            path,
            "name the function, do not call it: take the `()` away",
        ));
    }
    Ok(path)
}

fn grants(input: ParseStream<'_>) -> syn::Result<Expr> {
    const SAMPLE: &str = "behind the handlers stands what they wish to be granted: \
                          `export!(hook; grants = include_str!(\"../grants.toml\"));`";
    let key: Option<Ident> = input.parse()?;
    match key {
        Some(key) if key == "grants" => {}
        Some(other) => return Err(Error::new(other.span(), SAMPLE)),
        None => return Err(input.error(SAMPLE)),
    }
    input
        .parse::<Token![=]>()
        .map_err(|error| Error::new(error.span(), SAMPLE))?;
    let grants: Expr = input
        .parse()
        .map_err(|error| Error::new(error.span(), SAMPLE))?;
    if !input.is_empty() {
        return Err(input.error(SAMPLE));
    }
    Ok(grants)
}

#[cfg(test)]
mod tests {
    use super::export;
    use quote::quote;

    #[test]
    fn handlers_and_grants_are_taken() {
        let out = export(quote!(greet, pages::render,)).unwrap().to_string();
        assert!(
            out.contains("use self :: greet as found")
                && out.contains("use pages :: render as found"),
            "{out}"
        );
        assert!(out.contains("GRANTS : & str = \"\""), "{out}");
        let out = export(quote!(a; grants = include_str!("g")))
            .unwrap()
            .to_string();
        assert!(
            out.contains("GRANTS : & str = include_str ! (\"g\")"),
            "{out}"
        );
    }

    #[test]
    fn what_is_written_wrong_is_told_with_what_to_write() {
        for (tokens, part) in [
            (quote!(), "name the functions"),
            (quote!(; grants = ""), "name the functions"),
            (quote!("greet"), "without quotes: `export!(greet);`"),
            (quote!(greet()), "take the `()` away"),
            (quote!(greet part), "put a `,` between"),
            (quote!(5), "name a function with"),
            (quote!(a;), "behind the handlers"),
            (quote!(a; grant = ""), "behind the handlers"),
            (quote!(a; grants), "behind the handlers"),
            (quote!(a; grants = ), "behind the handlers"),
            (quote!(a; grants = "" ""), "behind the handlers"),
        ] {
            let text = tokens.to_string();
            let why = export(tokens).unwrap_err().to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}

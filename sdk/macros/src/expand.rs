//! From the attribute and the function to the tokens that stand in its place.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Ident, Item, ItemFn, Lit, LitStr, Meta};

use crate::attributes::Attributes;
use crate::name;
use crate::signature::{Returned, Signature, argument};

pub(crate) fn job(attributes: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let function = function(item)?;
    let attributes = Attributes::parse(attributes)?;
    let signature = Signature::of(&function)?;
    let kind = kind(&attributes, &function)?;
    let run = run(&function, &signature);
    let (name, visibility) = (&function.sig.ident, &function.vis);
    // Braces, not `;`: a unit struct would also take the function's name as a value.
    Ok(quote! {
        #function

        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_docs, unreachable_pub)]
        #visibility struct #name {}

        impl ::sandhog_sdk::__private::Handler for #name {
            const KIND: ::sandhog_sdk::__private::Kind = #kind;
            #run
        }
    })
}

/// The error in place of a handler. The function stays and can be named in `export!`, so that one
/// mistake is one error.
pub(crate) fn refused(error: &syn::Error, item: TokenStream) -> TokenStream {
    let error = error.to_compile_error();
    let Ok(function) = syn::parse2::<ItemFn>(item.clone()) else {
        return quote!(#error #item);
    };
    if function.sig.receiver().is_some() {
        return quote!(#error #item);
    }
    let (name, visibility) = (&function.sig.ident, &function.vis);
    let text = name.to_string();
    quote! {
        #error
        #item

        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_docs, unreachable_pub, dead_code)]
        #visibility struct #name {}

        impl ::sandhog_sdk::__private::Handler for #name {
            const KIND: ::sandhog_sdk::__private::Kind = ::sandhog_sdk::__private::Kind::named(#text);

            fn run(
                _: ::sandhog_sdk::Bytes,
                _: &::sandhog_sdk::Context,
            ) -> ::core::result::Result<::sandhog_sdk::Bytes, ::sandhog_sdk::Error> {
                loop {}
            }
        }
    }
}

/// What the attribute stands on, when it is a function.
fn function(item: TokenStream) -> syn::Result<ItemFn> {
    const SAMPLE: &str = "put it on a function such as `fn greet(guest: Guest, ctx: &Context) -> \
                          Result<Greeting, Error> { .. }`";
    match syn::parse2(item.clone())? {
        Item::Fn(function) => Ok(function),
        // What is no item of a module, such as a trait's function without a body.
        Item::Verbatim(_) => syn::parse2(item),
        Item::Impl(block) => Err(syn::Error::new_spanned(
            block.impl_token,
            format!("`#[job]` does not go on an `impl`: {SAMPLE}"),
        )),
        other => Err(syn::Error::new_spanned(
            other,
            format!("`#[job]` goes on a function alone: {SAMPLE}"),
        )),
    }
}

fn kind(attributes: &Attributes, function: &ItemFn) -> syn::Result<TokenStream> {
    let name = match &attributes.kind {
        Some(kind) => kind.clone(),
        None => of_the_function(&function.sig.ident)?,
    };
    let summary = option(summary(function));
    let timeout_ms = option(attributes.timeout_ms);
    let max_attempts = option(attributes.max_attempts);
    let trap_attempts = option(attributes.trap_attempts);
    let backoff = option(attributes.backoff.as_ref());
    let queue = option(attributes.queue.as_ref());
    let content_type = option(attributes.content_type.as_ref());
    Ok(quote! {
        ::sandhog_sdk::__private::Kind {
            kind: #name,
            summary: #summary,
            timeout_ms: #timeout_ms,
            max_attempts: #max_attempts,
            trap_attempts: #trap_attempts,
            backoff: #backoff,
            queue: #queue,
            content_type: #content_type,
        }
    })
}

/// The kind of a function whose attribute names none.
fn of_the_function(ident: &Ident) -> syn::Result<LitStr> {
    let text = ident.to_string();
    let text = text.trim_start_matches("r#");
    name::check(text).map_err(|why| {
        let message =
            format!("the function's name cannot be the kind as well ({why}): say `kind = \"..\"`");
        syn::Error::new_spanned(ident, message)
    })?;
    Ok(LitStr::new(text, ident.span()))
}

fn option(value: Option<impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

fn run(function: &ItemFn, signature: &Signature) -> TokenStream {
    let name = &function.sig.ident;
    let payload = format_ident!("payload");
    let context = format_ident!("context");
    let mut arguments = Vec::new();
    if let Some(input) = &signature.input {
        // The input's span, so that a type that cannot be read is reported where it is written.
        arguments.push(quote_spanned! {input.span()=>
            <#input as ::sandhog_sdk::__private::Input>::read(#payload)?
        });
    }
    if signature.context {
        arguments.push(quote!(#context));
    }
    let call = quote!(#name(#(#arguments),*));
    // Names with the spans of the types they hold, so that a type that will not do is reported where
    // it is written.
    let output = Ident::new("output", output_span(function, signature));
    let call = match &signature.output {
        Returned::Value(_) => call,
        Returned::Result(result) => {
            let span = argument(result, 1).map_or(result.span(), Spanned::span);
            let error = Ident::new("error", span);
            let failed = quote_spanned! {span=>
                ::sandhog_sdk::__private::Failure::into_error(#error)
            };
            quote! {
                match #call {
                    ::core::result::Result::Ok(#output) => #output,
                    ::core::result::Result::Err(#error) => {
                        return ::core::result::Result::Err(#failed)
                    }
                }
            }
        }
    };
    let write = quote_spanned! {output.span()=> ::sandhog_sdk::__private::write(#output) };
    quote! {
        #[allow(unused_variables, clippy::let_unit_value, clippy::useless_conversion)]
        fn run(
            #payload: ::sandhog_sdk::Bytes,
            #context: &::sandhog_sdk::Context,
        ) -> ::core::result::Result<::sandhog_sdk::Bytes, ::sandhog_sdk::Error> {
            let #output = #call;
            #write
        }
    }
}

/// Where the type of the result is written, or else the function's name.
fn output_span(function: &ItemFn, signature: &Signature) -> Span {
    match &signature.output {
        Returned::Value(None) => function.sig.ident.span(),
        Returned::Value(Some(value)) => value.span(),
        Returned::Result(result) => argument(result, 0).map_or(result.span(), Spanned::span),
    }
}

/// The first line of the doc comment that says anything.
fn summary(function: &ItemFn) -> Option<String> {
    function.attrs.iter().find_map(|attribute| {
        let Meta::NameValue(meta) = &attribute.meta else {
            return None;
        };
        if !meta.path.is_ident("doc") {
            return None;
        }
        let Expr::Lit(literal) = &meta.value else {
            return None;
        };
        let Lit::Str(text) = &literal.lit else {
            return None;
        };
        let text = text.value();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::{job, refused, summary};
    use quote::quote;

    #[test]
    fn the_function_stays_and_a_braced_type_joins_it() {
        let function = quote! { pub(crate) fn shrink(a: A, c: &Context) -> Result<B, E> { a.b() } };
        let out = job(quote!(kind = "thumb"), function).unwrap().to_string();
        assert!(
            out.contains("pub (crate) fn shrink (a : A , c : & Context)"),
            "{out}"
        );
        assert!(out.contains("pub (crate) struct shrink { }"), "{out}");
        assert!(out.contains("kind : \"thumb\""), "{out}");
    }

    #[test]
    fn the_kind_defaults_to_the_name() {
        let out = job(quote!(), quote! { fn r#loop() {} })
            .unwrap()
            .to_string();
        assert!(out.contains("kind : \"loop\""), "{out}");
        let odd = job(quote!(), quote! { fn größe() {} }).unwrap_err();
        assert!(odd.to_string().contains("say `kind = "), "{odd}");
    }

    #[test]
    fn what_is_no_function_is_told_where_the_attribute_goes() {
        for item in [
            quote! { struct A; },
            quote! { impl A { fn f() {} } },
            quote! { mod a {} },
            quote! { const A: u8 = 1; },
        ] {
            let why = job(quote!(), item).unwrap_err().to_string();
            assert!(why.contains("a function such as `fn greet("), "{why}");
        }
    }

    #[test]
    fn one_mistake_is_one_error() {
        let refusal = |item: proc_macro2::TokenStream| {
            let error = job(quote!(knd = "a"), item.clone()).unwrap_err();
            refused(&error, item).to_string()
        };
        let out = refusal(quote! { fn f() {} });
        assert!(out.contains("compile_error"), "{out}");
        assert!(
            out.contains("fn f ()") && out.contains("struct f { }"),
            "{out}"
        );
        // No type can stand in an `impl`.
        let out = refusal(quote! { fn f(&self) {} });
        assert!(
            out.contains("fn f (& self)") && !out.contains("struct"),
            "{out}"
        );
    }

    #[test]
    fn the_summary_is_the_first_written_line() {
        let function = syn::parse_quote! {
            #[inline]
            ///
            /// Makes it small.
            /// And more.
            fn f() {}
        };
        assert_eq!(summary(&function).as_deref(), Some("Makes it small."));
        assert_eq!(summary(&syn::parse_quote! { fn f() {} }), None);
    }
}

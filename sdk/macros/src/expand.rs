//! From the attribute and the function to the tokens that stand in its place.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ItemFn, Lit, LitStr, Meta, ReturnType};

use crate::attributes::Attributes;
use crate::signature::Signature;

pub(crate) fn job(attributes: TokenStream, function: TokenStream) -> syn::Result<TokenStream> {
    let attributes = Attributes::parse(attributes)?;
    let function: ItemFn = syn::parse2(function)?;
    let signature = Signature::of(&function)?;
    let kind = kind(&attributes, &function);
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

fn kind(attributes: &Attributes, function: &ItemFn) -> TokenStream {
    let name = attributes.kind.clone().unwrap_or_else(|| {
        let ident = &function.sig.ident;
        LitStr::new(ident.to_string().trim_start_matches("r#"), ident.span())
    });
    let summary = option(summary(function));
    let timeout_ms = option(attributes.timeout_ms);
    let max_attempts = option(attributes.max_attempts);
    let trap_attempts = option(attributes.trap_attempts);
    let backoff = option(attributes.backoff.as_ref());
    let queue = option(attributes.queue.as_ref());
    let content_type = option(attributes.content_type.as_ref());
    quote! {
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
    }
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
    let output_span = match &function.sig.output {
        ReturnType::Default => name.span(),
        ReturnType::Type(_, returned) => returned.span(),
    };
    let call = quote!(#name(#(#arguments),*));
    let call = if signature.fallible {
        quote_spanned! {output_span=> #call? }
    } else {
        call
    };
    quote! {
        #[allow(unused_variables, clippy::let_unit_value, clippy::useless_conversion)]
        fn run(
            #payload: ::sandhog_sdk::Bytes,
            #context: &::sandhog_sdk::Context,
        ) -> ::core::result::Result<::sandhog_sdk::Bytes, ::sandhog_sdk::Error> {
            let output = #call;
            ::sandhog_sdk::__private::write(output)
        }
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
    use super::{job, summary};
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

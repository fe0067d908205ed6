//! How the handler function is called: which arguments it takes and what it returns.

use quote::ToTokens;
use syn::{
    Error, FnArg, GenericArgument, ItemFn, PathArguments, PathSegment, ReturnType, Type,
    TypeReference,
};

/// The shape of a handler function.
pub(crate) struct Signature {
    /// The input's type, when the function takes one.
    pub(crate) input: Option<Type>,
    /// Whether it takes `&Context`, always last.
    pub(crate) context: bool,
    /// What it gives back.
    pub(crate) output: Returned,
}

/// What a function gives back.
pub(crate) enum Returned {
    /// A value, always; nothing is written when there is none.
    Value(Option<Type>),
    /// A `Result`, with the types that are written in it.
    Result(PathSegment),
}

impl Signature {
    pub(crate) fn of(function: &ItemFn) -> syn::Result<Self> {
        plain(function)?;
        let mut types = Vec::new();
        for argument in &function.sig.inputs {
            match argument {
                FnArg::Typed(typed) => types.push((*typed.ty).clone()),
                FnArg::Receiver(this) => {
                    let message = "a handler has no `self`: move it out of the `impl`, and take \
                                   what it needs as its input";
                    return Err(Error::new_spanned(this, message));
                }
            }
        }
        if let Some(third) = types.get(2) {
            let message = "a handler takes an input and `&Context`, no more: put what belongs to \
                           the payload into one struct, and ask `Context::config` for settings";
            return Err(Error::new_spanned(third, message));
        }
        let context = match types.last() {
            Some(last) => is_context(last, types.len() == 2)?,
            None => false,
        };
        if context {
            types.pop();
        }
        if let Some(input) = types.first() {
            by_value(input)?;
        }
        if let Some(second) = types.get(1) {
            let message = "the second argument is `&Context`: put several inputs into one struct \
                           with `#[derive(Deserialize)]`";
            return Err(Error::new_spanned(second, message));
        }
        Ok(Self {
            input: types.pop(),
            context,
            output: returned(&function.sig.output),
        })
    }
}

/// Refuses what the macro's function could not call.
fn plain(function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    refuse(
        signature.asyncness.as_ref(),
        "a handler is no `async fn`: take `async` away; it runs alone in its sandbox, so it may wait",
    )?;
    refuse(
        signature.unsafety.as_ref(),
        "a handler is no `unsafe fn`: take `unsafe` away",
    )?;
    refuse(
        signature.abi.as_ref(),
        "a handler has no ABI of its own: take `extern` away, `export!` makes what the host calls",
    )?;
    let generics = &signature.generics;
    refuse(
        Some(generics).filter(|generics| !generics.params.is_empty()),
        "a handler is not generic: take the parameters away and name the types of its input and output",
    )
}

fn refuse(tokens: Option<&impl ToTokens>, message: &str) -> syn::Result<()> {
    tokens.map_or(Ok(()), |found| Err(Error::new_spanned(found, message)))
}

/// Whether the last argument is `&Context`.
fn is_context(last: &Type, is_second: bool) -> syn::Result<bool> {
    match last {
        Type::Reference(TypeReference {
            mutability: Some(mutable),
            elem,
            ..
        }) if is_second || is_called_context(elem) => Err(Error::new_spanned(
            mutable,
            "the context is taken as `&Context`: take `mut` away",
        )),
        Type::Reference(TypeReference { elem, .. }) => Ok(is_second || is_called_context(elem)),
        owned if is_the_context(owned) => Err(Error::new_spanned(
            owned,
            "the context is only lent: write `&Context`",
        )),
        _ => Ok(false),
    }
}

/// `Context` by whatever path.
fn is_called_context(one: &Type) -> bool {
    let Type::Path(path) = one else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|segment| segment.ident == "Context")
}

/// `Context`, or `sandhog_sdk::Context`: a type of that name from elsewhere may be an input.
fn is_the_context(one: &Type) -> bool {
    let Type::Path(path) = one else { return false };
    let first = path.path.segments.first();
    let of_the_sdk = first.is_some_and(|segment| segment.ident == "sandhog_sdk");
    is_called_context(one) && (of_the_sdk || path.path.segments.len() == 1)
}

fn by_value(input: &Type) -> syn::Result<()> {
    match input {
        Type::Reference(reference) if is_called_context(&reference.elem) => {
            let message = "the context comes last: write the input first, then `&Context`";
            Err(Error::new_spanned(reference, message))
        }
        Type::Reference(reference) => {
            let message = "the input is taken by value, without `&`: use `String`, `Bytes` or a \
                           type of your own";
            Err(Error::new_spanned(reference, message))
        }
        Type::ImplTrait(open) => {
            let message = "the input's type has to be known: name it in place of `impl ..`";
            Err(Error::new_spanned(open, message))
        }
        _ => Ok(()),
    }
}

/// Told by the name: `Result<..>`, `io::Result<..>` and the like, as no trait can tell it.
fn returned(output: &ReturnType) -> Returned {
    let ReturnType::Type(_, returned) = output else {
        return Returned::Value(None);
    };
    let mut inner = &**returned;
    while let Type::Paren(paren) = inner {
        inner = &paren.elem;
    }
    let last = match inner {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    };
    match last {
        Some(last) if last.ident == "Result" => Returned::Result(last.clone()),
        _ => Returned::Value(Some(inner.clone())),
    }
}

/// The n-th type between the angle brackets of a `Result`.
pub(crate) fn argument(result: &PathSegment, n: usize) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &result.arguments else {
        return None;
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(one) => Some(one),
        _ => None,
    });
    types.into_iter().nth(n)
}

#[cfg(test)]
mod tests {
    use super::{Returned, Signature};

    fn shape(source: &str) -> Result<(bool, bool, bool), String> {
        let function = syn::parse_str(source).unwrap();
        Signature::of(&function)
            .map(|s| {
                let fallible = matches!(s.output, Returned::Result(_));
                (s.input.is_some(), s.context, fallible)
            })
            .map_err(|e| e.to_string())
    }

    #[test]
    fn knows_each_form() {
        assert_eq!(shape("fn f() {}"), Ok((false, false, false)));
        assert_eq!(shape("fn f(a: A) -> O {}"), Ok((true, false, false)));
        assert_eq!(shape("fn f(c: &Context) -> O {}"), Ok((false, true, false)));
        assert_eq!(
            shape("fn f(a: A, c: &Context) -> Result<O, E> {}"),
            Ok((true, true, true))
        );
        assert_eq!(
            shape("fn f(a: A, c: &sdk::Other) {}"),
            Ok((true, true, false))
        );
        assert_eq!(shape("fn f(c: &s::Context) {}"), Ok((false, true, false)));
        assert_eq!(
            shape("fn f(a: my::Context) -> (std::io::Result<O>) {}"),
            Ok((true, false, true))
        );
    }

    #[test]
    fn refuses_what_it_cannot_call() {
        for (source, part) in [
            ("async fn f() {}", "take `async` away"),
            ("unsafe fn f() {}", "take `unsafe` away"),
            ("extern \"C\" fn f() {}", "take `extern` away"),
            ("fn f<T>(a: T) {}", "not generic"),
            ("fn f(a: impl Clone) {}", "name it in place"),
            ("fn f(&self) {}", "out of the `impl`"),
            ("fn f(a: A, b: B) {}", "one struct"),
            ("fn f(a: &str, c: &Context) {}", "by value"),
            ("fn f(a: &str) {}", "by value"),
            ("fn f(c: &Context, a: A) {}", "comes last"),
            ("fn f(c: Context) {}", "write `&Context`"),
            ("fn f(a: A, c: sandhog_sdk::Context) {}", "write `&Context`"),
            ("fn f(a: A, c: &mut Context) {}", "take `mut` away"),
            ("fn f(a: A, c: &Context, d: D) {}", "no more"),
        ] {
            let error = shape(source).unwrap_err();
            assert!(error.contains(part), "{source}: {error}");
        }
    }
}

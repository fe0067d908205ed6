//! How the handler function is called: which arguments it takes and what it returns.

use syn::spanned::Spanned;
use syn::{FnArg, ItemFn, ReturnType, Type};

/// The shape of a handler function.
pub(crate) struct Signature {
    /// The input's type, when the function takes one.
    pub(crate) input: Option<Type>,
    /// Whether it takes `&Context`, always last.
    pub(crate) context: bool,
    /// Whether it returns a `Result`.
    pub(crate) fallible: bool,
}

impl Signature {
    pub(crate) fn of(function: &ItemFn) -> syn::Result<Self> {
        let signature = &function.sig;
        refuse(
            signature.asyncness.as_ref(),
            "a handler is no `async fn`: it runs alone in its sandbox",
        )?;
        refuse(signature.unsafety.as_ref(), "a handler is no `unsafe fn`")?;
        refuse(signature.abi.as_ref(), "a handler has no ABI of its own")?;
        if !signature.generics.params.is_empty() {
            return Err(syn::Error::new(
                signature.generics.span(),
                "a handler is not generic: name the types of its input and output",
            ));
        }
        let mut types = Vec::new();
        for argument in &signature.inputs {
            match argument {
                FnArg::Typed(typed) => types.push((*typed.ty).clone()),
                FnArg::Receiver(this) => {
                    return Err(syn::Error::new(this.span(), "a handler is a free function"));
                }
            }
        }
        if types.len() > 2 {
            return Err(syn::Error::new(
                types[2].span(),
                "a handler takes an input and `&Context`, no more",
            ));
        }
        let context = matches!(types.last(), Some(Type::Reference(_)));
        if context {
            types.pop();
        }
        if let Some(Type::Reference(reference)) = types.first() {
            return Err(syn::Error::new(
                reference.span(),
                "the input is taken by value: use `String`, `Bytes` or a type of your own",
            ));
        }
        if types.len() == 2 {
            return Err(syn::Error::new(
                types[1].span(),
                "the second argument is `&Context`",
            ));
        }
        Ok(Self {
            input: types.pop(),
            context,
            fallible: returns_result(&signature.output),
        })
    }
}

fn refuse(tokens: Option<&impl Spanned>, message: &str) -> syn::Result<()> {
    tokens.map_or(Ok(()), |found| Err(syn::Error::new(found.span(), message)))
}

/// True for `Result<..>`, `io::Result<..>` and the like: told by the name, as no trait can tell it.
fn returns_result(output: &ReturnType) -> bool {
    let ReturnType::Type(_, returned) = output else {
        return false;
    };
    let mut returned = &**returned;
    while let Type::Paren(inner) = returned {
        returned = &inner.elem;
    }
    let Type::Path(path) = returned else {
        return false;
    };
    path.path
        .segments
        .last()
        .is_some_and(|segment| segment.ident == "Result")
}

#[cfg(test)]
mod tests {
    use super::Signature;

    fn shape(source: &str) -> Result<(bool, bool, bool), String> {
        let function = syn::parse_str(source).unwrap();
        Signature::of(&function)
            .map(|s| (s.input.is_some(), s.context, s.fallible))
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
            shape("fn f(a: A) -> std::io::Result<O> {}"),
            Ok((true, false, true))
        );
    }

    #[test]
    fn refuses_what_it_cannot_call() {
        for (source, part) in [
            ("async fn f() {}", "async"),
            ("unsafe fn f() {}", "unsafe"),
            ("fn f<T>(a: T) {}", "generic"),
            ("fn f(&self) {}", "free function"),
            ("fn f(a: A, b: B) {}", "`&Context`"),
            ("fn f(a: &str, c: &Context) {}", "by value"),
            ("fn f(a: A, c: &Context, d: D) {}", "no more"),
        ] {
            let error = shape(source).unwrap_err();
            assert!(error.contains(part), "{source}: {error}");
        }
    }
}

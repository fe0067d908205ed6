//! What can be read off the tokens inside a macro call, which the parser leaves unread.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A thing found among tokens.
pub(crate) enum Found {
    /// `name!`.
    Macro(String, usize),
    /// `a::b::c`.
    Path(Vec<String>, usize),
    /// A function: name, first line, last line.
    Function(String, usize, usize),
    /// `#[name`.
    Attribute(String, usize),
    /// The first text given to `key!`.
    Key(String, usize),
}

/// Looks through tokens, nested groups included.
pub(crate) fn look(tokens: TokenStream, found: &mut Vec<Found>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Group(group) => look(group.stream(), found),
            TokenTree::Ident(name) => {
                let line = name.span().start().line;
                let (path, after) = path_at(&trees, at);
                if path.len() > 1 {
                    found.push(Found::Path(path.clone(), line));
                }
                if is_punct(trees.get(after), '!') && !is_punct(trees.get(after + 1), '=') {
                    let name = path.last().cloned().unwrap_or_default();
                    found.push(Found::Macro(name, line));
                }
                if path.last().is_some_and(|name| name == "key")
                    && is_punct(trees.get(after), '!')
                    && let Some(TokenTree::Group(call)) = trees.get(after + 1)
                {
                    key(call.stream(), found);
                }
                if name == "fn"
                    && let Some(function) = function_at(&trees, at)
                {
                    found.push(function);
                }
                at = after;
                continue;
            }
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = trees.get(at + 1)
                    && let Some(TokenTree::Ident(name)) = group.stream().into_iter().next()
                {
                    found.push(Found::Attribute(name.to_string(), name.span().start().line));
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        at += 1;
    }
}

/// The first text among the tokens of a `key!`.
pub(crate) fn key(call: TokenStream, found: &mut Vec<Found>) {
    let first = call.into_iter().find_map(|tree| match tree {
        TokenTree::Literal(text) => {
            let written = text.to_string();
            let name = written.strip_prefix('"')?.strip_suffix('"')?;
            Some(Found::Key(name.to_owned(), text.span().start().line))
        }
        _ => None,
    });
    found.extend(first);
}

/// The path that starts at an identifier, and the index after it.
fn path_at(trees: &[TokenTree], start: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    let mut at = start;
    while let Some(TokenTree::Ident(name)) = trees.get(at) {
        path.push(name.to_string());
        at += 1;
        if is_punct(trees.get(at), ':') && is_punct(trees.get(at + 1), ':') {
            at += 2;
        } else {
            break;
        }
    }
    (path, at)
}

/// A function whose `fn` is at the index: up to the end of its first brace group.
fn function_at(trees: &[TokenTree], at: usize) -> Option<Found> {
    let Some(TokenTree::Ident(name)) = trees.get(at + 1) else {
        return None;
    };
    let first = trees[at].span().start().line;
    for tree in &trees[at..] {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let last = group.span_close().end().line;
                return Some(Found::Function(name.to_string(), first, last));
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => return None,
            _ => {}
        }
    }
    None
}

fn is_punct(tree: Option<&TokenTree>, wanted: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

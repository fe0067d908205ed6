//! What the parser finds in one source file.

use proc_macro2::Span;
use syn::{
    Attribute, Block, File, ImplItemFn, ItemFn, ItemMod, ItemUse, Macro, Path, TraitItemFn,
    UseTree,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{
    source::{is_test_file, runner_module},
    tokens::{Found, key, look},
};

/// A named place.
#[derive(Debug)]
pub(crate) struct Named {
    /// The name.
    pub(crate) name: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// Whether it stands in test code.
    pub(crate) test: bool,
}

/// A path or import, resolved as far as the file allows: what starts at the crate's root starts
/// with `crate`.
#[derive(Debug)]
pub(crate) struct Used {
    /// Its segments.
    pub(crate) path: Vec<String>,
    /// The line, from 1.
    pub(crate) line: usize,
    /// Whether it stands in test code.
    pub(crate) test: bool,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// The line of its `fn`.
    pub(crate) line: usize,
    /// From there to its last brace.
    pub(crate) lines: usize,
}

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Its functions.
    pub(crate) functions: Vec<Function>,
    /// Its imports and paths of more than one segment.
    pub(crate) used: Vec<Used>,
    /// Its macro calls.
    pub(crate) macros: Vec<Named>,
    /// Its attributes.
    pub(crate) attributes: Vec<Named>,
    /// The names given to `key!`, with the line: how the config room declares its keys.
    pub(crate) keys: Vec<(String, usize)>,
    /// Lines of inline test modules.
    pub(crate) test_lines: usize,
}

impl Facts {
    /// Parses a file.
    pub(crate) fn of(path: &str, text: &str) -> Result<Self, String> {
        let file: File =
            syn::parse_file(text).map_err(|e| format!("line {}: {e}", e.span().start().line))?;
        let mut finder = Finder {
            facts: Self::default(),
            module: runner_module(path).unwrap_or_default(),
            tests: usize::from(is_test_file(path)),
        };
        finder.visit_file(&file);
        Ok(finder.facts)
    }
}

struct Finder {
    facts: Facts,
    module: Vec<String>,
    /// How many enclosing test modules or items.
    tests: usize,
}

fn line(span: Span) -> usize {
    span.start().line
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]` or `#[test]`.
fn marks_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Ok(list) = attribute.meta.require_list() else {
            return attribute.path().is_ident("test");
        };
        let tokens = list.tokens.to_string();
        let mut words = tokens.split(|c: char| !c.is_alphanumeric() && c != '_');
        attribute.path().is_ident("cfg")
            && words.clone().any(|word| word == "test")
            && !words.any(|word| word == "not")
    })
}

impl Finder {
    fn used(&mut self, path: Vec<String>, line: usize) {
        let path = self.resolve(path);
        let test = self.tests > 0;
        self.facts.used.push(Used { path, line, test });
    }

    /// Turns `self::` and `super::` into a path from the crate's root.
    fn resolve(&self, path: Vec<String>) -> Vec<String> {
        let mut base = self.module.clone();
        let mut rest = path.as_slice();
        match path.first().map(String::as_str) {
            Some("self") => rest = &path[1..],
            Some("super") => {
                while let Some((first, after)) = rest.split_first()
                    && first == "super"
                {
                    base.pop();
                    rest = after;
                }
            }
            _ => return path,
        }
        let mut whole = vec!["crate".to_owned()];
        whole.extend(base);
        whole.extend(rest.iter().cloned());
        whole
    }

    fn use_tree(&mut self, before: &[String], tree: &UseTree) {
        let mut path = before.to_vec();
        match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.use_tree(&path, &step.tree);
            }
            UseTree::Name(name) => {
                path.push(name.ident.to_string());
                self.used(path, line(name.ident.span()));
            }
            UseTree::Rename(rename) => {
                path.push(rename.ident.to_string());
                self.used(path, line(rename.ident.span()));
            }
            UseTree::Glob(glob) => {
                path.push("*".to_owned());
                self.used(path, line(glob.span()));
            }
            UseTree::Group(group) => {
                for inner in &group.items {
                    self.use_tree(&path, inner);
                }
            }
        }
    }

    fn function(&mut self, name: &syn::Ident, start: Span, block: &Block) {
        let line = line(start);
        let end = block.brace_token.span.close().end().line;
        let (name, lines) = (name.to_string(), end + 1 - line);
        self.facts.functions.push(Function { name, line, lines });
    }

    fn within(&mut self, test: bool, visit: impl FnOnce(&mut Self)) {
        self.tests += usize::from(test);
        visit(self);
        self.tests -= usize::from(test);
    }

    fn macro_tokens(&mut self, call: &Macro) {
        let mut found = Vec::new();
        if call.path.is_ident("key") {
            key(call.tokens.clone(), &mut found);
        }
        look(call.tokens.clone(), &mut found);
        let test = self.tests > 0;
        for thing in found {
            match thing {
                Found::Macro(name, line) => self.facts.macros.push(Named { name, line, test }),
                Found::Attribute(name, line) => {
                    self.facts.attributes.push(Named { name, line, test });
                }
                Found::Path(path, line) => self.used(path, line),
                Found::Key(name, line) => self.facts.keys.push((name, line)),
                Found::Function(name, line, last) => {
                    let lines = last + 1 - line;
                    self.facts.functions.push(Function { name, line, lines });
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let test = marks_test(&module.attrs);
        if let Some((brace, _)) = &module.content
            && test
        {
            let start = module.attrs.first().map_or(module.span(), |a| a.span());
            self.facts.test_lines += brace.span.close().end().line + 1 - line(start);
        }
        self.module.push(module.ident.to_string());
        self.within(test, |finder| visit::visit_item_mod(finder, module));
        self.module.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig.ident, item.sig.span(), &item.block);
        let test = marks_test(&item.attrs);
        self.within(test, |finder| visit::visit_item_fn(finder, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig.ident, item.sig.span(), &item.block);
        let test = marks_test(&item.attrs);
        self.within(test, |finder| visit::visit_impl_item_fn(finder, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig.ident, item.sig.span(), block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let test = marks_test(&item.attrs);
        self.within(test, |finder| finder.use_tree(&[], &item.tree));
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.segments.len() > 1 {
            let names = path.segments.iter().map(|s| s.ident.to_string()).collect();
            self.used(names, line(path.span()));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(last) = call.path.segments.last() {
            let (name, line, test) = (last.ident.to_string(), line(call.span()), self.tests > 0);
            self.facts.macros.push(Named { name, line, test });
        }
        self.macro_tokens(call);
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Some(last) = attribute.path().segments.last() {
            let (name, line, test) = (
                last.ident.to_string(),
                line(attribute.span()),
                self.tests > 0,
            );
            self.facts.attributes.push(Named { name, line, test });
        }
        visit::visit_attribute(self, attribute);
    }
}

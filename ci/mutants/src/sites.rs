//! The places of a file that can be changed: a visitor over its functions.

use std::ops::Range;

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, Signature, Stmt, Token};

use crate::operators::{self, last};

/// A function with its places.
#[derive(Debug, PartialEq)]
pub struct Function {
    /// `Type::name`, or `<Type as Trait>::name`, prefixed by the file's inner modules.
    pub path: String,
    /// Its body, braces included.
    pub body: Range<usize>,
    pub sites: Vec<Site>,
}

/// A place and its replacements.
#[derive(Debug, PartialEq)]
pub struct Site {
    pub range: Range<usize>,
    pub variants: Vec<String>,
}

/// All functions of a source text that have places, except tests and formatting code.
///
/// # Errors
/// The parser's, if the text is not Rust.
pub fn functions(source: &str) -> syn::Result<Vec<Function>> {
    let file = syn::parse_file(source)?;
    let mut finder = Finder {
        source,
        scope: vec![],
        found: vec![],
        inside: false,
    };
    finder.visit_file(&file);
    finder.found.retain(|function| !function.sites.is_empty());
    Ok(finder.found)
}

/// Traits whose functions only format text for people.
const FOR_PEOPLE: &[&str] = &["Debug", "Display", "Error"];

struct Finder<'a> {
    source: &'a str,
    scope: Vec<String>,
    found: Vec<Function>,
    /// True within a function: a nested function belongs to the outer one.
    inside: bool,
}

impl Finder<'_> {
    fn text(&self, of: &impl Spanned) -> &str {
        &self.source[of.span().byte_range()]
    }

    fn add(&mut self, range: Range<usize>, variants: Vec<String>) {
        let now = &self.source[range.clone()];
        let variants: Vec<String> = variants.into_iter().filter(|new| new != now).collect();
        if self.inside
            && !variants.is_empty()
            && let Some(function) = self.found.last_mut()
        {
            function.sites.push(Site { range, variants });
        }
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature, body: &Block) {
        if self.inside {
            visit::visit_block(self, body);
            return;
        }
        if is_test(attributes) {
            return;
        }
        let mut path = self.scope.clone();
        path.push(signature.ident.to_string());
        let range = body.span().byte_range();
        self.found.push(Function {
            path: path.join("::"),
            body: range.clone(),
            sites: vec![],
        });
        self.inside = true;
        if !body.stmts.is_empty() {
            self.add(range, operators::whole_body(&signature.output));
        }
        visit::visit_block(self, body);
        self.inside = false;
    }

    fn scoped(&mut self, name: String, go: impl FnOnce(&mut Self)) {
        self.scope.push(name);
        go(self);
        self.scope.pop();
    }

    /// Swaps adjacent arguments; the compiler rejects those of different types.
    fn swap<'e>(&mut self, arguments: impl Iterator<Item = &'e Expr>) {
        let all: Vec<&Expr> = arguments.collect();
        for pair in all.windows(2) {
            let range = pair[0].span().byte_range().start..pair[1].span().byte_range().end;
            let between = pair[0].span().byte_range().end..pair[1].span().byte_range().start;
            let between = &self.source[between];
            let swapped = format!("{}{between}{}", self.text(pair[1]), self.text(pair[0]));
            self.add(range, vec![swapped]);
        }
    }

    fn arms(&mut self, arms: &[syn::Arm]) {
        let open = |arm: &syn::Arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none();
        let can_go = arms.last().is_some_and(open);
        for (at, arm) in arms.iter().enumerate() {
            if can_go && at + 1 < arms.len() {
                self.add(arm.span().byte_range(), vec![String::new()]);
            }
            if let Some(next) = arms.get(at + 1) {
                let other = format!("{{ {} }}", self.text(&*next.body));
                if self.text(&*next.body) != self.text(&*arm.body) {
                    self.add(arm.body.span().byte_range(), vec![other]);
                }
            }
            if let Some((_, guard)) = &arm.guard
                && !operators::binds(guard)
            {
                let not = format!("!({})", self.text(&**guard));
                self.add(guard.span().byte_range(), vec!["true".into(), not]);
            }
        }
    }

    /// Negates a condition; without an `else` also makes it false.
    fn condition(&mut self, condition: &Expr, alone: bool) {
        if operators::binds(condition) {
            return;
        }
        let mut variants = vec![format!("!({})", self.text(condition))];
        variants.extend(alone.then(|| "false".to_string()));
        self.add(condition.span().byte_range(), variants);
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        let tokens = list.map(|list| list.tokens.to_string()).unwrap_or_default();
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && (tokens == "test" || tokens == "loom" || tokens.starts_with("all (test"))
    })
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            self.scoped(module.ident.to_string(), |this| {
                visit::visit_item_mod(this, module)
            });
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = match &*item.self_ty {
            syn::Type::Path(path) => last(&path.path),
            other => self.text(other).to_string(),
        };
        let name = match &item.trait_ {
            None => of,
            Some((_, path, _)) if FOR_PEOPLE.contains(&last(path).as_str()) => return,
            Some((_, path, _)) => format!("<{of} as {}>", last(path)),
        };
        if !is_test(&item.attrs) {
            self.scoped(name, |this| visit::visit_item_impl(this, item));
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.scoped(item.ident.to_string(), |this| {
            visit::visit_item_trait(this, item)
        });
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.attrs, &item.sig, body);
        }
    }

    // Types, attributes and constants are not executed.
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if operators::can_be_left_out(statement) {
            self.add(statement.span().byte_range(), vec![String::new()]);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        // Other macros have arguments that are not expressions, or format text.
        if ["assert", "assert_eq", "assert_ne"].contains(&last(&mac.path).as_str()) {
            let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
            for argument in mac.parse_body_with(parser).iter().flatten().take(2) {
                if !matches!(argument, Expr::Lit(_)) {
                    self.visit_expr(argument);
                }
            }
        }
    }

    // Literals and ranges also occur in patterns.
    fn visit_expr_lit(&mut self, literal: &'ast syn::ExprLit) {
        let range = literal.span().byte_range();
        let variants = operators::number(&literal.lit, &self.source[range.clone()]);
        self.add(range, variants);
    }

    fn visit_expr_range(&mut self, range: &'ast syn::ExprRange) {
        let variants = operators::other_end(range, self.source);
        self.add(range.span().byte_range(), variants);
        visit::visit_expr_range(self, range);
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        let range = expr.span().byte_range();
        let variants = operators::of(expr, self.source);
        self.add(range, variants);
        match expr {
            Expr::If(one) => self.condition(&one.cond, one.else_branch.is_none()),
            Expr::While(one) => self.condition(&one.cond, false),
            Expr::Match(one) => self.arms(&one.arms),
            Expr::Call(call) => {
                self.swap(call.args.iter());
                // The name of the called function is not a value.
                if !matches!(*call.func, Expr::Path(_)) {
                    self.visit_expr(&call.func);
                }
                call.args
                    .iter()
                    .for_each(|argument| self.visit_expr(argument));
                return;
            }
            Expr::MethodCall(call) => self.swap(call.args.iter()),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

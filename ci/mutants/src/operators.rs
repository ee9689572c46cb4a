//! The changes: replacements for an expression, a statement or a whole body.

use syn::spanned::Spanned;
use syn::{BinOp, Expr, Lit, ReturnType, Stmt, Type, UnOp};

/// Pairs of methods that are easily confused.
const TWINS: &[(&str, &str)] = &[
    ("all", "any"),
    ("ceil", "floor"),
    ("checked_add", "checked_sub"),
    ("first", "last"),
    ("is_err", "is_ok"),
    ("is_none", "is_some"),
    ("leading_zeros", "trailing_zeros"),
    ("leading_ones", "trailing_ones"),
    ("max", "min"),
    ("next", "next_back"),
    ("saturating_add", "saturating_sub"),
    ("skip", "take"),
    ("wrapping_add", "wrapping_sub"),
];

/// Orderings stronger than `Relaxed`.
const ORDERINGS: &[&str] = &["Acquire", "Release", "AcqRel", "SeqCst"];

/// The replacements for an expression.
pub fn of(expr: &Expr, source: &str) -> Vec<String> {
    let text = |of: &dyn Fn() -> proc_macro2::Span| source[of().byte_range()].to_string();
    let whole = expr.span().byte_range();
    match expr {
        Expr::Binary(binary) => {
            let at = binary.op.span().byte_range();
            let left = &source[whole.start..at.start];
            let right = &source[at.end..whole.end];
            let others = operator(&binary.op).iter();
            others.map(|new| format!("{left}{new}{right}")).collect()
        }
        Expr::Unary(unary) if !matches!(unary.op, UnOp::Deref(_)) => {
            vec![text(&|| unary.expr.span())]
        }
        Expr::MethodCall(call) => {
            let at = call.method.span().byte_range();
            let (before, after) = (&source[whole.start..at.start], &source[at.end..whole.end]);
            let name = call.method.to_string();
            let twins = TWINS.iter().filter_map(|(one, other)| match name.as_str() {
                name if name == *one => Some(other),
                name if name == *other => Some(one),
                _ => None,
            });
            twins.map(|twin| format!("{before}{twin}{after}")).collect()
        }
        Expr::Call(call) if text(&|| call.func.span()) == "Some" => vec!["None".into()],
        Expr::Path(path) => constant(&path.path, &source[whole]),
        Expr::Macro(one) if one.mac.path.is_ident("matches") => {
            vec![format!("!{}", &source[whole])]
        }
        _ => vec![],
    }
}

/// The replacements for a binary operator.
fn operator(op: &BinOp) -> &'static [&'static str] {
    match op {
        BinOp::Lt(_) => &["<=", ">="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Gt(_) => &[">=", "<="],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-"],
        BinOp::Sub(_) => &["+"],
        BinOp::Mul(_) => &["/"],
        BinOp::Div(_) => &["*"],
        BinOp::Rem(_) => &["/"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|"],
        BinOp::BitOr(_) => &["&"],
        BinOp::BitXor(_) => &["|"],
        BinOp::AddAssign(_) => &["-="],
        BinOp::SubAssign(_) => &["+="],
        BinOp::MulAssign(_) => &["/="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        BinOp::BitAndAssign(_) => &["|="],
        BinOp::BitOrAssign(_) => &["&="],
        BinOp::BitXorAssign(_) => &["|="],
        _ => &[],
    }
}

/// The neighbours of a number, or the negation of a boolean.
pub fn number(literal: &Lit, text: &str) -> Vec<String> {
    match literal {
        Lit::Bool(truth) => vec![(!truth.value).to_string()],
        Lit::Int(number) => {
            let suffix = number.suffix();
            let Ok(value) = number.base10_parse::<u128>() else {
                return vec![];
            };
            let near = [value.checked_add(1), value.checked_sub(1)];
            near.into_iter()
                .flatten()
                .map(|near| format!("{near}{suffix}"))
                .collect()
        }
        Lit::Float(number) => match number.base10_parse::<f64>() {
            Ok(0.0) => vec!["1.0".into()],
            Ok(_) => vec![format!("(1.125 * {text})")],
            Err(_) => vec![],
        },
        _ => vec![],
    }
}

/// A range with its last value added or removed.
pub fn other_end(range: &syn::ExprRange, source: &str) -> Vec<String> {
    let (Some(start), Some(end)) = (&range.start, &range.end) else {
        return vec![];
    };
    let closed = matches!(range.limits, syn::RangeLimits::Closed(_));
    let dots = if closed { ".." } else { "..=" };
    let [start, end] = [start, end].map(|one| &source[one.span().byte_range()]);
    vec![format!("{start}{dots}{end}")]
}

/// The last segment of a path, such as the name of a trait in an `impl`.
pub fn last(path: &syn::Path) -> String {
    let last = path.segments.last();
    last.map(|segment| segment.ident.to_string())
        .unwrap_or_default()
}

/// The neighbours of a named constant; a weaker ordering.
fn constant(path: &syn::Path, text: &str) -> Vec<String> {
    let last = last(path);
    if ORDERINGS.contains(&last.as_str()) {
        return vec!["::core::sync::atomic::Ordering::Relaxed".into()];
    }
    let loud = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    // Neighbours of these are equal to them.
    let endless = ["INFINITY", "NEG_INFINITY", "NAN"].contains(&last.as_str());
    if endless || last.len() < 2 || !last.chars().all(loud) {
        return vec![];
    }
    // The compiler rejects the variants of the wrong type.
    ["- 1", "+ 1", "* 1.125"]
        .map(|near| format!("({text} {near})"))
        .into()
}

/// The replacements for a whole body.
pub fn whole_body(output: &ReturnType) -> Vec<String> {
    let ReturnType::Type(_, of) = output else {
        return vec!["{}".into()];
    };
    let Type::Path(path) = &**of else {
        return vec![];
    };
    let values: &[&str] = match last(&path.path).as_str() {
        "bool" => &["true", "false"],
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" | "isize" => &["0", "1"],
        "f64" => &["0.0", "1.0"],
        "Option" => &["None"],
        "Result" => &["Ok(())"],
        "String" | "Vec" => &["Default::default()"],
        _ => &[],
    };
    values
        .iter()
        .map(|value| format!("{{ {value} }}"))
        .collect()
}

/// True if a condition binds names, which its block may use.
pub fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

/// True if the rest still compiles without the statement: calls, assignments, assertions.
pub fn can_be_left_out(statement: &Stmt) -> bool {
    match statement {
        Stmt::Expr(expr, Some(_)) => match expr {
            Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) => true,
            Expr::Binary(binary) => !matches!(binary.op, BinOp::Lt(_)),
            Expr::Try(one) => matches!(*one.expr, Expr::Call(_) | Expr::MethodCall(_)),
            _ => false,
        },
        Stmt::Macro(one) => {
            let path = &one.mac.path;
            ["assert", "assert_eq", "assert_ne"]
                .iter()
                .any(|name| path.is_ident(name))
        }
        _ => false,
    }
}

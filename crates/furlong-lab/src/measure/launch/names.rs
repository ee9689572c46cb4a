//! Names of functions, from symbols.

use cpp_demangle::DemangleOptions as Options;

/// Returns the name of a symbol as its programmer wrote it, in Rust or C++.
pub fn demangled(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let parsed = cpp_demangle::Symbol::new(symbol).ok();
    let shown = parsed.and_then(|parsed| parsed.demangle(&Options::default()).ok());
    shown.unwrap_or_else(|| symbol.to_owned())
}

/// A name without the level of a recursion.
pub(super) fn symbol(name: &str) -> &str {
    match name.rsplit_once('\'') {
        Some((rest, level)) if is_number(level) => rest,
        _ => name,
    }
}

/// A symbol without the parts that differ between copies of a function and between builds: hashes,
/// and the suffixes of partial copies.
pub fn stable(symbol: &str) -> String {
    let name = demangled(symbol);
    let mut name = name.as_str();
    // Valgrind's own names of functions in Rust may have a hash.
    if let Some((rest, hash)) = name.rsplit_once("::h")
        && hash.len() == 16
        && is_hexadecimal(hash)
    {
        name = rest;
    }
    for copy in [
        " [clone ",
        ".constprop",
        ".isra",
        ".part",
        ".cold",
        ".llvm",
        ".lto_priv",
    ] {
        name = name.split_once(copy).map_or(name, |(rest, _)| rest);
    }
    without_disambiguators(name)
}

/// Removes `[0123abcd..]`, the hash of a crate in Rust's newer names.
fn without_disambiguators(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        kept.push_str(before);
        match after.split_once(']') {
            Some((hash, after)) if hash.len() >= 8 && is_hexadecimal(hash) => rest = after,
            _ => {
                kept.push('[');
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{demangled, stable, symbol};

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, wanted) in [
            ("_ZN5Cache12planted_leakEi", "Cache::planted_leak(int)"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvC4leak7planted", "leak::planted"),
            ("planted_leak", "planted_leak"),
        ] {
            assert_eq!(demangled(symbol), wanted);
        }
    }

    #[test]
    fn names_of_two_builds_are_the_same() {
        for (name, wanted) in [
            ("fib'2", "fib"),
            ("core::fmt::write::h0123456789abcdef", "core::fmt::write"),
            ("sort.constprop.0", "sort"),
            ("<core[1a2b3c4d5e6f7a8b]::iter>::next", "<core::iter>::next"),
            ("f<[u8]>", "f<[u8]>"),
            ("it's", "it's"),
            (
                "_ZN4core3fmt5write17h0123456789abcdefE.llvm.12",
                "core::fmt::write",
            ),
            (
                "_ZN4core4iter25Chain$LT$a..partition$GT$17h0123456789abcdefE",
                "core::iter::Chain<a::partition>",
            ),
            ("_ZN5Cache4sortEi.constprop.0'2", "Cache::sort(int)"),
        ] {
            assert_eq!(stable(symbol(name)), wanted);
        }
    }
}

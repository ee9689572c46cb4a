//! `furlong link`: a linker for cargo that links a program as asked, and once more for each code
//! layout, with its functions in another order.
//!
//! The place of a function follows from a hash of its name and the layout's number. Two revisions
//! of a program therefore get like orders, although the compiler gives their symbols other hashes.
//! Only functions move; alignment within them stays as it is compiled.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::error::{Error, Exit, cause};
use crate::hash::fnv1a;
use furlong_stats::random::Random;

/// The driver that links, as rustc calls it by default.
const DRIVER: &str = "cc";

/// Digits of the hash that ends a name of Rust's older mangling, behind `17h`.
const HASH_DIGITS: usize = 16;

/// The head of the column of output sections in a map of lld.
const COLUMN: &str = "Out     In      Symbol";

/// Blanks before a symbol in that column.
const INDENT: usize = 16;

/// A number of layouts, and the arguments of the driver.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of layouts
    pub layouts: u32,
    /// Arguments of cc
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// The file of a program in one of its layouts.
pub(super) fn linked(program: &Path, layout: u32) -> PathBuf {
    beside(program, &format!("layout{layout:03}"))
}

fn beside(program: &Path, end: &str) -> PathBuf {
    let mut file = program.as_os_str().to_owned();
    file.push(".");
    file.push(end);
    file.into()
}

/// Links, and exits as the driver does.
///
/// # Errors
///
/// The driver cannot be started, or the linker writes no map that is understood.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let arguments = &args.arguments[..];
    let Some(place) = program(arguments) else {
        return driven(arguments, &[]);
    };
    let output = PathBuf::from(&arguments[place]);
    let [map, order] = ["map", "order"].map(|end| beside(&output, end));
    let code = driven(
        arguments,
        &["--no-demangle", &format!("-Map={}", map.display())],
    )?;
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    let file = |path: &Path, error: std::io::Error| {
        let why = cause(&error);
        Error::failed(format!("{} is not usable: {why}", path.display()))
    };
    let text = fs::read_to_string(&map).map_err(|error| file(&map, error))?;
    let functions = functions(&text);
    if functions.is_empty() {
        let why = "the linker's map names no function: code layouts need lld, such as by rustc's \
                   -C link-arg=-fuse-ld=lld";
        return Err(Error::failed(why));
    }
    let mut own = arguments.to_vec();
    let ordered = format!("--symbol-ordering-file={}", order.display());
    for layout in 0..args.layouts {
        let names = shuffled(&functions, layout).join("\n");
        fs::write(&order, names).map_err(|error| file(&order, error))?;
        own[place] = linked(&output, layout).into();
        let code = driven(&own, &[&ordered, "--no-warn-symbol-ordering"])?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    for made in [map, order] {
        fs::remove_file(&made).map_err(|error| file(&made, error))?;
    }
    Ok(code)
}

/// Calls the driver with further arguments for the linker itself.
fn driven(arguments: &[OsString], further: &[&str]) -> Result<ExitCode, Error> {
    let status = Command::new(DRIVER)
        .args(arguments)
        .args(further.iter().flat_map(|argument| ["-Xlinker", argument]))
        .status()
        .map_err(|error| Error::failed(format!("{DRIVER} cannot be started: {}", cause(&error))))?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => Exit::Failed.into(),
    })
}

/// Returns the place of the file that is linked, if it is a program to measure.
fn program(arguments: &[OsString]) -> Option<usize> {
    let place = arguments.iter().position(|argument| argument == "-o")? + 1;
    let name = Path::new(arguments.get(place)?).file_name()?.to_str()?;
    let shared = arguments.iter().any(|argument| argument == "-shared");
    (!shared && !name.starts_with("build_script_")).then_some(place)
}

/// Returns the functions in a map of lld, in their order.
fn functions(map: &str) -> Vec<&str> {
    let mut lines = map.lines();
    let Some(column) = lines.next().and_then(|head| head.find(COLUMN)) else {
        return vec![];
    };
    let mut inside = false;
    let mut found = vec![];
    for rest in lines.filter_map(|line| line.get(column..)) {
        let name = rest.trim_start();
        match rest.len() - name.len() {
            0 => inside = name == ".text",
            INDENT if inside => found.push(name),
            _ => {}
        }
    }
    found
}

/// Returns functions in the order of a layout.
fn shuffled<'a>(functions: &[&'a str], layout: u32) -> Vec<&'a str> {
    let mut shuffled = functions.to_vec();
    let key = |name: &&str| {
        let key = format!("{layout} {}", stable(name));
        Random::new(fnv1a(key.as_bytes())).bits()
    };
    shuffled.sort_by_cached_key(key);
    shuffled
}

/// Returns a symbol's name without the hashes that differ between builds of one source.
fn stable(name: &str) -> String {
    let name = name.split(".llvm.").next().unwrap_or(name);
    if let Some((path, hash)) = name.rsplit_once("17h")
        && hash.len() == HASH_DIGITS + 1
        && name.starts_with("_ZN")
    {
        return path.to_owned();
    }
    if !name.starts_with("_R") {
        return name.to_owned();
    }
    // A crate's root is `C`, then its hash from `s` to `_`, then its name.
    let mut parts = name.split("Cs");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push('C');
        kept.push_str(part.split_once('_').map_or(part, |(_, rest)| rest));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{functions, program, shuffled, stable};

    #[test]
    fn the_functions_of_a_map_are_those_of_the_text() {
        let map = "             VMA              LMA     Size Align Out     In      Symbol
             2e0              2e0       1c     1 .interp
             2e0              2e0       1c     1         <internal>:(.interp)
            1000             1000       40    16 .text
            1000             1000       20    16         a.o:(.text.first)
            1000             1000       20     1                 first
            1020             1020       20    16         a.o:(.text.second)
            1020             1020       20     1                 second
            2000             2000        8     8 .data
            2000             2000        8     8         a.o:(.data.counter)
            2000             2000        8     1                 counter
";
        assert_eq!(functions(map), ["first", "second"]);
        assert!(functions("Archive member included\n").is_empty());
    }

    #[test]
    fn hashes_of_a_build_are_no_part_of_a_name() {
        let old = "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE";
        assert_eq!(stable(old), "_ZN4core3fmt9Formatter3pad");
        assert_eq!(stable("_ZN1a1b17h0123456789abcdefE.llvm.77"), "_ZN1a1b");
        assert_eq!(stable("_RNvCs5QKde7ScR4H_3foo3bar"), "_RNvC3foo3bar");
        assert_eq!(stable("main"), "main");
        assert_ne!(stable("_ZN17hE"), "_ZN");
    }

    #[test]
    fn another_build_has_the_same_order_and_another_layout_another() {
        let names = |hash: &str| -> Vec<String> {
            let name = |n: u32| format!("_ZN1a2f{n}17h{hash}E");
            (0..40).map(name).collect()
        };
        let [old, new] = ["0123456789abcdef", "fedcba9876543210"].map(names);
        let order = |names: &[String], layout: u32| -> Vec<String> {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            shuffled(&names, layout)
                .iter()
                .map(|name| stable(name))
                .collect()
        };
        assert_eq!(order(&old, 3), order(&new, 3));
        assert_ne!(order(&old, 3), order(&old, 4));
        // A new function moves no other.
        let mut more = new.clone();
        more.insert(0, "added".to_owned());
        let mut others = order(&more, 3);
        others.retain(|name| name != "added");
        assert_eq!(others, order(&old, 3));
    }

    #[test]
    fn only_programs_get_layouts() {
        let place = |line: &str| {
            let words: Vec<_> = line.split(' ').map(Into::into).collect();
            program(&words)
        };
        assert_eq!(place("a.o -o /r/deps/tool-1 -pie"), Some(2));
        assert_eq!(place("a.o -o /r/deps/lib-1.so -shared"), None);
        assert_eq!(place("a.o -o /r/build_script_build-1"), None);
        assert_eq!(place("@arguments"), None);
    }
}

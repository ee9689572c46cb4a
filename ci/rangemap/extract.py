#!/usr/bin/env python3
"""Turns rangemap's own published tests into a package that tests our types.

Usage: ci/rangemap/extract.py SOURCE OUR_MODULE PACKAGE
SOURCE is the crate's published folder, OUR_MODULE the folder of `range_map`. PACKAGE is written: our
module, and their tests with other `use` lines and bounds. Prints the tests that cannot apply with
the reason, and on the last line how many are left.
"""
import pathlib
import re
import shutil
import sys

TEST = re.compile(r"#\[(?:test|proptest)\]\n(?:\s*#\[[^\n]*\n|\s*//[^\n]*\n)*\s*fn (\w+)")
PROPERTY = re.compile(r"quickcheck::quickcheck! \{")
# Their names for what the tests use beside our types.
PRELUDE = """use crate::range_map::*;
use core::cmp::Ordering;
use core::fmt::Debug;
use core::ops::{Range, RangeInclusive};
"""
# Keys of our maps are integers and addresses, so generic helpers get that bound.
REWRITTEN = [
    (r"\b([KT]): Ord \+ Clone\b", r"\1: Ord + Clone + furlong::addr::Address"),
    (r"(RangeInclusiveMap<\w+, \w+), (?:K|u32)>", r"\1>"),
    (r"\buse (?:super|crate)::\{RangeInclusiveMap, RangeMap\};", "use crate::range_map::*;"),
    (r"(RangeMap|RangeInclusiveMap)::<NoDefault, NoDefault>", r"\1::<u32, NoDefault>"),
    (r"\buse super::\*;", "use super::prelude::*;"),
    (r"(?m)^.*cfg\(feature = \"const_fn\"\)\]\n.*new_with_step_fns\(\);\n", ""),
]


def block(text, at):
    """The end of the braces that open behind `at`."""
    depth = 0
    for end in range(text.index("{", at), len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return end + 1
    raise ValueError("an open brace")


def without(text, pattern, reason, left_out, name):
    """The text without the blocks that begin with `pattern`, whose tests are noted."""
    while found := re.search(pattern, text):
        end = block(text, found.start())
        part = text[found.start():end]
        tests = TEST.findall(part) or ["prop"] * len(PROPERTY.findall(part))
        if not tests:
            raise ValueError(f"no test in what is left out: {part}")
        left_out.extend((f"{name}::{test}", reason) for test in tests)
        text = text[:found.start()] + text[end:]
    return text


def blocks_of_docs(text):
    """The Rust code of the comments and of documents, line by line without its markers."""
    plain = re.sub(r"(?m)^\s*//[/!] ?", "", text)
    return re.findall(r"(?ms)^```(?:rust)?\n(.*?)^```$", plain)


def main(source, module, package):
    left_out, kept, library = [], 0, []
    shutil.rmtree(package / "src", ignore_errors=True)
    shutil.copytree(module, package / "src/range_map")
    for file in sorted((source / "src").glob("*.rs")):
        name, text = file.stem, file.read_text(encoding="utf-8")
        for number, code in enumerate(blocks_of_docs(text)):
            if "chrono" in code:
                left_out.append((f"docs of {file.name}", "keys of the crate chrono"))
                continue
            code = re.sub(r"(?m)^# ", "", code).replace("use rangemap::", "use crate::range_map::")
            library.append(f"#[test]\nfn docs_of_{name}_{number}() {{\n{code}}}\n")
            kept += 1
        text = without(text, r"#\[cfg\((?:all\(test, )?feature = \"ordered-float5\"\)*\]\s*mod \w+",
                       "keys of floats", left_out, name)
        text = without(text, r"#\[cfg\(feature = \"quickcheck\"\)\]\s*quickcheck::",
                       "the feature quickcheck is not offered", left_out, name)
        if name in ("set", "inclusive_set"):
            text = without(text, r"#\[test\]\s*fn always_default", "keys of the test's own type",
                           left_out, name)
        if name == "operations":
            text = without(text, r"#\[test\]\s*fn test_intersect", "a private trait", left_out, name)
        tests = len(TEST.findall(text))
        if name != "dense" and tests == 0:
            continue
        kept += tests
        for pattern, by in REWRITTEN:
            text = re.sub(pattern, by, text)
        if name != "dense":
            text = text[text.index("#[cfg(test)]\nmod tests {"):]
            text = f"mod prelude {{\n{PRELUDE.replace('use ', 'pub use ')}}}\n{text}"
        (package / f"src/{name}.rs").write_text(text, encoding="utf-8")
        library.append(f"mod {name};\n")
    for code in blocks_of_docs((source / "README.md").read_text(encoding="utf-8")):
        if "chrono" not in code and "use " in code:
            raise ValueError("an example in README.md that nobody runs")
        left_out += [("docs of README.md", "keys of the crate chrono")] * ("chrono" in code)
    head = "#![cfg(test)]\n#![allow(warnings)]\nextern crate alloc;\npub mod range_map;\n"
    (package / "src/lib.rs").write_text(head + "".join(library), encoding="utf-8")
    for test, reason in left_out:
        print(f"left out: {test}: {reason}")
    print(len(left_out), kept)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:4]))

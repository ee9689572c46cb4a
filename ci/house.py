#!/usr/bin/env python3
"""Counts what the house is made of: lines, files in folders, names and packages.

Usage: ci/house.py [CHECKOUT]..   (default: this one; two are shown side by side)
Lines are of Rust, without blank ones and comments. Names are those of docs/api.
"""
import collections
import pathlib
import re
import subprocess
import sys

TEST_MODULE = re.compile(r"^#\[cfg\((?:all\()?test[^\n]*\n(?:#\[[^\n]*\n)*mod \w+ \{", re.M)


def lines(text):
    """Lines that are neither blank nor only a comment."""
    without = re.sub(r"(?ms)^\s*/\*.*?\*/", "", text)
    return sum(1 for line in without.split("\n") if line.strip()[:2] not in ("", "//"))


def rust_files(root):
    listed = subprocess.run(
        ["git", "ls-files", "*.rs"], cwd=root, check=True, capture_output=True, text=True
    )
    return [name for name in listed.stdout.split("\n") if name and (root / name).is_file()]


def is_test(name):
    return bool(re.search(r"/tests/|/tests\.rs$|_tests\.rs$|/tests_|^fuzz/", name))


def count(root):
    """Rows of (group, measure, figure)."""
    source, tests = collections.Counter(), collections.Counter()
    folders = collections.Counter()
    for name in rust_files(root):
        text = (root / name).read_text(encoding="utf-8")
        crate = "/".join(name.split("/")[:2])
        folders[str(pathlib.PurePath(name).parent)] += 1
        found = TEST_MODULE.search(text)
        inside = lines(text[found.start():]) if found and not is_test(name) else 0
        (tests if is_test(name) else source)[crate] += lines(text) - inside
        tests[crate] += inside
    for crate in sorted(source | tests):
        yield "lines of source", crate, source[crate]
        yield "lines of tests", crate, tests[crate]
    yield "lines of source", "all", sum(source.values())
    yield "lines of tests", "all", sum(tests.values())
    yield "files", "all", sum(folders.values())
    yield "files", "folders with more than 12", sum(many > 12 for many in folders.values())
    yield "files", "most in one folder", max(folders.values())
    yield "names", "in two modules of the library", doubles(root)
    for package, features in [
        ("furlong", ["--no-default-features"]), ("furlong-bench", []),
        ("furlong-cli", ["--no-default-features"]), ("furlong-cli", []), ("furlong-lab", []),
    ]:
        yield "packages", f"{package} {' '.join(features)}".strip(), packages(root, package, features)


def doubles(root):
    """Public types and functions of the library whose name stands in two modules."""
    listing = root / "docs/api/furlong.txt"
    if not listing.is_file():
        return "no listing"
    places = collections.defaultdict(set)
    for line in listing.read_text(encoding="utf-8").split("\n"):
        parts = line.split(" ")[0].split("::")
        # A name in a module; what stands below a type begins with a capital letter's path.
        if len(parts) > 2 and not any(part[:1].isupper() for part in parts[1:-1]):
            places[parts[-1]].add(parts[1])
    return sum(len(modules) > 1 for modules in places.values())


def packages(root, package, features):
    """Packages that are compiled for one, without those for its tests."""
    tree = subprocess.run(
        ["cargo", "tree", "--offline", "-e", "normal,build", "--prefix", "none", "-p", package]
        + features, cwd=root, capture_output=True, text=True,
    )
    names = {line.removesuffix(" (*)") for line in tree.stdout.split("\n") if line}
    return len(names) if tree.returncode == 0 else "none"


def main(roots):
    columns = [{(group, name): figure for group, name, figure in count(root)} for root in roots]
    rows = list(dict.fromkeys(key for column in columns for key in column))
    rows.sort(key=lambda key: [key[0] != group for group in ("lines of source", "lines of tests")])
    print("| what | of what |" + "".join(f" {root.name} |" for root in roots))
    print("|---|---|" + "---|" * len(roots))
    for key in rows:
        cells = "".join(f" {column.get(key, 0)} |" for column in columns)
        print(f"| {key[0]} | {key[1]} |{cells}")


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent.parent
    main([pathlib.Path(root).resolve() for root in sys.argv[1:]] or [here])

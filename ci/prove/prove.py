"""Proves the properties of crates/furlong/src/**/proofs.rs for all inputs.

    prove.py WORK [NAME ..]

The compiler translates each property, and the function under proof, into LLVM's IR. This script
reads the IR and runs it on bit vectors (execute.py). Then z3 searches for an input for which the
property is false, panics, or reads out of bounds. If there is none, the property is proved.

The same is done for a copy of the library with one change in each function (mutants.toml). Each
property must be refuted there, and the changed program itself must fail with z3's input. So the
translation is not vacuous, and its counterexamples are real.

The script fails if z3 exceeds its limit of steps for a query, if an instruction is unknown, or if
a mutant is not refuted."""

import itertools
import math
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import time
import tomllib

import execute
import ir
import z3

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "ci/prove"
SOURCE = ROOT / "crates/furlong/src"
# The limit for one query, in z3's own steps: the same on every machine, however busy.
STEPS_MAX = 400_000_000
FLAGS = [
    "--edition", "2024", "--cfg", "prove", "--cfg", 'feature="alloc"', "--cap-lints", "allow",
    "-C", "opt-level=2", "-C", "codegen-units=1", "-C", "panic=abort", "-C", "overflow-checks=on",
    "-C", "debug-assertions=on", "-C", "no-vectorize-loops", "-C", "no-vectorize-slp",
    "-C", "llvm-args=-unroll-runtime=false",
    # Keeps every property under its own name. These flags are unstable.
    "-Z", "merge-functions=disabled", "-Z", "cross-crate-inline-threshold=never", "-C", "symbol-mangling-version=v0",
]
ENVIRONMENT = {**os.environ, "RUSTC_BOOTSTRAP": "1"}


class Refuted(Exception):
    """An input for which a property does not hold."""


def compile_library(source, work):
    """Translates the library, and links a program that runs a property on given words."""
    work.mkdir(parents=True, exist_ok=True)
    library, text = work / "libfurlong.rlib", work / "furlong.ll"
    subprocess.run(
        ["rustc", *FLAGS, "--crate-type", "lib", "--crate-name", "furlong",
         f"--emit=llvm-ir={text},link={library}", str(source / "lib.rs")],
        # The compiler leaves files of the same names in its folder for both libraries.
        check=True, cwd=work, env=ENVIRONMENT)
    runner = work / "run"
    subprocess.run(["rustc", *FLAGS, "--extern", f"furlong={library}", "-o", str(runner),
                    str(HERE / "run.rs")], check=True, env=ENVIRONMENT)
    return text, runner


def listed(runner):
    """(name, number of cases of each word) of every property."""
    lines = subprocess.run([runner, "list"], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        name, *cases = line.split()
        yield name, [int(case) for case in cases]


def entry(functions, name):
    """The symbol of a property."""
    module, function = name.split("::")
    wanted = "".join(f"{len(part)}{part}" for part in (module, "proofs", function))
    found = [symbol for symbol in functions
             if symbol.startswith("@_RNv") and symbol.endswith(f"7furlong{wanted}")]
    if len(found) != 1:
        raise execute.Stuck(f"{len(found)} functions are called {name}")
    return found[0]


def ask_for(inputs):
    """Returns True if a path can be taken; raises if something can fail on it."""
    def ask(path, bad, what):
        bad = z3.simplify(bad)
        if z3.is_false(bad):
            return False
        solver = z3.SolverFor("QF_BV")
        solver.set("rlimit", STEPS_MAX)
        solver.add(*path, bad)
        answer = solver.check()
        if answer == z3.unknown:
            raise execute.Stuck(f"no answer within {STEPS_MAX} steps")
        if answer == z3.sat and what:
            model = solver.model()
            words = [model.eval(word, model_completion=True).as_long() for word in inputs]
            raise Refuted(what, words)
        return answer == z3.sat
    return ask


LOADED = {}


def load(text):
    if text not in LOADED:
        LOADED[text] = ir.module(pathlib.Path(text).read_text())
    return LOADED[text]


def examine(job):
    """Runs one property: (name, None or the failure, the words, cases, seconds)."""
    text, name, cases = job
    begun, count = time.process_time(), 0
    functions, constants = load(text)
    try:
        symbol = entry(functions, name)
        for chosen in itertools.product(*(range(max(case, 1)) for case in cases)):
            inputs = [z3.BitVecVal(value, 64) if case else z3.BitVec(f"x{at}", 64)
                      for at, (value, case) in enumerate(zip(chosen, cases))]
            execute.Machine(functions, constants, ask_for(inputs)).run(symbol, inputs)
            count += 1
    except Refuted as refuted:
        what, words = refuted.args
        return name, what, words, count, time.process_time() - begun
    except (execute.Stuck, ir.Unknown) as stuck:
        return name, f"STUCK: {stuck}", None, count, time.process_time() - begun
    return name, None, None, count, time.process_time() - begun


def changed_copy(work):
    """A copy of the library with every mutant in it, and the properties that must be refuted."""
    copy = work / "source"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(SOURCE, copy)
    mutants = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    for mutant in mutants:
        path = copy / mutant["file"]
        text = path.read_text()
        if text.count(mutant["from"]) != 1:
            raise SystemExit(f"mutants.toml: {text.count(mutant['from'])} places in "
                             f"{mutant['file']} read: {mutant['from']}")
        path.write_text(text.replace(mutant["from"], mutant["to"]))
    return copy, {name for mutant in mutants for name in mutant["refutes"]}


def main():
    work, only = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    copy, refutable = changed_copy(work)
    with multiprocessing.Pool(os.cpu_count()) as pool:
        both = [(SOURCE, work / "library"), (copy, work / "mutants")]
        built = pool.starmap(compile_library, both)
        (text, runner), (changed, changed_runner) = built
        chosen = [(name, cases) for name, cases in listed(runner) if not only or name in only]
        # The longest ones begin first.
        chosen.sort(key=lambda item: -math.prod(max(1, case) for case in item[1]))
        proofs = pool.imap_unordered(examine, [(text, *item) for item in chosen], chunksize=1)
        failures = 0
        for name, why, words, cases, seconds in proofs:
            said = "proved" if why is None else f"NOT PROVED: {why} {words or ''}"
            print(f"{name:52} {cases:4} cases {seconds:6.1f} s cpu  {said}", flush=True)
            failures += why is not None
        print("\nin a library with a change in each of these functions:")
        refutations = pool.imap_unordered(examine, [(changed, *item) for item in chosen], chunksize=1)
        for name, why, words, _, seconds in refutations:
            if name not in refutable:
                said, good = "no mutant is listed", False
            elif words is None:
                said, good = f"NOT REFUTED {why or ''}", False
            else:
                ran = subprocess.run([changed_runner, name, *map(str, words)],
                                     capture_output=True, text=True)
                good = ran.stdout.strip() != "true"
                said = f"refuted: {why} for {' '.join(f'{word:#x}' for word in words)}"
                said += "" if good else ", but the program says that it holds"
            print(f"{name:52} {seconds:6.1f} s cpu  {said}", flush=True)
            failures += not good
    print(f"\n{len(chosen)} properties, {failures} failures")
    sys.exit(failures != 0 or not chosen)


if __name__ == "__main__":
    main()

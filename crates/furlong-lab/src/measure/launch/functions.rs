//! Functions, their costs and their calls in callgrind's files.
//!
//! A difference is to be attributed to the program's own code, see [`attribution`]. So two kinds of
//! functions are counted as part of their callers: those without a name (the stubs of the dynamic
//! linker, for example), and those of shared and standard libraries that never call the program
//! back.
//!
//! [`attribution`]: mod@furlong_stats::attribution

use std::collections::{BTreeMap, BTreeSet};

use furlong_stats::attribution::{Calls, Costs, Function};

use super::names::{demangled, stable, symbol};

/// A function in the files: its name and the object that holds it.
type Key = (String, String);

/// Functions of all processes of a command, as the files have them.
#[derive(Debug, Default)]
struct Functions(BTreeMap<Key, Node>);

#[derive(Clone, Debug, Default)]
struct Node {
    own: f64,
    edges: BTreeMap<Key, Calls>,
}

/// The instructions of a command.
pub struct Profiled {
    /// By function.
    pub functions: Costs,
    /// By symbol: the copies of a generic or split function apart. [`stable`] is the name that they
    /// share.
    pub symbols: Costs,
}

/// Reads the instructions and calls of every function from the files of all processes. `None` if
/// one has no instructions.
pub fn profiled(files: &[String]) -> Option<Profiled> {
    let mut symbols = Functions::default();
    for file in files {
        Reader::new(file)?.read(&mut symbols);
    }
    Some(Profiled {
        functions: symbols.merged().folded(),
        symbols: symbols.folded(),
    })
}

impl Profiled {
    /// This, with all costs and calls divided by a number of operations.
    pub fn per(self, operations: f64) -> Self {
        Self {
            functions: self.functions.per(operations),
            symbols: self.symbols.per(operations),
        }
    }
}

impl Functions {
    /// Functions instead of symbols.
    fn merged(&self) -> Self {
        let merged = |(name, object): &Key| (stable(name), object.clone());
        let mut all = Self::default();
        for (key, node) in &self.0 {
            let into = all.0.entry(merged(key)).or_default();
            into.own += node.own;
            for (callee, calls) in &node.edges {
                add(into.edge(&merged(callee)), *calls, 1.0);
            }
        }
        all
    }

    /// The costs without those that are counted as part of the callers.
    fn folded(mut self) -> Costs {
        self.drop_unnamed();
        self.fold_libraries();
        self.named()
    }

    /// Counts functions without a name as part of their callers, in proportion to the calls.
    fn drop_unnamed(&mut self) {
        let mut callers: BTreeMap<Key, BTreeSet<Key>> = BTreeMap::new();
        for (caller, node) in &self.0 {
            for callee in node.edges.keys().filter(|(name, _)| is_unnamed(name)) {
                let known = callers.entry(callee.clone()).or_default();
                known.insert(caller.clone());
            }
        }
        while let Some((key, known)) = callers.pop_first() {
            let is_circle = known.contains(&key);
            let Some(node) = self.0.remove(&key) else {
                continue;
            };
            let edges = known
                .iter()
                .filter_map(|caller| self.0.get(caller)?.edges.get(&key));
            let all: f64 = edges.map(|edge| edge.number).sum();
            if is_circle || all == 0.0 {
                self.0.insert(key, node);
                continue;
            }
            for callee in node.edges.keys() {
                if let Some(others) = callers.get_mut(callee) {
                    others.remove(&key);
                    others.extend(known.iter().cloned());
                }
            }
            for caller in &known {
                let Some(into) = self.0.get_mut(caller) else {
                    continue;
                };
                let share = into
                    .edges
                    .remove(&key)
                    .map_or(0.0, |edge| edge.number / all);
                into.own += node.own * share;
                for (callee, further) in &node.edges {
                    add(into.edge(callee), *further, share);
                }
            }
        }
    }

    /// Counts functions of libraries as part of the program's functions that call them, unless they
    /// call the program back.
    fn fold_libraries(&mut self) {
        let called: BTreeSet<&Key> = self.0.values().flat_map(|node| node.edges.keys()).collect();
        let is_inner = |key: &Key| is_library(key) && called.contains(key);
        let mut inner: BTreeSet<Key> = self.0.keys().filter(|key| is_inner(key)).cloned().collect();
        loop {
            let leaves = |key: &&Key| {
                let mut callees = self
                    .0
                    .get(*key)
                    .into_iter()
                    .flat_map(|node| node.edges.keys());
                callees.any(|callee| !inner.contains(callee))
            };
            let outer: Vec<Key> = inner.iter().filter(leaves).cloned().collect();
            if outer.is_empty() {
                break;
            }
            outer.iter().for_each(|key| {
                inner.remove(key);
            });
        }
        self.0.retain(|key, _| !inner.contains(key));
        for node in self.0.values_mut() {
            let folded = node
                .edges
                .iter()
                .filter(|(callee, _)| inner.contains(*callee));
            node.own += folded.map(|(_, edge)| edge.cost).sum::<f64>();
            node.edges.retain(|callee, _| !inner.contains(callee));
        }
    }

    /// Functions by name alone, so that those of two builds can be matched.
    fn named(self) -> Costs {
        let name = |(name, object): &Key| match is_unnamed(name) {
            true => format!("code without names of {}", base(object)),
            false => name.clone(),
        };
        let mut costs = Costs::default();
        for (key, node) in &self.0 {
            let function: &mut Function = costs.functions.entry(name(key)).or_default();
            function.own += node.own;
            for (callee, edge) in &node.edges {
                add(function.calls.entry(name(callee)).or_default(), *edge, 1.0);
            }
        }
        costs
    }
}

impl Node {
    fn edge(&mut self, callee: &Key) -> &mut Calls {
        self.edges.entry(callee.clone()).or_default()
    }
}

/// Adds a share of further calls.
fn add(calls: &mut Calls, further: Calls, share: f64) {
    calls.number += further.number * share;
    calls.cost += further.cost * share;
}

/// A name that callgrind made of an address.
fn is_unnamed(name: &str) -> bool {
    name.is_empty() || name == "???" || name.starts_with("0x")
}

/// Beginnings of the names of the standard libraries of Rust and C++.
const STANDARD: [&str; 7] = [
    "alloc::",
    "core::",
    "std::",
    "compiler_builtins::",
    "__rust",
    "__rdl_",
    "__gnu_cxx::",
];

/// A function of a shared library, by the name of its file, or of a standard library, by its own.
fn is_library((name, object): &Key) -> bool {
    let name = demangled(name);
    let name = name.trim_start_matches(['<', '&']);
    let file = base(object);
    file.ends_with(".so")
        || file.contains(".so.")
        || STANDARD.iter().any(|standard| name.starts_with(standard))
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A file of callgrind, line by line.
struct Reader<'a> {
    file: &'a str,
    /// Words before the costs of a line.
    positions: usize,
    /// Place of the instructions in the costs.
    instructions: usize,
    /// Names by their short numbers: of functions, and of objects.
    functions: BTreeMap<&'a str, &'a str>,
    objects: BTreeMap<&'a str, &'a str>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str) -> Option<Self> {
        let line = |name: &str| file.lines().find_map(|line| line.strip_prefix(name));
        let positions = line("positions:").map_or(1, |names| names.split_whitespace().count());
        let mut events = line("events:")?.split_whitespace();
        Some(Self {
            file,
            positions,
            instructions: events.position(|event| event == "Ir")?,
            functions: BTreeMap::new(),
            objects: BTreeMap::new(),
        })
    }

    fn read(mut self, into: &mut Functions) {
        let (mut object, mut at) = ("", Key::default());
        let (mut callee_object, mut callee) = (None, Key::default());
        let mut calls = None;
        for line in self.file.lines() {
            if let Some(name) = line.strip_prefix("ob=") {
                object = named(&mut self.objects, name);
            } else if let Some(name) = line.strip_prefix("fn=") {
                at = key(named(&mut self.functions, name), object);
            } else if let Some(name) = line.strip_prefix("cob=") {
                callee_object = Some(named(&mut self.objects, name));
            } else if let Some(name) = line.strip_prefix("cfn=") {
                let name = named(&mut self.functions, name);
                callee = key(name, callee_object.take().unwrap_or(object));
            } else if let Some(counted) = line.strip_prefix("calls=") {
                let count = counted.split_whitespace().next();
                calls = count.and_then(|count| count.parse::<f64>().ok());
            } else if let Some(cost) = self.cost(line) {
                let node = into.0.entry(at.clone()).or_default();
                match calls.take() {
                    Some(number) => add(node.edge(&callee), Calls { number, cost }, 1.0),
                    None => node.own += cost,
                }
            }
        }
    }

    /// Instructions in a line of costs; `None` for any other line.
    fn cost(&self, line: &str) -> Option<f64> {
        let is_cost = line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c));
        let mut words = line.split_whitespace().skip(self.positions);
        // Callgrind omits trailing zeros.
        let cost = words.nth(self.instructions).unwrap_or("0");
        is_cost.then(|| cost.parse().ok()).flatten()
    }
}

fn key(name: &str, object: &str) -> Key {
    (symbol(name).to_owned(), object.to_owned())
}

/// A name of a file: `(12) name` where it is first used, and `(12)` afterwards.
fn named<'a>(known: &mut BTreeMap<&'a str, &'a str>, text: &'a str) -> &'a str {
    let Some((number, name)) = text.split_once(')').filter(|_| text.starts_with('(')) else {
        return text;
    };
    match name.trim() {
        "" => known.get(number).copied().unwrap_or("???"),
        name => {
            known.insert(number, name);
            name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::profiled;
    use furlong_stats::attribution::Costs;

    const FILE: &str = "\
version: 1
positions: line
events: Ir

ob=(1) /bin/program
fl=(1) a.c
fn=(1) main
3 10
cfn=(2) step
calls=4 7
+1 480
cob=(2) /lib/libc.so.6
cfn=(3) malloc
calls=2 0
* 60

fn=(2)
7 40
cob=(1)
cfn=(4) 0x00001030
calls=8 0
8 400

fn=(4)
0 16
cob=(2)
cfn=(3)
calls=8 0
0 384

ob=(2)
fn=(3)
0 404
cfn=(5) grow
calls=1 0
0 40

fn=(5)
0 40
totals: 510
";

    fn costs(file: &str) -> Costs {
        let found = profiled(&[file.to_owned()]).expect("it has instructions");
        // Its names are the same in both.
        assert_eq!(found.functions, found.symbols);
        found.functions
    }

    #[test]
    fn libraries_and_stubs_are_a_part_of_their_callers() {
        let costs = costs(FILE);
        let own = |name: &str| costs.functions[name].own;
        assert_eq!(costs.functions.len(), 2);
        assert_eq!(own("main"), 10.0 + 60.0);
        assert_eq!(own("step"), 40.0 + 16.0 + 384.0);
        assert_eq!(costs.functions["main"].calls["step"].number, 4.0);
        assert_eq!(costs.functions["main"].calls["step"].cost, 480.0);
        assert_eq!(costs.total(), 510.0);
    }

    #[test]
    fn a_library_that_calls_the_program_back_stays() {
        let file = FILE.replace("cfn=(5) grow", "cob=(1)\ncfn=(6) less");
        let costs = costs(&file);
        assert_eq!(costs.functions["malloc"].own, 404.0);
        assert_eq!(costs.functions["malloc"].calls["less"].number, 1.0);
        assert_eq!(costs.functions["step"].calls["malloc"].number, 8.0);
    }

    #[test]
    fn processes_add_up_and_a_file_without_instructions_is_refused() {
        let twice = profiled(&[FILE.to_owned(), FILE.to_owned()]).expect("both have");
        assert_eq!(twice.functions.total(), 1020.0);
        assert!(profiled(&["events: Dr\nfn=(1) main\n1 2\n".to_owned()]).is_none());
    }

    #[test]
    fn copies_of_a_generic_function_are_one_function_and_several_symbols() {
        let [first, second] = ["step::h0123456789abcdef", "step::hfedcba9876543210"];
        let file = FILE.replace("fn=(2) step", &format!("fn=(2) {first}"));
        let file = file.replace("cfn=(5) grow", &format!("cob=(1)\ncfn=(7) {second}"));
        let file = file.replace("fn=(5)\n", "ob=(1)\nfn=(7)\n");
        let found = profiled(&[file]).expect("it has instructions");
        let names = |costs: &Costs| costs.functions.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found.functions), ["main", "malloc", "step"]);
        assert_eq!(names(&found.symbols), ["main", "malloc", first, second]);
        let calls = &found.symbols.functions["malloc"].calls;
        assert_eq!(calls.keys().collect::<Vec<_>>(), [second]);
        assert_eq!(found.functions.functions["malloc"].calls["step"].cost, 40.0);
    }
}

//! `run list` prints the properties, each with its numbers of cases. `run NAME W ..` prints `true`
//! if a property holds for these words.
#![forbid(unsafe_code)]

use furlong::proofs;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words[0] == "list" {
        for property in proofs::all() {
            let cases = property.cases.map(|case| case.to_string());
            println!("{} {}", property.name, cases.join(" "));
        }
        return;
    }
    let property = proofs::all()
        .find(|property| property.name == words[0])
        .expect("there is such a property");
    let input = core::array::from_fn(|at| words[at + 1].parse().expect("a number"));
    println!("{}", (property.holds)(&input));
}

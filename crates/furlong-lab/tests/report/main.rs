//! Reports hold on every result, from usual to hostile.
#![forbid(unsafe_code)]

mod figures;
mod fixture;
mod odd;

#[test]
fn x() {
    for (name, f) in odd::all() {
        println!("=================== {name}");
        println!(
            "{}",
            furlong_lab::report::terminal::render(&f, &Default::default())
        );
    }
    println!("{:?}", fixture::verdicts(&fixture::rich()));
}

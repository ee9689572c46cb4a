//! The command from a user's view. One program holds all tests: it is linked once.
#![forbid(unsafe_code)]

mod ab;
mod ab_benchmarks;
mod ab_layouts;
mod adversity;
mod bisect;
mod callgrind;
mod ci;
mod compare;
mod databases;
mod doctor;
mod examples;
mod figures;
mod fleet;
mod heap;
mod help;
mod history;
mod imports;
mod lab;
mod ministat_vectors;
mod peers;
mod prescribe;
mod record;
mod replay;
mod resume;
mod run;
mod seeds;
mod serve;
mod stat;
mod stat_inputs;
mod store;
mod store_suite;
mod why;

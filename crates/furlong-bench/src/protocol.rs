//! The exchange with a benchmark's program in which another program measures: `furlong ab` lists
//! the benchmarks of two builds, and takes samples of both in turn.

use serde::{Deserialize, Serialize};

/// The variable that makes the program answer a request, and nothing else. Its value is [`LIST`],
/// or group, benchmark, operations and seed of a sample, as JSON.
pub const VARIABLE: &str = "FURLONG_BENCH_SAMPLE";

/// The variable that makes a sample the same in every process, so that its instructions can be
/// counted. Its time then means nothing.
pub const COUNT: &str = "FURLONG_BENCH_COUNT";

/// The functions with a sample's operations and nothing else, in callgrind's spelling.
pub const COUNTED: &str = "furlong_bench::timed::*";

/// The request for all benchmarks. The answer is a line of JSON: pairs of group and benchmark.
pub const LIST: &str = "list";

/// A sample's result. It is the last line of the answer, as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Operations in the timed stretches.
    pub operations: u64,
    /// Seconds in the timed stretches.
    pub elapsed_s: f64,
    /// Digest of the answers; 0 if the loop has none.
    pub digest: u64,
}

//! The result of a run, as it is stored, shown and exchanged: `furlong.result/1`.
//!
//! Fields may be added, but never renamed. The JSON Schema in `schema/` describes the same format;
//! a test validates every output against it.

pub use furlong_stats::value::{
    ArmResult, Better, ByLayout, ByNode, CONTROL, Comparison, Control, Direction, ExperimentResult,
    Fleet, Kind, Machine, MannWhitney, Metric, NodeEffect, NodesTest, ResultFile, Run, SCHEMA,
    Student, Summary, TTest, VarianceTest, Verdict, WorkloadResult,
};

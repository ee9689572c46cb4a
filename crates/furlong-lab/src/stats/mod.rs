//! Statistics: samples in, tests, intervals and the verdict out. Pure functions.
#![forbid(unsafe_code)]

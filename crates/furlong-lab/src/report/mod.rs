//! A result as a person or a program reads it.
#![forbid(unsafe_code)]

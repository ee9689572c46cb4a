//! Executable specification.

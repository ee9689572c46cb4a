//! The CPU that a thread was told to be.
#![forbid(unsafe_code)]

use furlong::bounce::Cpu;

use crate::experiments::iova_magazine::{ThreadCpu, cpu};

impl Cpu for ThreadCpu {
    #[inline]
    fn number(&self) -> usize {
        cpu()
    }
}

//! The peers as arms of `tree-order`.
#![forbid(unsafe_code)]

use furlong_experiments::ordered::{self, ByKey};
use furlong_lab::model::{Arm, ArmFn, Failure, Outcome, Request};

use super::{Brie, ByNode, Overlaps};

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "tree-order";

/// All peers.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![
        arm("intrusive-collections", intrusive),
        arm("iset", ordered::run::<Overlaps>),
        arm("brie-tree", ordered::run::<Brie>),
    ]
}

fn arm(name: &'static str, run: ArmFn) -> Arm {
    Arm {
        counts: false,
        ..Arm::new(name, run)
    }
}

/// Removes by node, as the arm that it is compared with; `-key` workloads search first.
fn intrusive(request: &Request) -> Result<Outcome, Failure> {
    if request.workload.name.ends_with("-key") {
        ordered::run::<ByKey<ByNode>>(request)
    } else {
        ordered::run::<ByNode>(request)
    }
}

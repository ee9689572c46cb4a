//! Runs shared by the nodes of a Slurm cluster: with a stand-in for Slurm that does every task at
//! once, and with the real one on this machine.

mod cluster;
mod helped;
mod nodes;
mod parts;
mod refusals;
mod revisions;
mod stand_in;
mod stopped;

use std::fs;
use std::path::{Path, PathBuf};

use furlong_lab::fleet::Dir;
use furlong_lab::fleet::order::Order;
use furlong_lab::fleet::part::Part;
use furlong_lab::fleet::step::Step;
use furlong_lab::model::result::{CONTROL, ResultFile};
use furlong_lab::record::ledger::Place;
use furlong_lab::record::line::Line;

/// The complete parts in a fleet's directory, with their steps.
fn parts(dir: &Path) -> Vec<(Step, Part)> {
    let dir = Dir::open(dir).unwrap();
    let order = Order::read(&dir).unwrap();
    let steps = Step::all(&order.schedule).into_iter();
    let read = |step| Some((step, Part::read(&dir.part(step), &order, step).unwrap()?));
    steps.filter_map(read).collect()
}

/// Checks that the result has every sample of the blocks in the parts, and no other.
fn same_samples(result: &ResultFile, parts: &[(Step, Part)]) {
    let mut values = 0;
    let mut blocks = 0;
    for (_, part) in parts {
        for (node, line) in part.lines() {
            let Line::Block { place, block } = line else {
                continue;
            };
            blocks += 1;
            let Place {
                experiment,
                workload,
            } = *place;
            let workload = &result.experiments[experiment].workloads[workload];
            let index = workload.blocks.iter().position(|n| *n == block.number);
            let index = index.unwrap();
            let order: Vec<&str> = block.samples.iter().map(|s| s.runner.as_str()).collect();
            assert_eq!(workload.order[index], order);
            let here = &workload.params["blocks_by_node"][node];
            assert!(
                here.as_array().unwrap().contains(&block.number.into()),
                "{node}: {here}"
            );
            for sample in &block.samples {
                for (metric, value) in &sample.values {
                    let merged = if sample.runner == CONTROL {
                        &workload.control[metric].samples
                    } else {
                        let mut arms = workload.arms.iter();
                        let arm = arms.find(|arm| arm.name == sample.runner).unwrap();
                        &arm.samples[metric]
                    };
                    let merged = merged[index].unwrap();
                    assert_eq!(
                        merged.to_bits(),
                        value.to_bits(),
                        "{metric} of {}",
                        sample.runner
                    );
                    values += 1;
                }
            }
        }
    }
    let workloads = result.experiments.iter().flat_map(|one| &one.workloads);
    let mut merged = (0, 0);
    for workload in workloads {
        assert!(workload.blocks.is_sorted(), "{:?}", workload.blocks);
        merged.0 += workload.blocks.len();
        let sampled = workload.arms.iter().flat_map(|arm| arm.samples.values());
        let sampled = sampled.chain(workload.control.values().map(|control| &control.samples));
        let aligned = sampled.filter(|samples| samples.len() == workload.blocks.len());
        merged.1 += aligned.flatten().flatten().count();
    }
    assert_eq!(merged, (blocks, values));
    assert!(values > 0, "nothing was compared");
}

/// The directory of the only fleet in a place.
fn only_fleet(place: &Path) -> PathBuf {
    let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap());
    let fleets = entries.filter(|entry| {
        let name = entry.file_name().into_string().unwrap();
        name.starts_with("furlong-") && entry.path().is_dir()
    });
    let fleets: Vec<PathBuf> = fleets.map(|entry| entry.path()).collect();
    assert_eq!(fleets.len(), 1, "{fleets:?}");
    fleets[0].clone()
}

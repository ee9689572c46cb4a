//! A whole run from the command line, on three nodes of a real Slurm.

use super::cluster::{Cluster, NODES};
use super::{only_fleet, parts, same_samples};
use crate::lab::{read, says, words};

#[test]
fn a_run_goes_over_three_nodes_and_its_report_names_the_effect_on_each() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let run = "run tree-order --workloads ins --profile smoke --blocks 9 --on slurm --json r.json";
    let run = format!("{run} --details");
    let (shown, said) = cluster.ends(0, &words(&run));
    says(&said, &["10 tasks are submitted"]);
    let result = read(&cluster.home.path("r.json"));
    let parts = parts(&only_fleet(&cluster.home.path("")));
    assert_eq!(parts.len(), 10);
    assert!(parts.iter().all(|(_, part)| part.is_whole()));
    same_samples(&result, &parts);
    let fleet = result.run.machine.fleet.as_ref().unwrap();
    assert_eq!(fleet.nodes.keys().collect::<Vec<_>>(), NODES);
    let words = words(&shown).join(" ");
    for node in NODES {
        // A large effect is reported as a ratio, without a sign.
        assert!(words.contains(&format!(" {node} ")), "{node}\n{shown}");
    }
    let deciding = &result.experiments[0].workloads[0].comparisons[0];
    let by_node = deciding.by_node.as_ref().unwrap();
    assert_eq!(by_node.effects.iter().map(|node| node.n).sum::<usize>(), 9);
    assert!(by_node.differ.is_some());
}

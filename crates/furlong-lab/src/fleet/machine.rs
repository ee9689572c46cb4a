//! Common properties of the machines of a fleet, and warnings about them.

use std::collections::BTreeMap;

use crate::hash::fnv1a;
use crate::model::result::{Fleet, Machine};
use crate::record::{STEAL_MAX_PCT, disturbing_load};

/// Returns the fleet as one machine, without the properties that differ between nodes.
pub(super) fn in_common(dir: &str, nodes: &BTreeMap<String, Machine>, head: &Machine) -> Machine {
    let all: Vec<&Machine> = nodes.values().collect();
    let Some(first) = all.first() else {
        return head.clone();
    };
    let mut ids: Vec<&str> = all.iter().map(|node| node.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let names: Vec<&str> = nodes.keys().map(String::as_str).collect();
    let most = |of: fn(&Machine) -> Option<f64>| {
        let values = all.iter().filter_map(|node| of(node));
        values.max_by(f64::total_cmp)
    };
    Machine {
        // Figures are comparable between runs on the same set of machines only.
        id: match ids[..] {
            _ if head.class.is_some() => head.id.clone(),
            [one] => one.to_owned(),
            _ => format!("{:016x}", fnv1a(ids.join("\n").as_bytes())),
        },
        class: head.class.clone(),
        host: match names[..] {
            [one] => one.to_owned(),
            _ => format!("{} nodes ({})", names.len(), shortened(&names)),
        },
        kernel: shared(&all, |node| Some(node.kernel.clone()))
            .unwrap_or_else(|| "several kernels".to_owned()),
        cpu: shared(&all, |node| node.cpu.clone()),
        cpus: all.iter().map(|node| node.cpus).min().unwrap_or(0),
        memory_bytes: all.iter().filter_map(|node| node.memory_bytes).min(),
        caches: shared(&all, |node| Some(node.caches.clone())).unwrap_or_default(),
        hypervisor: shared(&all, |node| node.hypervisor.clone()),
        governor: shared(&all, |node| node.governor.clone()),
        turbo: shared(&all, |node| node.turbo),
        smt: shared(&all, |node| node.smt),
        aslr: shared(&all, |node| node.aslr),
        thp: shared(&all, |node| node.thp.clone()),
        load_1m: most(|node| node.load_1m),
        steal_pct: most(|node| node.steal_pct),
        rustc: first.rustc.clone(),
        build: first.build.clone(),
        fleet: Some(Fleet {
            dir: dir.to_owned(),
            nodes: nodes.clone(),
        }),
    }
}

/// Abbreviates a list of names.
fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 6;
    match names.len() {
        0..=SHOWN => names.join(", "),
        all => format!("{}, .. {}", names[..SHOWN - 1].join(", "), names[all - 1]),
    }
}

/// Returns a property that is the same on all nodes.
fn shared<T: PartialEq>(nodes: &[&Machine], of: impl Fn(&Machine) -> Option<T>) -> Option<T> {
    let first = of(nodes.first()?)?;
    let alike = nodes.iter().all(|node| of(node).as_ref() == Some(&first));
    alike.then_some(first)
}

/// Returns conditions that spoil the figures of some nodes, each with a remedy.
pub(super) fn spoilers(nodes: &BTreeMap<String, Machine>) -> Vec<String> {
    let named = |spoils: fn(&Machine) -> bool| {
        let named = nodes.iter().filter(|(_, node)| spoils(node));
        let names: Vec<&str> = named.map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let loaded = named(|node| disturbing_load(node).is_some());
    let loaded = loaded.map(|names| {
        format!("other programs were running on {names}: make Slurm give each job its own node")
    });
    let stolen = named(|node| node.steal_pct.is_some_and(|steal| steal > STEAL_MAX_PCT));
    let stolen = stolen.map(|names| {
        format!(
            "the hypervisor gave more than {STEAL_MAX_PCT} % of the time of {names} to other \
             guests: leave those nodes out (--slurm=--exclude=..), or repeat the run"
        )
    });
    loaded.into_iter().chain(stolen).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{in_common, spoilers};
    use crate::model::result::Machine;

    fn node(id: &str, kernel: &str, load: f64) -> Machine {
        Machine {
            id: id.to_owned(),
            kernel: kernel.to_owned(),
            cpus: 4,
            load_1m: Some(load),
            ..Machine::default()
        }
    }

    fn fleet(nodes: &[(&str, Machine)]) -> BTreeMap<String, Machine> {
        let nodes = nodes.iter().cloned();
        nodes.map(|(name, node)| (name.to_owned(), node)).collect()
    }

    #[test]
    fn a_fleet_is_what_its_nodes_share_and_is_named_by_them() {
        let two = fleet(&[
            ("n2", node("b", "Linux 6", 0.1)),
            ("n1", node("a", "Linux 6", 0.7)),
        ]);
        let common = in_common("/d", &two, &Machine::default());
        assert_eq!(
            (common.host.as_str(), common.kernel.as_str()),
            ("2 nodes (n1, n2)", "Linux 6")
        );
        assert_eq!((common.cpus, common.load_1m), (4, Some(0.7)));
        let turned = fleet(&[
            ("x", node("b", "Linux 5", 0.0)),
            ("y", node("a", "Linux 6", 0.0)),
        ]);
        let other = in_common("/d", &turned, &Machine::default());
        assert_eq!(other.kernel, "several kernels");
        assert_eq!(other.id, common.id, "the machines are the same");
        let one = in_common(
            "/d",
            &fleet(&[("n1", node("a", "k", 0.0))]),
            &Machine::default(),
        );
        assert_eq!((one.id.as_str(), one.host.as_str()), ("a", "n1"));
        assert_ne!(one.id, common.id);
    }

    #[test]
    fn nodes_that_do_other_work_or_lose_time_are_named() {
        let mut stolen = node("c", "k", 0.0);
        stolen.steal_pct = Some(3.0);
        let nodes = fleet(&[
            ("n1", node("a", "k", 0.1)),
            ("n2", node("b", "k", 2.5)),
            ("n3", stolen),
        ]);
        let said = spoilers(&nodes);
        assert_eq!(said.len(), 2);
        assert!(
            said[0].contains(" on n2:") && said[1].contains(" of n3 "),
            "{said:?}"
        );
    }
}

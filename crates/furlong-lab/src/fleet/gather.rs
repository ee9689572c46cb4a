//! Reads the parts of a fleet's directory into a ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::time::SystemTime;

use super::Dir;
use super::order::Order;
use super::part::Part;
use super::step::Step;
use crate::measure::campaign::End;
use crate::model::result::Machine;
use crate::record::ledger::{Ledger, Place};
use crate::record::line::Line;
use furlong_stats::nodes::NODES;

/// The parts read so far.
pub(super) struct Gather<'a> {
    dir: &'a Dir,
    pub(super) order: &'a Order,
    /// Every step, in order.
    pub(super) steps: Vec<Step>,
    /// Steps with every block in the ledger, whatever the state of their parts.
    entered: BTreeSet<Step>,
    /// State of the parts that have a file.
    known: BTreeMap<Step, Known>,
    /// Machines of the fleet, by the names of their nodes.
    pub(super) nodes: BTreeMap<String, Machine>,
    /// Description of a wrong answer, if the answers of arms disagree.
    pub(super) wrong: Option<String>,
}

/// State of a step's part.
struct Known {
    /// Length and time of the file, by which a changed file is recognized.
    stamp: (u64, Option<SystemTime>),
    standing: Result<Option<End>, String>,
}

impl<'a> Gather<'a> {
    pub(super) fn new(dir: &'a Dir, order: &'a Order) -> Self {
        Self {
            dir,
            order,
            steps: Step::all(&order.schedule),
            entered: BTreeSet::new(),
            known: BTreeMap::new(),
            nodes: BTreeMap::new(),
            wrong: None,
        }
    }

    /// Reads new and changed parts and replays them to the ledger.
    pub(super) fn read(&mut self, ledger: &mut Ledger) {
        for step in self.steps.clone() {
            let path = self.dir.part(step);
            let Ok(stamp) = fs::metadata(&path).map(|file| stamp(&file)) else {
                continue;
            };
            if self
                .known
                .get(&step)
                .is_some_and(|known| known.stamp == stamp)
            {
                continue;
            }
            let standing = match Part::read(&path, self.order, step) {
                // The file was set aside at this moment.
                Ok(None) => continue,
                Ok(Some(part)) => {
                    self.tell(&part, ledger);
                    Ok(part.end().cloned())
                }
                Err(flaw) => Err(flaw),
            };
            self.known.insert(step, Known { stamp, standing });
        }
        self.entered = self.entered_in(ledger);
    }

    /// Returns the steps with every block in a ledger, and the preparation if no block is missing.
    fn entered_in(&self, ledger: &Ledger) -> BTreeSet<Step> {
        let has = |number: u32| {
            let places = Place::all(&self.order.schedule);
            let mut due = places.filter(|(_, scheduled)| number <= scheduled.blocks);
            due.all(|(place, _)| ledger.has_block(place, number))
        };
        let blocks = self.steps.iter().filter(|step| match step {
            Step::Prepare => false,
            Step::Block(number) => has(*number),
        });
        let mut entered: BTreeSet<Step> = blocks.copied().collect();
        let others = self.steps.iter().filter(|step| **step != Step::Prepare);
        if others.count() == entered.len() {
            entered.insert(Step::Prepare);
        }
        entered
    }

    /// Returns the steps that are not done.
    pub(super) fn undone(&self) -> Vec<Step> {
        let mut undone = self.steps.clone();
        undone.retain(|step| {
            let known = self.known.get(step).map(|known| &known.standing);
            let is_whole = matches!(known, Some(Ok(Some(End::Finished))));
            !is_whole && !self.entered.contains(step)
        });
        undone
    }

    /// Returns the reason from a step's part why it is not done.
    pub(super) fn excuse(&self, step: Step) -> Option<String> {
        match &self.known.get(&step)?.standing {
            Ok(Some(End::Fatal(why) | End::WrongAnswer(why) | End::TooShort(why))) => {
                Some(why.clone())
            }
            Ok(Some(End::Interrupted)) => Some("stopped".to_owned()),
            Ok(Some(End::Finished) | None) => None,
            Err(flaw) => Some(format!("{} {flaw}", self.dir.part(step).display())),
        }
    }

    /// Returns files among the parts that do not belong to this run.
    pub(super) fn strays(&self) -> Vec<String> {
        let ours: BTreeSet<_> = self.steps.iter().map(|step| self.dir.part(*step)).collect();
        let files = fs::read_dir(self.dir.parts())
            .into_iter()
            .flatten()
            .flatten();
        let mut strays: Vec<String> = files
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .filter(|path| !ours.contains(path))
            .map(|path| path.display().to_string())
            .collect();
        strays.sort();
        strays
    }

    fn tell(&mut self, part: &Part, ledger: &mut Ledger) {
        for stint in &part.stints {
            self.nodes.insert(stint.node.clone(), stint.machine.clone());
            if let Some(End::WrongAnswer(what)) = &stint.end {
                self.wrong = Some(format!("on {}: {what}", stint.node));
            }
        }
        for (node, line) in part.lines() {
            if let Line::Block { place, block } = line {
                // Before the block, so that no block is without its node.
                note_node(ledger, *place, node, block.number);
            }
            line.tell(ledger);
        }
    }
}

fn stamp(file: &Metadata) -> (u64, Option<SystemTime>) {
    (file.len(), file.modified().ok())
}

/// Records the node on which a block was measured.
fn note_node(ledger: &mut Ledger, place: Place, node: &str, block: u32) {
    let noted = ledger.workload(place).params.get(NODES);
    let noted = noted.and_then(|noted| serde_json::from_value(noted.clone()).ok());
    let mut nodes: BTreeMap<String, BTreeSet<u32>> = noted.unwrap_or_default();
    if nodes.values().any(|blocks| blocks.contains(&block)) {
        return;
    }
    nodes.entry(node.to_owned()).or_default().insert(block);
    ledger.note(place, NODES, serde_json::json!(nodes));
}

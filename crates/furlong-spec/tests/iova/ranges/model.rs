//! A space as a row of cells. It carries out each range operation by brute force.
#![forbid(unsafe_code)]

use furlong::iova::Kind;

/// First and last granule, counted from the start of the space.
pub(crate) type Run = (u64, u64);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Cell {
    extent: u32,
    kind: Kind,
}

/// The extent that each granule belongs to.
#[derive(Clone)]
pub(crate) struct Model {
    cells: Vec<Option<Cell>>,
    names: u32,
}

impl Model {
    pub(crate) fn new(granules: u64) -> Self {
        Self {
            cells: vec![None; granules as usize],
            names: 0,
        }
    }

    pub(crate) fn granules(&self) -> u64 {
        self.cells.len() as u64
    }

    /// Maximal ranges of equal cells in a run.
    fn stretches(&self, (first, last): Run) -> Vec<(Run, Option<Cell>)> {
        let mut found: Vec<(Run, Option<Cell>)> = Vec::new();
        for at in first..=last {
            let cell = self.cells[at as usize];
            match found.last_mut() {
                Some(((_, last), before)) if *before == cell => *last = at,
                _ => found.push(((at, at), cell)),
            }
        }
        found
    }

    fn whole(&self) -> Run {
        (0, self.granules() - 1)
    }

    /// All extents.
    pub(crate) fn reserved(&self) -> Vec<(Run, Kind)> {
        let all = self.stretches(self.whole());
        let taken = all
            .into_iter()
            .filter_map(|(run, cell)| Some((run, cell?.kind)));
        taken.collect()
    }

    /// The extents that overlap the run.
    pub(crate) fn reserved_in(&self, (first, last): Run) -> Vec<(Run, Kind)> {
        let mut all = self.reserved();
        all.retain(|((start, end), _)| *start <= last && first <= *end);
        all
    }

    pub(crate) fn free_in(&self, run: Run) -> Vec<Run> {
        let all = self.stretches(run).into_iter();
        all.filter(|(_, cell)| cell.is_none())
            .map(|(run, _)| run)
            .collect()
    }

    pub(crate) fn free(&self) -> Vec<Run> {
        self.free_in(self.whole())
    }

    fn put(&mut self, (first, last): Run, cell: Option<Cell>) {
        self.cells[first as usize..=last as usize].fill(cell);
    }

    pub(crate) fn reserve(&mut self, run: Run, kind: Kind) {
        let extent = self.names;
        self.names += 1;
        self.put(run, Some(Cell { extent, kind }));
    }

    /// Reserves the free parts as fixed. Returns them, or the extent in the way.
    pub(crate) fn reserve_fixed(&mut self, run: Run) -> Result<Vec<Run>, Run> {
        let owners = self.reserved_in(run);
        if let Some((owner, _)) = owners.iter().find(|(_, kind)| *kind != Kind::Fixed) {
            return Err(*owner);
        }
        Ok(self.fill(run, Kind::Fixed))
    }

    pub(crate) fn fill(&mut self, run: Run, kind: Kind) -> Vec<Run> {
        let parts = self.free_in(run);
        for part in &parts {
            self.reserve(*part, kind);
        }
        parts
    }

    /// Releases the run except for the kind `kept`. Returns the released parts with their former
    /// kinds.
    pub(crate) fn release_range(&mut self, (first, last): Run, kept: Kind) -> Vec<(Run, Kind)> {
        let mut released = Vec::new();
        for ((start, end), kind) in self.reserved_in((first, last)) {
            if kind == Kind::Fixed {
                continue;
            }
            let part = (start.max(first), end.min(last));
            self.put((start, end), None);
            if start < part.0 {
                self.reserve((start, part.0 - 1), kept);
            }
            if part.1 < end {
                self.reserve((part.1 + 1, end), kept);
            }
            released.push((part, kind));
        }
        released
    }

    /// The kind of the extent that equals this run.
    pub(crate) fn kind(&self, run: Run) -> Option<Kind> {
        let all = self.reserved();
        all.iter()
            .find(|(found, _)| *found == run)
            .map(|(_, kind)| *kind)
    }

    pub(crate) fn release(&mut self, run: Run) {
        self.put(run, None);
    }

    pub(crate) fn release_unclaimed(&mut self) -> Vec<Run> {
        let mut all = self.reserved();
        all.retain(|(_, kind)| *kind == Kind::Unclaimed);
        for (run, _) in &all {
            self.put(*run, None);
        }
        all.into_iter().map(|(run, _)| run).collect()
    }
}

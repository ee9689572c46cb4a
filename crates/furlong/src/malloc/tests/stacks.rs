//! The stacks of a heap compared with vectors, over a random stream of all their operations.
#![forbid(unsafe_code)]

use super::super::class::Class;
use super::super::thread::bins::{Bins, DEPTH, STACKS, STACKS_ALIGN};
use super::super::{Linux, PageSource};
use super::numbers;

/// The stack of a class: blocks from the bottom, and full chunks that are aside.
struct Model {
    class: Class,
    depth: usize,
    chunk: Vec<usize>,
    aside: Vec<Vec<usize>>,
}

impl Model {
    fn of(size: usize) -> Self {
        Self {
            class: Class::of(size).expect("there is a class for it"),
            depth: 0,
            chunk: vec![],
            aside: vec![],
        }
    }

    fn all(&self) -> Vec<usize> {
        let mut all = self.aside.concat();
        all.extend(&self.chunk);
        all.sort_unstable();
        all
    }
}

fn new_bins() -> Bins {
    let place = Linux.map(STACKS.next_multiple_of(4096), STACKS_ALIGN.max(4096));
    let bins = Bins::nothing();
    bins.begin(place.expect("there is memory").as_ptr().expose_provenance());
    bins
}

fn aside_bytes(models: &[Model]) -> usize {
    let bytes = |model: &Model| model.aside.len() * DEPTH * model.class.size();
    models.iter().map(bytes).sum()
}

/// Asserts that a stack has the model's blocks and no others.
fn are_equal(bins: &Bins, model: &Model, absent: usize) {
    let mut shown = vec![];
    bins.each(model.class, |block| shown.push(block));
    shown.sort_unstable();
    assert_eq!(shown, model.all());
    assert_eq!(bins.len(model.class), shown.len());
    assert!(shown.iter().all(|block| bins.has(model.class, *block)));
    assert!(!bins.has(model.class, absent));
}

/// Pushes a block: at a full chunk, it is set aside or half emptied first.
fn push(bins: &Bins, models: &mut [Model], at: usize, block: usize, most: usize) {
    let bytes = aside_bytes(models);
    let model = &mut models[at];
    let room = model.chunk.len() < model.depth;
    assert_eq!(bins.push(model.class.number(), block), room);
    if !room {
        let is_put = model.depth == DEPTH && bytes + DEPTH * model.class.size() <= most;
        assert_eq!(bins.put_aside(model.class.number(), most), is_put);
        if is_put {
            model.aside.push(std::mem::take(&mut model.chunk));
        } else {
            let count = model.depth.div_ceil(2);
            let mut out = vec![];
            bins.drain(model.class.index(), count, |block| out.push(block));
            assert_eq!(out, model.chunk.drain(..count).collect::<Vec<_>>());
        }
        let again = model.depth > 0;
        assert_eq!(bins.push(model.class.number(), block), again);
        if !again {
            return;
        }
    }
    model.chunk.push(block);
}

/// Pops a block, from a chunk that was aside if need be; gives an empty stack another depth.
fn pop(bins: &Bins, model: &mut Model, below: &mut impl FnMut(usize) -> usize) {
    let block = bins.pop(model.class.index());
    assert_eq!(block, model.chunk.pop().unwrap_or(0));
    if block != 0 {
        return;
    }
    assert_eq!(bins.take_back(model.class), !model.aside.is_empty());
    if let Some(full) = model.aside.pop() {
        model.chunk = full;
        return;
    }
    model.depth = [0, 1, 2, DEPTH, DEPTH][below(5)];
    bins.shape(model.class, model.depth);
    let count = below(model.depth + 1);
    let mut filling = bins.fill(model.class, count);
    let new: Vec<usize> = (0..count).map(|_| (1 + below(1 << 40)) << 4).collect();
    new.iter().for_each(|block| filling.put(*block));
    model.chunk.extend(new.into_iter().rev());
}

#[test]
fn stacks_agree_with_vectors() {
    for seed in 1..=3 {
        let (bins, mut below) = (new_bins(), numbers(seed));
        let mut models = [16, 48, 1024, 65_536].map(Model::of);
        for step in 0..60_000 {
            let at = below(models.len());
            // Now more of the one, now more of the other.
            if below(10) < if step / 2000 % 2 == 0 { 7 } else { 3 } {
                let block = (1 + below(1 << 40)) << 4;
                push(&bins, &mut models, at, block, 200_000);
            } else {
                pop(&bins, &mut models[at], &mut below);
            }
            if step % 97 == 0 {
                are_equal(&bins, &models[at], 8);
            }
            if step % 1009 == 0 {
                let model = &mut models[at];
                let len = model.chunk.len();
                bins.shuffle(model.class, &mut below);
                model.chunk = (0..len).map(|_| bins.pop(model.class.index())).collect();
                model.chunk.reverse();
                let chunk = model.chunk.iter();
                chunk.for_each(|block| assert!(bins.push(model.class.number(), *block)));
            }
        }
        models.iter().for_each(|model| are_equal(&bins, model, 8));
        bins.forget();
        for model in models {
            assert_eq!(
                (bins.len(model.class), bins.has(model.class, 16)),
                (0, false)
            );
            assert!(!bins.push(model.class.number(), 16) && !bins.take_back(model.class));
        }
    }
}

#[test]
fn so_many_chunks_are_aside_of_one_class_and_of_all() {
    let (bins, mut all) = (new_bins(), 0);
    for size in (16..=96).step_by(16) {
        let model = Model::of(size);
        bins.shape(model.class, DEPTH);
        let mut asides = 0;
        loop {
            (1..=DEPTH).for_each(|block| assert!(bins.push(model.class.number(), block << 4)));
            if !bins.put_aside(model.class.number(), usize::MAX) {
                break;
            }
            asides += 1;
        }
        all += asides;
        assert_eq!((asides, all), (127.min(512 - all + asides), all), "{size}");
        assert_eq!(bins.len(model.class), (asides + 1) * DEPTH);
    }
    assert_eq!(all, 512);
    // A chunk of another class makes room.
    let class = Class::numbered(1);
    (0..DEPTH).for_each(|_| assert_ne!(bins.pop(class.index()), 0));
    assert!(bins.take_back(class));
    assert!(bins.put_aside(Class::numbered(6).number(), usize::MAX));
}

/// A reader's walk over the chunks that are aside, of which one after the other becomes spare
/// meanwhile.
#[test]
fn a_reader_of_a_heap_reaches_no_block_of_another_class_through_a_spare_chunk() {
    let bins = new_bins();
    let [other, class] = [1, 2].map(Class::numbered);
    let fill = |class: Class, from| {
        let blocks = (1..=DEPTH).map(|at| from + at * 16);
        blocks.for_each(|block| assert!(bins.push(class.number(), block)));
    };
    bins.shape(other, DEPTH);
    fill(other, 0);
    bins.shape(class, DEPTH);
    for _ in 0..3 {
        fill(class, 1 << 20);
        assert!(bins.put_aside(class.number(), usize::MAX));
    }
    let mut shown = vec![];
    bins.each(class, |block| {
        shown.push(block);
        while bins.take_back(class) {
            (0..DEPTH).for_each(|_| assert_ne!(bins.pop(class.index()), 0));
        }
    });
    assert!(shown.len() >= DEPTH);
    assert!(shown.iter().all(|block| *block > 1 << 20));
}

#[test]
fn random_order_has_every_order() {
    let (bins, mut below) = (new_bins(), numbers(5));
    let class = Class::numbered(1);
    bins.shape(class, 3);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        [16, 32, 48]
            .iter()
            .for_each(|block| assert!(bins.push(1, *block)));
        bins.shuffle(class, &mut below);
        let order = [(); 3].map(|()| bins.pop(1));
        assert_eq!(order.iter().sum::<usize>(), 96);
        seen.insert(order);
    }
    assert_eq!(seen.len(), 6);
}

//! Jobs on correct devices, and on devices with defects.
#![forbid(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;

use furlong::addr::Iova;
use furlong::bounce::{AreaFirst, LockFree, Off};

use super::engine::{Engine, Transfer};
use super::job::Job;
use super::medium::Medium;
use super::originals::Originals;
use super::part::{Part, Path, Way};
use super::plain::Plain;
use super::ring::Ring;
use super::route::{Bounced, Route, Straight};
use crate::bounce::buffer::Buffer;
use crate::bounce::pool::{AREAS, drained};
use crate::bounce::shape::MediumKind;
use crate::bounce::test_memory::Place;
use furlong_lab::model::Failure;

/// Bytes of a block.
const LEN: usize = 8192;

/// Blocks of a part, and buffers of its job.
const BLOCKS: usize = 96;
const BUFFERS: usize = 24;

type Pooled = Bounced<AreaFirst, LockFree, Off>;

/// A device, and a job's part that begins after another block.
fn bench() -> (Medium, Part, Originals) {
    let medium = Medium::create(MediumKind::Ram, ((BLOCKS + 1) * LEN) as u64).unwrap();
    let part = Part::new(1, BLOCKS, LEN, 5);
    part.fill(&medium.file).unwrap();
    (medium, part, Originals::new(BUFFERS, LEN))
}

/// The engine under test.
#[derive(Clone, Copy)]
enum Mover {
    Plain,
    Ring,
    Erring(Defect),
}

/// Defect of the third write.
#[derive(Clone, Copy)]
enum Defect {
    /// It is skipped.
    Lost,
    /// It is written to the next block.
    Astray,
    /// The device reports a failure.
    Refused,
}

impl Mover {
    fn engine(self, file: &File) -> Box<dyn Engine<'_> + '_> {
        let plain = Plain::new(file);
        match self {
            Self::Plain => Box::new(plain),
            Self::Ring => Box::new(Ring::new(file, BUFFERS).unwrap()),
            Self::Erring(defect) => Box::new(Erring {
                plain,
                writes: 0,
                defect,
                lost: vec![],
            }),
        }
    }
}

/// Runs two batches of a job, then verifies the device.
fn batches(route: &impl Route, mover: Mover) -> Result<(), Failure> {
    let (medium, mut part, originals) = bench();
    let engine = mover.engine(&medium.file);
    let mut job = Job::new(route, engine, &originals, &mut part);
    job.batch()?;
    job.batch()?;
    drop(job);
    part.verify(&medium.file)
}

#[test]
fn both_engines_take_both_routes_and_the_device_holds_what_was_written() {
    let pooled = Pooled::new(AREAS).unwrap();
    let mut movers = vec![Mover::Plain];
    movers.extend(Ring::try_out().is_ok().then_some(Mover::Ring));
    for mover in movers {
        batches(&Straight, mover).unwrap();
        batches(&pooled, mover).unwrap();
    }
    drained(&pooled.pool).unwrap();
}

struct Erring<'m> {
    plain: Plain<'m>,
    writes: u32,
    defect: Defect,
    lost: Vec<usize>,
}

impl<'m> Engine<'m> for Erring<'m> {
    fn start(&mut self, tag: usize, mut transfer: Transfer<'m>) -> Result<(), Failure> {
        self.writes += u32::from(transfer.way == Way::Write);
        if self.writes == 3 && transfer.way == Way::Write {
            match self.defect {
                Defect::Lost => {
                    self.lost.push(tag);
                    return Ok(());
                }
                Defect::Astray => transfer.offset += LEN as u64,
                Defect::Refused => return Err(Failure("no".to_owned())),
            }
        }
        self.plain.start(tag, transfer)
    }

    fn wait(&mut self, done: &mut Vec<usize>) -> Result<(), Failure> {
        done.append(&mut self.lost);
        self.plain.wait(done)
    }
}

#[test]
fn a_device_that_loses_a_write_is_seen() {
    for defect in [Defect::Lost, Defect::Astray] {
        let Failure(why) = batches(&Straight, Mover::Erring(defect)).unwrap_err();
        assert!(why.contains("does not hold the data of write"), "{why}");
    }
    let refused = batches(&Straight, Mover::Erring(Defect::Refused));
    assert_eq!(refused, Err(Failure("no".to_owned())));
}

/// A route through a pool that does not copy back data that was read.
struct Forgetful(Pooled);

impl Route for Forgetful {
    fn open<'m>(
        &'m self,
        originals: &'m Originals,
        buffer: usize,
        _: Way,
    ) -> Option<(Iova, Place<'m>)> {
        self.0.open(originals, buffer, Way::Write)
    }

    fn close(&self, end: Iova, _: Way) -> Result<(), Failure> {
        self.0.close(end, Way::Write)
    }
}

#[test]
fn a_pool_that_does_not_copy_back_is_seen() {
    let forgetful = Forgetful(Pooled::new(AREAS).unwrap());
    let Failure(why) = batches(&forgetful, Mover::Plain).unwrap_err();
    assert!(why.contains("does not hold the data of write"), "{why}");
}

#[test]
fn a_changed_byte_anywhere_in_a_block_is_seen_in_the_end() {
    let (medium, part, _) = bench();
    part.verify(&medium.file).unwrap();
    let mut buffer = Buffer::new(LEN, 0);
    for byte in [0, 7, 8, 1000, 2047, 2048, LEN - 1] {
        let offset = part.offset(40);
        medium.file.read_exact_at(buffer.slice(), offset).unwrap();
        buffer.slice()[byte] ^= 1;
        medium.file.write_all_at(buffer.slice(), offset).unwrap();
        let Failure(why) = part.verify(&medium.file).unwrap_err();
        assert_eq!(why, "block 41 does not hold the data of write 1");
        buffer.slice()[byte] ^= 1;
        medium.file.write_all_at(buffer.slice(), offset).unwrap();
    }
    part.verify(&medium.file).unwrap();
}

#[test]
fn a_pass_has_every_block_once_and_half_of_them_are_written() {
    let mut part = Part::new(0, 1000, LEN, 9);
    for path in [Path::Sequential, Path::Random] {
        let steps: Vec<_> = (0..1000).map(|place| part.step(path, place)).collect();
        let mut blocks: Vec<usize> = steps.iter().map(|(block, _)| *block).collect();
        assert_eq!(blocks.is_sorted(), path == Path::Sequential);
        blocks.sort_unstable();
        assert!(blocks.into_iter().eq(0..1000));
        let written = steps.iter().filter(|(_, way)| *way == Way::Write).count();
        assert!((400..600).contains(&written), "{written}");
        part.next_pass();
        let again: Vec<_> = (0..1000).map(|place| part.step(path, place)).collect();
        assert_ne!(steps, again);
    }
}

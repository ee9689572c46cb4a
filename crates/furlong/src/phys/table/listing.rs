//! A table as text: a line for each segment and for each part of it.

use core::fmt;

use crate::addr::{Address, Extent, Pfn};
use crate::phys::{Config, Node, Segment, Segments};

/// Prints a table like `/proc/iomem`: addresses with their last byte, in hexadecimal, and the parts
/// of a segment below it. See [`Segments::listing`].
pub struct Listing<'s, 'a, D, C: Config, const N: usize>(&'s Segments<'a, D, C, N>);

impl<'a, D, C: Config, const N: usize> Segments<'a, D, C, N> {
    /// The table in a form for people to read.
    ///
    /// # Example
    /// ```
    /// use furlong::addr::{Extent, Pfn};
    /// use furlong::phys::{Descriptor, Node, Plug, SegmentTable};
    /// # struct Page(u8);
    /// # impl Descriptor for Page { fn of_frame(_: Pfn) -> Self { Self(0) } }
    ///
    /// let table = SegmentTable::<Page>::new();
    /// let frames = Extent::from_end(Pfn::new(0x100), Pfn::new(0x1000)).unwrap();
    /// let plug = Plug::new(frames).avail(Pfn::new(0x180), Pfn::new(0x1000));
    /// table.lock().plug(plug.node(Node(1)))?;
    /// assert_eq!(
    ///     table.lock().listing().to_string(),
    ///     "0000000100000-0000000ffffff : segment 0.0, node 1, 3840 frames\n  \
    ///        0000000180000-0000000ffffff : available\n\
    ///      1 segment, 3840 frames; not started\n\
    ///      0 bytes of index, 0 bytes of bookkeeping in all\n"
    /// );
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn listing(&self) -> Listing<'_, 'a, D, C, N> {
        Listing(self)
    }
}

impl<D, C: Config, const N: usize> fmt::Display for Listing<'_, '_, D, C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segments = self.0;
        let mut frames = 0;
        for segment in segments.iter() {
            frames += segment.len();
            self.segment(f, &segment)?;
        }
        let count = segments.len();
        let s = if count == 1 { "" } else { "s" };
        write!(f, "{count} segment{s}, {frames} frames; ")?;
        if segments.is_started() {
            writeln!(f, "{} managed", segments.managed())?;
        } else {
            writeln!(f, "not started")?;
        }
        let (index, all) = (segments.index_bytes(), segments.memory_bytes());
        writeln!(
            f,
            "{index} bytes of index, {all} bytes of bookkeeping in all"
        )
    }
}

impl<D, C: Config, const N: usize> Listing<'_, '_, D, C, N> {
    fn segment(&self, f: &mut fmt::Formatter<'_>, segment: &Segment) -> fmt::Result {
        let Segment { id, node, .. } = segment;
        let Node(node) = node;
        line(f, C::PAGE_BITS, "", segment.frames)?;
        write!(f, "{id:?}, node {node}, {} frames", segment.len())?;
        if segment.start_hint > 0 {
            write!(f, ", hint {}", segment.start_hint)?;
        }
        if segment.user > 0 {
            write!(f, ", user {:#x}", segment.user)?;
        }
        writeln!(f)?;
        let hosted = self.0.hosting(segment.id.index).into_iter();
        let isolated = self.0.isolated();
        let parts = hosted.map(|frames| (frames, "bookkeeping"));
        let parts = parts.chain(segment.avail.map(|frames| (frames, "available")));
        let parts = parts.chain(isolated.map(|frames| (frames, "isolated")));
        for (frames, what) in parts.filter(|(frames, _)| frames.overlaps(&segment.frames)) {
            line(f, C::PAGE_BITS, "  ", frames)?;
            writeln!(f, "{what}")?;
        }
        Ok(())
    }
}

/// Begins a line with the addresses of the first and the last byte of frames.
fn line(
    f: &mut fmt::Formatter<'_>,
    page_bits: u32,
    indent: &str,
    frames: Extent<Pfn>,
) -> fmt::Result {
    let start = u128::from(frames.start().raw()) << page_bits;
    let end = (u128::from(frames.last().raw()) + 1) << page_bits;
    write!(f, "{indent}{start:013x}-{:013x} : ", end - 1)
}

impl<D, C: Config, const N: usize> fmt::Debug for Listing<'_, '_, D, C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

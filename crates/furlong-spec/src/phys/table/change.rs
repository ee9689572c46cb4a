//! Operations that change the table.

use core::ops::Range;
use core::sync::atomic::Ordering;

use furlong::addr::{Address, Pfn};
use furlong::phys::{Isolated, Lookup, Node, Plug, SetError, Stale, UnplugError};

use super::super::operation::{Operation, Outcome, Refusal};
use super::refusals::{make_refusal, start_refusal};
use super::{Answer, Held, TableSubject, extent};

/// Bytes in a page.
const PAGE: usize = 4096;

impl<L: Lookup> TableSubject<L> {
    pub(super) fn unplug(&mut self, operation: &Operation) -> Answer {
        let mut segments = self.table.get().lock();
        match operation {
            Operation::Unplug(frames) => {
                let unplugged = segments.unplug(extent(frames));
                unplugged.map_err(|error| self.unplug_refusal(error))?;
            }
            Operation::Isolate(slot, _) if segments.is_started() && self.held[*slot].is_some() => {
                return Err(Refusal::Held);
            }
            Operation::Isolate(slot, frames) => {
                let isolated = segments.isolate(extent(frames));
                let isolated = isolated.map_err(|error| self.unplug_refusal(error))?;
                self.held[*slot] = Some(isolated);
            }
            Operation::Remove(slot) => {
                let isolated = self.held[*slot].take().ok_or(Refusal::Held)?;
                let removed = remove(&mut segments, isolated);
                drop(segments);
                if let Err((why, isolated)) = removed {
                    self.held[*slot] = Some(isolated);
                    return Err(self.unplug_refusal(why));
                }
            }
            Operation::Abort(slot) => {
                let isolated = self.held[*slot].take().ok_or(Refusal::Held)?;
                segments.abort(isolated).expect("it is this table's");
            }
            Operation::Adopt(frame) => {
                let token = segments.adopt(Pfn::new(*frame));
                let token = token.ok_or(Refusal::Unknown(*frame))?;
                let is_it = |held: &&mut Option<Isolated>| {
                    held.as_ref()
                        .is_some_and(|held| held.frames() == token.frames())
                };
                let held = self.held.iter_mut().find(is_it).expect("it was isolated");
                let lost = held.replace(token).expect("as above");
                let (again, frames) = (segments.remove(lost), *frame);
                let refused = again.expect_err("a token that was replaced is refused");
                assert_eq!(refused.cause, UnplugError::StaleToken, "frame {frames}");
                assert!(segments.abort(refused.frames).is_err(), "as above");
            }
            _ => unreachable!("all others are elsewhere"),
        }
        Ok(Outcome::Done)
    }

    pub(super) fn steal(&mut self, operation: &Operation) -> Answer {
        let mut segments = self.table.get().lock();
        let stolen = match operation {
            Operation::Steal(name) => segments.steal(self.id(*name)?),
            Operation::StealForced(name) => segments.steal_forced(self.id(*name)?),
            Operation::StealFrom(nodes) => {
                let nodes: Vec<Node> = nodes.iter().copied().map(Node).collect();
                segments.steal_from(&nodes)
            }
            _ => unreachable!("all others are elsewhere"),
        };
        let stolen = stolen.map_err(|error| self.steal_refusal(error))?;
        Ok(Outcome::Number(Some(stolen.raw())))
    }

    pub(super) fn change(&mut self, operation: &Operation) -> Answer {
        let mut segments = self.table.get().lock();
        match operation {
            Operation::Plug {
                frames,
                avail,
                node,
                user,
            } => {
                let mut plug = Plug::new(extent(frames)).node(Node(*node)).user(*user);
                if let Some(avail) = avail {
                    plug = plug.avail(Pfn::new(avail.start), Pfn::new(avail.end));
                }
                let plugged = segments.plug(plug);
                plugged.map_err(|error| self.plug_refusal(error))?;
            }
            Operation::PlugHosted { frames, spare } => {
                drop(segments);
                return self.plug_hosted(frames, *spare);
            }
            Operation::Make(frame) => {
                let hosting = self.hosting.as_ref().expect("an arm that can");
                let made = (hosting.make)(&mut segments, *frame).map_err(make_refusal)?;
                return Ok(Outcome::Number(Some(u64::from(made))));
            }
            Operation::Start => {
                let managed = segments.start().map_err(start_refusal)?;
                return Ok(Outcome::Number(Some(managed)));
            }
            Operation::Pin(frame, pinned) => {
                let view = segments.view();
                let page = view.page_of(Pfn::new(*frame));
                let page = page.ok_or(Refusal::Unknown(*frame))?;
                page.pinned.store(*pinned, Ordering::SeqCst);
            }
            Operation::Donate(bytes) => {
                drop(segments);
                self.table
                    .lend(*bytes, |table, memory| table.lock().donate(memory));
            }
            _ => unreachable!("all others are elsewhere"),
        }
        Ok(Outcome::Done)
    }

    /// Plugs a hosted range. The outcome is the number of hosting pages.
    fn plug_hosted(&self, frames: &Range<u64>, spare: Option<u64>) -> Answer {
        let hosting = self.hosting.as_ref().expect("an arm that can");
        let frames = extent(frames);
        // For impossible frames there is no size.
        let need = (hosting.bytes)(&self.lock(), frames).unwrap_or(PAGE);
        let bytes = match spare {
            Some(spare) => need.next_multiple_of(PAGE) + spare as usize * PAGE,
            None => need - 1,
        };
        let before = self.lock().memory_bytes();
        let plugged = self.table.lend(bytes, |table, memory| {
            (hosting.plug)(&mut table.lock(), frames, memory)
        });
        match plugged {
            Ok(_) => Ok(Outcome::Number(Some((bytes / PAGE) as u64))),
            Err(error) => {
                let returned = error.memory.expect("nothing has moved there");
                assert_eq!(returned.len(), bytes, "all of it comes back");
                assert_eq!(self.lock().memory_bytes(), before, "nothing is kept");
                Err(self.plug_refusal(error.cause))
            }
        }
    }

    pub(super) fn set(&mut self, operation: &Operation) -> Answer {
        let mut segments = self.table.get().lock();
        let stale = |Stale(id)| SetError::Stale(id);
        let set = match operation {
            Operation::SetAvail(name, avail) => {
                let (start, end) = (Pfn::new(avail.start), Pfn::new(avail.end));
                segments.set_avail(self.id(*name)?, start, end)
            }
            Operation::SetHint(name, hint) => segments.set_start_hint(self.id(*name)?, *hint),
            Operation::SetUser(name, user) => {
                segments.set_user(self.id(*name)?, *user).map_err(stale)
            }
            Operation::SetNode(name, node) => {
                let set = segments.set_node(self.id(*name)?, Node(*node));
                set.map_err(stale)
            }
            _ => unreachable!("all others are elsewhere"),
        };
        set.map_err(|error| self.set_refusal(error))?;
        Ok(Outcome::Done)
    }
}

/// Removes isolated frames. There are no readers, so a few attempts end the grace period.
fn remove<L: Lookup>(
    segments: &mut Held<'_, L>,
    mut isolated: Isolated,
) -> Result<(), (UnplugError, Isolated)> {
    for _ in 0..3 {
        match segments.remove(isolated) {
            Ok(()) => return Ok(()),
            Err(error) if error.cause == UnplugError::Readers => isolated = error.frames,
            Err(error) => return Err((error.cause, error.frames)),
        }
    }
    Err((UnplugError::Readers, isolated))
}

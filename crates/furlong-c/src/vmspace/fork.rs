//! Forks: copies of a space.

use alloc::boxed::Box;
use core::convert::Infallible;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;

use furlong::vmspace::ForkError;

use super::Vmspace;
use super::area::VmspaceArea;
use super::freed::{VmspaceTake, take_back};
use crate::answer::{Given, answer_in};
use crate::errno::Errno;
use crate::handle::on_heap;

/// Makes the child's value for an area. value contains that of the parent, and may be left as it
/// is.
/// Returns 0, or a negative error number that refuses the fork; any other number counts as -EINVAL.
/// It must return, and must not change the parent.
pub type VmspaceCopy =
    Option<extern "C" fn(context: *mut c_void, area: &VmspaceArea, value: &mut u64) -> c_int>;

/// Makes the child of a fork, with the same areas, limits and break, but without areas that a fork
/// does not copy. copy is called for each area of the child, in ascending order. The flags of the
/// area tell whether it is shared or to be wiped. With copy NULL, the child has the values of the
/// parent.
///
/// If copy refuses an area, there is no child. The areas for which copy has already made values are
/// then passed to freed, unless that is NULL. All memory is obtained before copy is called.
///
/// Returns 0, -EINVAL (parent or child is NULL), -ENOMEM or the number of copy: nothing was made.
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_fork(
    parent: Option<&Vmspace>,
    child: Option<&mut MaybeUninit<Box<Vmspace>>>,
    copy: VmspaceCopy,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer_in(child, || {
        let (parent, home) = (parent.given()?, on_heap()?);
        let same = parent
            .0
            .fork(|area| Ok::<_, Infallible>(area.value.clone()));
        let made = same.map_err(|error| match error {
            ForkError::NoMemory => Errno::NO_MEMORY,
            ForkError::Refused(never) => match never {},
        })?;
        let made = Vmspace(made);
        if let Some(copy) = copy {
            made.set_values(copy, freed, context)?;
        }
        Ok(Box::write(home, made))
    })
}

impl Vmspace {
    /// Gives each area of a new child the value that `copy` makes. If that refuses one, the areas
    /// before it go to `freed`.
    fn set_values(
        &self,
        copy: extern "C" fn(*mut c_void, &VmspaceArea, &mut u64) -> c_int,
        freed: VmspaceTake,
        context: *mut c_void,
    ) -> Result<(), Errno> {
        for (at, area) in self.0.areas().enumerate() {
            let mut value = area.value.get();
            let answer = copy(context, &area.into(), &mut value);
            if answer != 0 {
                let made = self.0.areas().take(at);
                made.for_each(|area| take_back(freed, context, area));
                return Err(Errno::of_caller(answer));
            }
            area.value.set(value);
        }
        Ok(())
    }
}

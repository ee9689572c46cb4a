//! A process from exec to exit: its image, heap and stack, a fork, and a fault without a lock.
//!
//! ```text
//! cargo run --example vmspace
//! ```
#![forbid(unsafe_code)]

use std::error::Error;
use std::sync::Arc;

use furlong::addr::VirtAddr;
use furlong::rcu::{Domain, Rcu};
use furlong::sync::SpinLock;
use furlong::vmspace::{
    Access, Advice, Area, At, Errno, FaultError, Flags, Freed, Layout, Prot, Request, Shared,
    Space, Value,
};

/// The object behind an area: a file, or memory.
#[derive(Clone, Debug, PartialEq)]
enum Backing {
    File(Arc<str>),
    Memory,
}

impl Value for Backing {
    /// Called only for neighbours with equal protection and flags and consecutive offsets.
    fn merges(&self, next: &Self) -> bool {
        self == next
    }
}

const RW: Prot = Prot::READ.or(Prot::WRITE);

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut space: Space<Backing> = Space::new(Layout::LINUX_X86_64)?;
    let file = Backing::File("cat".into());
    let text = Request::object(0x5000, Prot::READ | Prot::EXEC, 0, file);
    let text = space.map(text.at(At::Fixed(VirtAddr::new(0x40_0000))), drop)?;
    let stack = Request::anonymous(0x2_1000, RW, Backing::Memory).flags(Flags::GROWS_DOWN);
    let stack = space.map(stack.at(At::Fixed(VirtAddr::new(0x7ffd_0000_0000))), drop)?;

    space.start_brk(VirtAddr::new(0x50_0000));
    space.set_brk(VirtAddr::new(0x50_4321), Backing::Memory, drop)?;
    let scratch = space.map(Request::anonymous(0x3000, RW, Backing::Memory), drop)?;
    assert_eq!(space.len(), 4);

    // A fault one page below the stack makes it grow. A write fault in the text is refused.
    let below = VirtAddr::new(0x7ffc_ffff_f000);
    assert_eq!(space.fault(below, Access::Write)?.extent.start(), below);
    let refused = space.fault(text, Access::Write).unwrap_err();
    assert_eq!(
        (refused, refused.errno()),
        (FaultError::Access, Errno::Eacces)
    );

    // A child gets all areas except the scratch memory.
    space.advise(scratch, 0x3000, Advice::DontFork, drop)?;
    let copy = |area: Area<'_, Backing>| Ok::<_, Errno>(area.value.clone());
    let child = space.fork(copy)?;
    assert_eq!((child.len(), space.len()), (3, 4));

    // The callback gets each unmapped piece; a kernel would clear its page tables there. Dropping
    // the pieces closes the file, after the lock is released.
    let mut freed: Vec<Freed<Backing>> = Vec::with_capacity(2);
    space.unmap(text, 0x2000, |piece| freed.push(piece))?;
    println!("{freed:?}");
    drop(freed);

    // The same space for many threads: a fault looks up its area under a guard, without the lock.
    let shared = Shared::<Backing, _, _>::new(*space.layout(), Domain::new(), SpinLock::new())?;
    shared.lock().copy_from(&space, copy)?;
    let reader = shared.rcu().register()?;
    let guard = reader.enter();
    let seen = shared.look(&guard, stack).ok_or("the stack is mapped")?;
    println!("{:?}", seen.area());
    assert!(seen.is_current());
    drop(guard);
    shared.rcu().poll(usize::MAX);
    Ok(())
}

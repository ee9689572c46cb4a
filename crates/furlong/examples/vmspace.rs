//! A process from exec to exit: its image, heap and stack, a fork, and a fault without a lock.
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
    /// The space asks this where protection and flags are equal and the offsets go on.
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

    // A fault one page below the stack lets it grow; one in the text may not write.
    let below = VirtAddr::new(0x7ffc_ffff_f000);
    assert_eq!(space.fault(below, Access::Write)?.extent.start(), below);
    let refused = space.fault(text, Access::Write).unwrap_err();
    assert_eq!(
        (refused, refused.errno()),
        (FaultError::Access, Errno::Eacces)
    );

    // A child gets all but the scratch memory, which is taken out of the middle of nothing.
    space.advise(scratch, 0x3000, Advice::DontFork, drop)?;
    let copy = |area: Area<'_, Backing>| Ok::<_, Errno>(area.value.clone());
    let child = space.fork(copy)?;
    assert_eq!((child.len(), space.len()), (3, 4));

    // What is unmapped is handed back: here its page tables would be emptied, and there, after the
    // lock, the file is closed.
    let mut freed: Vec<Freed<Backing>> = Vec::with_capacity(2);
    space.unmap(text, 0x2000, |piece| freed.push(piece))?;
    println!("{freed:?}");
    drop(freed);

    // The same space for many threads: faults look areas up under a guard, not under the lock.
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

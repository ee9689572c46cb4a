//! User code that panics while a reader uses the area that a change removes.

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::rcu::{Domain, Rcu};
use furlong::sync::SpinLock;
use furlong::vmspace::{At, Freed, Layout, Prot, Request, Shared};
use furlong_spec::hostile::{Outcome, Watch, panic_at, user_code};

use super::world::{Object, page};

#[test]
fn an_area_that_a_reader_has_outlives_every_panic_of_the_change_that_takes_it_out() {
    let start = VirtAddr::new(page(0));
    for k in 1.. {
        let (watch, rcu) = (Watch::new(), Domain::new());
        let space = Shared::<Object, _, _>::new(Layout::LINUX_X86_64, &rcu, SpinLock::new());
        let space = space.expect("it is Linux's own layout");
        for number in 0..3 {
            let value = Object(watch.value(number));
            let request = Request::anonymous(0x1000, Prot::READ, value);
            let request = request.at(At::Vacant(VirtAddr::new(page(number))));
            space.lock().map(request, drop).expect("the place is free");
        }
        let reader = rcu.register().expect("there are slots");
        let guard = reader.enter();
        let seen = space.look(&guard, start).expect("it is mapped");
        let outcome = panic_at(k, || {
            let freed = |freed: Freed<Object>| {
                user_code("freed");
                drop(freed);
            };
            space.lock().unmap(start, 0x3000, freed)
        });
        rcu.poll(usize::MAX);
        assert_eq!(seen.area().value.0.number(), 0, "the guard is held");
        assert!(watch.alive() >= 3, "all three may have readers");
        drop(guard);
        space.check().expect("the space is whole");
        drop(space);
        rcu.poll(usize::MAX);
        assert_eq!(watch.alive(), 0, "everything is dropped in the end");
        if let Outcome::Done(unmapped) = outcome {
            unmapped.expect("there is memory");
            assert!(k > 6, "each piece is cloned, shown and dropped");
            return;
        }
    }
}

//! Linux as the system below an allocator: each service does what it says, to the page, and leaves
//! `errno` alone.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Read;
use std::ptr::NonNull;
use std::thread;

use furlong::malloc::{Linux, Misuse, PageSource};

/// True if one of many attempts succeeds: the test program's threads map memory of their own, too.
fn once(attempt: impl Fn() -> bool) -> bool {
    (0..100).any(|_| attempt())
}

/// The bytes of address space that the process has mapped. Allocates nothing.
fn process_bytes() -> usize {
    let mut text = [0; 128];
    let mut file = File::open("/proc/self/statm").expect("there is procfs");
    let len = file.read(&mut text).expect("it can be read");
    let text = std::str::from_utf8(&text[..len]).expect("digits");
    let pages: usize = text
        .split(' ')
        .next()
        .and_then(|pages| pages.parse().ok())
        .expect("a number");
    pages * Linux.page_size()
}

fn errno() -> *mut i32 {
    // SAFETY: no contract.
    unsafe { libc::__errno_location() }
}

/// Runs a call, and asserts that it leaves `errno` alone.
fn quietly<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: this thread's errno.
    unsafe { errno().write(77) };
    let done = call();
    // SAFETY: as above.
    assert_eq!(unsafe { errno().read() }, 77);
    done
}

fn map(len: usize, align: usize) -> NonNull<u8> {
    quietly(|| Linux.map(len, align)).expect("there is memory")
}

fn unmap(start: NonNull<u8>, len: usize) {
    // SAFETY: of the caller's mapping, which nobody uses.
    quietly(|| unsafe { Linux.unmap(start, len) });
}

fn bytes<'a>(start: NonNull<u8>, len: usize) -> &'a mut [u8] {
    // SAFETY: of the caller's mapping; no two such slices are used at once.
    unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) }
}

fn at(start: NonNull<u8>, offset: usize) -> NonNull<u8> {
    NonNull::new(start.as_ptr().wrapping_add(offset)).expect("not null")
}

const PAGE: usize = 4096;

#[test]
fn a_mapping_is_aligned_zeroed_and_no_longer_than_requested() {
    assert_eq!(Linux.page_size(), PAGE);
    let aligns = [PAGE, 1 << 16, 4 << 20, 1 << 30];
    for (align, pages) in aligns
        .map(|align| [(align, 1), (align, 5), (align, 1024)])
        .concat()
    {
        let attempt = || {
            let (before, len, cut) = (process_bytes(), pages * PAGE, pages / 2 * PAGE);
            let start = map(len, align);
            assert!(start.addr().get().is_multiple_of(align));
            let whole = process_bytes();
            assert!(bytes(start, len).iter().all(|byte| *byte == 0));
            bytes(start, len).fill(1);
            unmap(at(start, len - cut), cut);
            let shorter = process_bytes();
            unmap(start, len - cut);
            let sizes = [whole, shorter, process_bytes()];
            sizes == [before + len, before + len - cut, before]
        };
        assert!(once(attempt), "{pages} pages at {align}");
    }
}

#[test]
fn what_no_address_space_holds_is_refused() {
    let most = usize::MAX - PAGE + 1;
    let attempt = || {
        let before = process_bytes();
        for (len, align) in [
            (1 << 60, PAGE),
            (most, PAGE),
            (1 << 20, 1 << 63),
            (1 << 63, 1 << 63),
        ] {
            assert_eq!(quietly(|| Linux.map(len, align)), None, "{len} at {align}");
        }
        process_bytes() == before
    };
    assert!(once(attempt));
}

#[test]
fn purged_pages_are_zeros_and_pages_that_are_not_there_are_not_purged() {
    let start = map(4 * PAGE, PAGE);
    bytes(start, 4 * PAGE).fill(9);
    // SAFETY: nobody needs these two pages.
    assert!(quietly(|| unsafe {
        Linux.purge(at(start, PAGE), 2 * PAGE)
    }));
    let dirty = |page: usize| {
        bytes(at(start, page * PAGE), PAGE)
            .iter()
            .all(|byte| *byte == 9)
    };
    assert_eq!([0, 1, 2, 3].map(dirty), [true, false, false, true]);
    assert!(
        bytes(at(start, PAGE), 2 * PAGE)
            .iter()
            .all(|byte| *byte == 0)
    );
    unmap(start, 4 * PAGE);
    // SAFETY: nothing is mapped there.
    assert!(!quietly(|| unsafe {
        Linux.purge(NonNull::dangling(), PAGE)
    }));
}

#[test]
fn a_mapping_is_cut_off_and_grows_where_there_is_room() {
    let attempt = || {
        let before = process_bytes();
        let start = map(8 * PAGE, PAGE);
        bytes(start, 8 * PAGE).fill(5);
        let resize = |old: usize, new: usize| {
            // SAFETY: this mapping, whose end nobody uses.
            quietly(|| unsafe { Linux.resize(start, old * PAGE, new * PAGE) })
        };
        assert!(resize(8, 3));
        let shorter = process_bytes();
        // Another thread may have got the place.
        let grew = resize(3, 8);
        let sizes = [shorter, process_bytes()];
        // The next page of the mapping itself is in the way.
        assert!(!resize(1, 2));
        let all = bytes(start, if grew { 8 } else { 3 } * PAGE);
        assert!(all[..3 * PAGE].iter().all(|byte| *byte == 5));
        assert!(all[3 * PAGE..].iter().all(|byte| *byte == 0));
        unmap(start, all.len());
        grew && sizes == [before + 3 * PAGE, before + 8 * PAGE]
    };
    assert!(once(attempt));
}

#[test]
fn pages_move_to_another_mapping_with_their_contents() {
    let attempt = || {
        let before = process_bytes();
        let (from, to) = (map(2 * PAGE, PAGE), map(4 * PAGE, PAGE));
        bytes(from, 2 * PAGE).fill(3);
        bytes(to, 4 * PAGE).fill(4);
        // SAFETY: two mappings, of which one goes.
        assert!(quietly(|| unsafe {
            Linux.relocate(from, 2 * PAGE, to, 2 * PAGE)
        }));
        let size = process_bytes();
        let of = |page: usize| bytes(at(to, page * PAGE), PAGE)[PAGE - 1];
        assert_eq!([0, 1, 2, 3].map(of), [3, 3, 4, 4]);
        unmap(to, 4 * PAGE);
        (size, process_bytes()) == (before + 4 * PAGE, before)
    };
    assert!(once(attempt));
}

#[test]
fn populated_pages_have_memory_and_guards_are_inaccessible() {
    let start = map(4 * PAGE, PAGE);
    // SAFETY: mapped pages.
    quietly(|| unsafe { Linux.populate(start, 3 * PAGE) });
    let mut present = [0_u8; 4];
    // SAFETY: mapped pages, and a place for a byte each.
    unsafe { libc::mincore(start.as_ptr().cast(), 4 * PAGE, present.as_mut_ptr()) };
    // SAFETY: as above. A kernel without this advice refuses it.
    let has_advice =
        unsafe { libc::madvise(start.as_ptr().cast(), PAGE, libc::MADV_POPULATE_WRITE) == 0 };
    assert_eq!(
        present.map(|byte| byte & 1),
        if has_advice { [1, 1, 1, 0] } else { [0; 4] }
    );
    // SAFETY: nobody uses the page.
    quietly(|| unsafe { Linux.guard(at(start, PAGE), PAGE) });
    let maps = fs::read_to_string("/proc/self/maps").expect("there is procfs");
    let protection =
        |page: usize| {
            let address = start.addr().get() + page * PAGE;
            let line = maps.lines().find(|line| {
            let mut ends = line.split([' ', '-']).map(|end| usize::from_str_radix(end, 16));
            let (from, to) = (ends.next(), ends.next());
            matches!((from, to), (Some(Ok(from)), Some(Ok(to))) if (from..to).contains(&address))
        });
            line.and_then(|line| line.split(' ').nth(1))
                .expect("it is mapped")
                .to_string()
        };
    assert_eq!([0, 1, 2].map(protection), ["rw-p", "---p", "rw-p"]);
    unmap(start, 4 * PAGE);
}

#[test]
fn pages_that_are_to_be_huge_are_known_to_the_system_as_such() {
    let start = map(4 * PAGE, PAGE);
    // SAFETY: mapped pages.
    quietly(|| unsafe { Linux.prefer_huge_pages(start, 4 * PAGE) });
    let maps = fs::read_to_string("/proc/self/smaps").expect("there is procfs");
    let first = format!("{:x}-", start.addr());
    let own = maps.lines().skip_while(|line| !line.starts_with(&first));
    let flags = own.skip(1).find(|line| line.starts_with("VmFlags:"));
    let is_known = flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "hg"));
    let has_huge_pages = fs::exists("/sys/kernel/mm/transparent_hugepage");
    assert_eq!(is_known, has_huge_pages.expect("there is sysfs"));
    unmap(start, 4 * PAGE);
}

const HUGE_PAGE: usize = 2 << 20;

/// The system may have no huge page at hand.
#[test]
fn a_huge_page_of_which_a_part_is_to_go_is_split_with_its_contents() {
    let start = map(HUGE_PAGE, HUGE_PAGE);
    // SAFETY: mapped pages.
    quietly(|| unsafe { Linux.prefer_huge_pages(start, HUGE_PAGE) });
    bytes(start, HUGE_PAGE).fill(7);
    let huge_kib = || {
        let maps = fs::read_to_string("/proc/self/smaps").expect("there is procfs");
        let first = format!("{:x}-", start.addr());
        let own = maps.lines().skip_while(|line| !line.starts_with(&first));
        let line = own
            .skip(1)
            .find_map(|line| line.strip_prefix("AnonHugePages:"));
        line.expect("Linux says so").trim().to_owned()
    };
    // A page whose mapping alone is split does not count.
    let splits = || {
        let counts = fs::read_to_string("/proc/vmstat").expect("there is procfs");
        let line = counts
            .lines()
            .find_map(|line| line.strip_prefix("thp_split_page "));
        line.map_or(0, |count| count.parse::<u64>().expect("a number"))
    };
    let (was_huge, before) = (huge_kib() == "2048 kB", splits());
    // SAFETY: mapped pages.
    quietly(|| unsafe { Linux.split_huge_pages(start, HUGE_PAGE) });
    assert_eq!(huge_kib(), "0 kB");
    assert!(!was_huge || splits() > before);
    assert!(bytes(start, HUGE_PAGE).iter().all(|byte| *byte == 7));
    unmap(start, HUGE_PAGE);
}

#[test]
fn a_caller_is_known_by_the_number_of_its_thread() {
    // SAFETY: no contract.
    let number = || i64::from(Linux.caller()) == unsafe { libc::syscall(libc::SYS_gettid) };
    assert!(number());
    assert!(thread::spawn(number).join().expect("it looks"));
}

#[test]
fn a_refusal_is_told_by_errno() {
    // SAFETY: this thread's errno.
    unsafe { errno().write(0) };
    Linux.refused();
    // SAFETY: as above.
    assert_eq!(unsafe { errno().read() }, libc::ENOMEM);
}

/// The kernel's start bytes are the C library's: they guard its pointers.
#[test]
fn the_random_number_is_none_that_the_c_library_uses() {
    // SAFETY: 16 bytes that the kernel puts there for each process.
    let start = unsafe { libc::getauxval(libc::AT_RANDOM) } as *const [u64; 2];
    // SAFETY: as above.
    let start = unsafe { start.read_unaligned() };
    let random = Linux.random();
    assert!(!start.contains(&random) && random != Linux.random());
}

/// Runs a function in a child process that it ends by SIGABRT. Returns what that wrote to standard
/// error.
fn aborts(ends_it: impl FnOnce()) -> String {
    let mut ends = [0; 2];
    // SAFETY: a place for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the child makes system calls, and a panic that ends it.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: an open descriptor.
        unsafe { libc::dup2(ends[1], 2) };
        ends_it();
        // SAFETY: no contract.
        unsafe { libc::_exit(0) };
    }
    let (mut text, mut status) = ([0_u8; 4096], 0);
    // SAFETY: this process's copy.
    unsafe { libc::close(ends[1]) };
    // SAFETY: a child of this process, and a place for its status.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    // SAFETY: a buffer of this length.
    let len = unsafe { libc::read(ends[0], text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: as above.
    unsafe { libc::close(ends[0]) };
    let said = &text[..usize::try_from(len).expect("it said something")];
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT);
    String::from_utf8_lossy(said).into_owned()
}

#[test]
fn a_stop_says_what_and_where_and_aborts() {
    let said = aborts(|| Linux.stop(Misuse::WrongSize, 0xabc0));
    assert_eq!(
        said,
        "furlong malloc: block freed with a wrong size: 0xabc0\n"
    );
}

#[test]
fn a_panic_of_a_function_that_is_told_of_trouble_does_not_unwind() {
    aborts(|| {
        // The hook of the test program takes locks, which other threads may hold.
        std::panic::set_hook(Box::new(|_| ()));
        Linux::on_trouble(Some(|_| panic!("it unwinds")));
        Linux.refused();
    });
}

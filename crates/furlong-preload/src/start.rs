//! The hooks at load, at fork and at a thread's end.
//!
//! A process calls fork handlers in the order of registration, and those before a fork in reverse
//! order. The allocator's must be registered first. Then it is locked after all other handlers
//! before the fork have run, and usable again before the first one after it, like a C library's own
//! allocator. So this library intercepts the registration function and registers its own handlers
//! first. This works even for a library whose constructor runs before this one's.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::{mem, ptr};

use furlong::malloc::{HugePages, Profile};

use crate::kind::Kind;
use crate::profile::{PROFILE, signalled};
use crate::system::{found, library_of};
use crate::{guard, report, streams};

/// The key whose destructor is called at a thread's end, plus one; 0 before it is created.
static KEY: AtomicU64 = AtomicU64::new(0);

/// The number of destructor rounds during which a thread keeps its heap, since other destructors
/// allocate, too. There are four rounds.
const ROUNDS: usize = 3;

/// The mean number of bytes between samples of the heap profile, if the environment names none.
const SAMPLE_BYTES: usize = 8 << 20;

/// A handler of a fork.
pub type Handler = Option<unsafe extern "C" fn()>;

/// The C library's `__register_atfork`: three handlers, and the library that they go with.
type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> i32;

/// Set once the allocator's fork handlers are registered.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Runs when the library is loaded: reads the environment, and registers the fork handlers.
pub extern "C" fn loaded<K: Kind>() {
    if !is_in_front(loaded::<K> as *const c_void) {
        return;
    }
    key::<K>();
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    crate::cxx::find_all();
    for name in unknown(|name| variable(name).map(CStr::to_bytes)) {
        let mut text = report::Text::of(b"furlong malloc: ");
        text.put(name.to_bytes());
        text.put(b" has no value that is known, and is ignored\n");
        text.print(2);
    }
    let mut profile = profile();
    if profile != Profile::STANDARD {
        if profile.sample_bytes > 0 && !heap_profile(profile.sample_bytes) {
            profile.sample_bytes = 0;
            let line =
                b"furlong malloc: no heap profile: too little memory, or the C library has no \
                         function `backtrace`\n";
            report::Text::of(line).print(2);
        }
        K::allocator().follow(&profile);
    }
    if profile.guarded_every > 0 {
        guard::watch::<K>();
    }
    if variable(c"FURLONG_MALLOC_STATISTICS").map(CStr::to_bytes) == Some(b"1") {
        report::keep_errors();
        // SAFETY: a function that is never unloaded; if out of memory, nothing is reported.
        unsafe { libc::atexit(process_ends::<K>) };
    }
    watch_forks::<K>();
}

/// False if another copy of this library serves the process: one that is preloaded in front of the
/// one that the program was linked with. `own` is a function of this copy.
fn is_in_front(own: *const c_void) -> bool {
    let first = found(c"furlong_malloc_statistics");
    // Null: this library was opened for itself alone.
    first.is_null() || library_of(own).contains(&first.addr())
}

/// Begins the heap profile. `false` if that is impossible.
fn heap_profile(every: usize) -> bool {
    let prefix = variable(c"FURLONG_MALLOC_HEAP_PROFILE");
    if !prefix.is_some_and(|prefix| PROFILE.begin(prefix, every)) {
        return false;
    }
    // SAFETY: a function that is never unloaded; if out of memory, nothing is written at exit.
    unsafe { libc::atexit(profile_ends) };
    let signal = variable(c"FURLONG_MALLOC_HEAP_PROFILE_SIGNAL").map(CStr::to_bytes);
    let signal = signal.and_then(number).map(c_int::try_from);
    if let Some(Ok(signal)) = signal {
        // SAFETY: all zeros are a value.
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        action.sa_sigaction = (signalled as *const c_void).expose_provenance();
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        // SAFETY: a handler that is never unloaded, and calls nothing that a handler may not.
        unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    }
    true
}

extern "C" fn profile_ends() {
    PROFILE.at_exit();
}

/// The C library's function of the name that this library exports.
fn register() -> Option<Register> {
    // SAFETY: a name that ends with a zero, looked up in the libraries behind this one.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"__register_atfork".as_ptr()) };
    // SAFETY: null, or that function, whose type has never changed.
    unsafe { mem::transmute::<*mut c_void, Option<Register>>(found) }
}

/// Registers the allocator's fork handlers, once. If the process is out of memory, forks are not
/// handled.
fn watch_forks<K: Kind>() {
    if !WATCHED.swap(true, Ordering::SeqCst)
        && let Some(register) = register()
    {
        streams::find();
        let handlers: [Handler; 3] = [Some(prepare::<K>), Some(parent::<K>), Some(child::<K>)];
        let [before, after, in_child] = handlers;
        // SAFETY: functions of a library that is never unmapped, so they belong to no handle.
        unsafe { register(before, after, in_child, ptr::null_mut()) };
    }
}

/// `__register_atfork`, which `pthread_atfork` calls in every library: registers the allocator's
/// handlers first.
///
/// # Safety
/// As the C library requires.
pub unsafe fn register_atfork<K: Kind>(
    before: Handler,
    after: Handler,
    in_child: Handler,
    library: *mut c_void,
) -> i32 {
    watch_forks::<K>();
    match register() {
        // SAFETY: the caller's promise.
        Some(register) => unsafe { register(before, after, in_child, library) },
        None => libc::ENOMEM,
    }
}

extern "C" fn process_ends<K: Kind>() {
    report::at_exit::<K>();
}

extern "C" fn prepare<K: Kind>() {
    if streams::lock() {
        // SAFETY: a forking thread calls it, and one of the others afterwards.
        unsafe { K::allocator().before_fork() };
        PROFILE.lock();
        streams::held();
    }
}

extern "C" fn parent<K: Kind>() {
    streams::unlock(|| {
        PROFILE.unlock();
        // SAFETY: as above.
        unsafe { K::allocator().after_fork() };
    });
}

extern "C" fn child<K: Kind>() {
    let was_held = streams::reset(|| {
        PROFILE.unlock();
        // SAFETY: as above; a new process has one thread.
        unsafe { K::allocator().after_fork_in_child() };
    });
    if !was_held {
        // SAFETY: nothing is held only for a process with one thread.
        unsafe { K::allocator().after_lone_fork_in_child() };
    }
    PROFILE.inherit();
}

/// The key, created by the first caller; `None` if the process has none left.
fn key<K: Kind>() -> Option<libc::pthread_key_t> {
    let known = KEY.load(Ordering::SeqCst);
    if known != 0 {
        return libc::pthread_key_t::try_from(known - 1).ok();
    }
    let mut key = 0;
    // SAFETY: a variable for the key, and a destructor that is never unloaded.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends::<K>)) } != 0 {
        return None;
    }
    let made = u64::from(key) + 1;
    match KEY.compare_exchange(0, made, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => Some(key),
        Err(first) => {
            // SAFETY: this thread created it, and no other has seen it.
            unsafe { libc::pthread_key_delete(key) };
            libc::pthread_key_t::try_from(first - 1).ok()
        }
    }
}

/// Registers a thread that has just got a heap for the cleanup at its end.
pub(crate) fn thread_began<K: Kind>() {
    set_round::<K>(1);
}

fn set_round<K: Kind>(round: usize) {
    if let Some(key) = key::<K>() {
        // SAFETY: a key of this library's; keys as low as this one need no memory.
        unsafe { libc::pthread_setspecific(key, ptr::without_provenance(round)) };
    }
}

extern "C" fn thread_ends<K: Kind>(round: *mut c_void) {
    if round.addr() < ROUNDS {
        set_round::<K>(round.addr() + 1);
    } else {
        K::allocator().end_thread();
    }
}

/// A variable of the environment, if this process may trust the environment.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: no contract.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    // SAFETY: a name that ends with a zero.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: the value ends with a zero, and nobody changes the environment while libraries are
    // loaded.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// A number of at most nine digits, and nothing else.
fn number(digits: &[u8]) -> Option<usize> {
    let is_number = (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let digits = digits.iter().map(|digit| usize::from(digit - b'0'));
    is_number.then(|| digits.fold(0, |number, digit| number * 10 + digit))
}

/// A variable with a fixed set of values, and the test of one.
type Variable = (&'static CStr, fn(&[u8]) -> bool);

const KNOWN: [Variable; 8] = [
    (c"FURLONG_MALLOC_PROFILE", |value| {
        [&b"standard"[..], b"conservative"].contains(&value)
    }),
    (c"FURLONG_MALLOC_PREFAULT", is_switch),
    (c"FURLONG_MALLOC_STATISTICS", is_switch),
    (c"FURLONG_MALLOC_PURGE_DELAY_MS", |value| {
        number(value).is_some()
    }),
    (c"FURLONG_MALLOC_HUGE_PAGES", |value| {
        [&b"off"[..], b"objects", b"arenas"].contains(&value)
    }),
    (c"FURLONG_MALLOC_GUARDED", |value| number(value).is_some()),
    (c"FURLONG_MALLOC_HEAP_PROFILE_BYTES", |value| {
        number(value).is_some_and(|every| every > 0)
    }),
    (c"FURLONG_MALLOC_HEAP_PROFILE_SIGNAL", |value| {
        number(value).is_some_and(|signal| (1..=64).contains(&signal))
    }),
];

fn is_switch(value: &[u8]) -> bool {
    [&b"0"[..], b"1"].contains(&value)
}

/// The variables whose values are not known; an empty one is as none.
fn unknown<'v>(value: impl Fn(&CStr) -> Option<&'v [u8]>) -> impl Iterator<Item = &'static CStr> {
    let unknown = KNOWN.into_iter().filter(move |(name, is_known)| {
        value(name).is_some_and(|value| !value.is_empty() && !is_known(value))
    });
    unknown.map(|(name, _)| name)
}

/// The profile that the environment sets. It does not allocate.
#[must_use]
pub fn profile() -> Profile {
    profile_of(|name| variable(name).map(CStr::to_bytes)).unwrap_or(Profile::STANDARD)
}

/// The profile that the values of the environment set, if it differs from the standard profile.
/// Invalid values are ignored.
fn profile_of<'v>(value: impl Fn(&CStr) -> Option<&'v [u8]>) -> Option<Profile> {
    let mut profile = match value(c"FURLONG_MALLOC_PROFILE") {
        Some(b"conservative") => Profile::CONSERVATIVE,
        _ => Profile::STANDARD,
    };
    profile.prefault |= value(c"FURLONG_MALLOC_PREFAULT") == Some(b"1");
    if let Some(delay) = value(c"FURLONG_MALLOC_PURGE_DELAY_MS").and_then(number) {
        profile.purge_delay_ms = delay;
    }
    if let Some(every) = value(c"FURLONG_MALLOC_GUARDED").and_then(number) {
        profile.guarded_every = every;
    }
    profile.huge_pages = match value(c"FURLONG_MALLOC_HUGE_PAGES") {
        Some(b"off") => HugePages::Off,
        Some(b"objects") => HugePages::Objects,
        Some(b"arenas") => HugePages::Arenas,
        _ => profile.huge_pages,
    };
    if value(c"FURLONG_MALLOC_HEAP_PROFILE").is_some_and(|prefix| !prefix.is_empty()) {
        let every = value(c"FURLONG_MALLOC_HEAP_PROFILE_BYTES").and_then(number);
        profile.sample_bytes = every.filter(|every| *every > 0).unwrap_or(SAMPLE_BYTES);
    }
    (profile != Profile::STANDARD).then_some(profile)
}

#[cfg(test)]
mod tests {
    use furlong::malloc::{HugePages, Profile};

    use super::{SAMPLE_BYTES, profile_of};

    /// The profile of an environment with these variables, without their common prefix.
    fn profile_with(variables: &[(&str, &[u8])]) -> Option<Profile> {
        profile_of(|name| {
            let name = name.to_str().ok()?.strip_prefix("FURLONG_MALLOC_")?;
            let of_name = |(other, _): &&(&str, _)| *other == name;
            variables.iter().find(of_name).map(|(_, value)| *value)
        })
    }

    #[test]
    fn the_environment_names_a_profile_and_prefault() {
        let conservative: (&str, &[u8]) = ("PROFILE", b"conservative");
        let profile = profile_with(&[conservative]);
        assert_eq!(profile, Some(Profile::CONSERVATIVE));
        let both = profile_with(&[conservative, ("PREFAULT", b"1")]);
        assert_eq!(both.map(|profile| profile.prefault), Some(true));
        let standard: [(&str, &[u8]); 2] = [("PROFILE", b"standard"), ("PREFAULT", b"0")];
        assert_eq!(profile_with(&standard), None);
        assert_eq!(profile_with(&[]), None);
    }

    #[test]
    fn the_environment_names_a_delay_of_any_profile() {
        let delay_of = |name, delay: &[u8]| {
            let profile = profile_with(&[("PROFILE", name), ("PURGE_DELAY_MS", delay)]);
            profile.map(|profile| profile.purge_delay_ms)
        };
        assert_eq!(delay_of(b"standard", b"0"), Some(0));
        assert_eq!(delay_of(b"standard", b"007"), Some(7));
        assert_eq!(delay_of(b"standard", b"999999999"), Some(999_999_999));
        assert_eq!(delay_of(b"conservative", b"5000"), Some(5000));
        assert_eq!(
            delay_of(b"standard", b"1000"),
            None,
            "as the standard profile"
        );
    }

    #[test]
    fn the_environment_names_the_memory_with_huge_pages_of_any_profile() {
        let pages_of = |name, pages: &[u8]| {
            let profile = profile_with(&[("PROFILE", name), ("HUGE_PAGES", pages)]);
            profile.map(|profile| profile.huge_pages)
        };
        assert_eq!(pages_of(b"standard", b"off"), Some(HugePages::Off));
        assert_eq!(pages_of(b"standard", b"objects"), Some(HugePages::Objects));
        assert_eq!(pages_of(b"standard", b"arenas"), None, "as the profile");
        assert_eq!(pages_of(b"conservative", b"?"), Some(HugePages::Off));
        let asked = pages_of(b"conservative", b"arenas");
        assert_eq!(asked, Some(HugePages::Arenas));
    }

    #[test]
    fn the_environment_names_how_many_blocks_are_guarded() {
        let every_of = |every| profile_with(&[("GUARDED", every)]).map(|p| p.guarded_every);
        assert_eq!(every_of(b"1000"), Some(1000));
        assert_eq!(every_of(b"0"), None, "as the standard profile");
        assert_eq!(every_of(b"1,000"), None);
    }

    #[test]
    fn the_environment_names_a_heap_profile_and_its_interval() {
        let every_of = |name: &[u8], every: &[u8]| {
            let named = [("HEAP_PROFILE", name), ("HEAP_PROFILE_BYTES", every)];
            profile_with(&named).map(|profile| profile.sample_bytes)
        };
        assert_eq!(every_of(b"/tmp/a", b"4096"), Some(4096));
        for every in [&b"0"[..], b"", b"1 MB"] {
            assert_eq!(every_of(b"/tmp/a", every), Some(SAMPLE_BYTES));
        }
        assert_eq!(every_of(b"", b"4096"), None, "a profile has a name");
    }

    #[test]
    fn nonsense_is_as_if_nothing_were_said() {
        let long = [b'c'; 100_000];
        let values: [&[u8]; 16] = [
            b"",
            b" ",
            b"Conservative",
            b"conservative ",
            b" conservative",
            b"conservative\n",
            b"conservativ",
            b"conservative=1",
            b"standard,conservative",
            b"\xff\xfe\x80",
            b"-1",
            b"1 ",
            b"1ms",
            b"0x10",
            b"99999999999999999999999",
            &long,
        ];
        for value in values {
            let names = [
                "PROFILE",
                "PREFAULT",
                "PURGE_DELAY_MS",
                "HUGE_PAGES",
                "HEAP_PROFILE_BYTES",
            ];
            let profile = profile_with(&names.map(|name| (name, value)));
            assert_eq!(profile, None, "{value:?}");
        }
    }
}

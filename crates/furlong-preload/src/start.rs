//! What happens when the library is loaded, at fork and at a thread's end.
//!
//! A process calls the handlers of a fork in the order in which it was told of them, and those
//! before a fork in reverse. The allocator's have to be the first: then it is locked when all other
//! handlers before the fork have run, and whole again when the first one after it does, as a C
//! library's own allocator is. So whoever tells the process of handlers is let through here, and
//! the allocator's come before them, also where a library does so whose constructor runs before
//! this one's.

use core::{
    ffi::{CStr, c_void},
    mem, ptr,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use furlong::malloc::Profile;

use crate::{kind::Kind, report};

/// The key whose destructor is called at a thread's end, plus one; 0 before it is made.
static KEY: AtomicU64 = AtomicU64::new(0);

/// In how many rounds of destructors a thread keeps its heap: those of others allocate, too. There
/// are four.
const ROUNDS: usize = 3;

/// A handler of a fork.
pub type Handler = Option<unsafe extern "C" fn()>;

/// The C library's `__register_atfork`: three handlers, and the library that they go with.
type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> i32;

/// Whether the process has been told of the allocator's handlers.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// When the library is loaded: the variables of the environment are read, and fork is watched.
pub extern "C" fn loaded<K: Kind>() {
    key::<K>();
    if let Some(profile) = profile() {
        K::allocator().follow(&profile);
    }
    if variable(c"FURLONG_MALLOC_STATISTICS").map(CStr::to_bytes) == Some(b"1") {
        // SAFETY: a function that stays; if there is no memory for it, nothing is reported.
        unsafe { libc::atexit(process_ends::<K>) };
    }
    watch_forks::<K>();
}

/// The C library's function, which this library has taken the name of.
fn register() -> Option<Register> {
    // SAFETY: a name that ends, looked for behind this library.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"__register_atfork".as_ptr()) };
    // SAFETY: null, or that function, which is of this type since it is there.
    unsafe { mem::transmute::<*mut c_void, Option<Register>>(found) }
}

/// Tells the process of the allocator's handlers, once. If it has no memory to note them, forks are
/// not watched.
fn watch_forks<K: Kind>() {
    if !WATCHED.swap(true, Ordering::SeqCst)
        && let Some(register) = register()
    {
        let handlers: [Handler; 3] = [Some(prepare::<K>), Some(parent::<K>), Some(child::<K>)];
        let [before, after, in_child] = handlers;
        // SAFETY: functions of a library that is never unmapped, so they go with none.
        unsafe { register(before, after, in_child, ptr::null_mut()) };
    }
}

/// `__register_atfork`, to which `pthread_atfork` leads in every library: the allocator's handlers
/// come first.
///
/// # Safety
/// As the C library asks for.
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

/// A program that closes its standard error before it exits is told nothing.
extern "C" fn process_ends<K: Kind>() {
    report::malloc_stats::<K>();
}

extern "C" fn prepare<K: Kind>() {
    // SAFETY: a thread that forks calls it, and one of the others afterwards.
    unsafe { K::allocator().before_fork() };
}

extern "C" fn parent<K: Kind>() {
    // SAFETY: as above.
    unsafe { K::allocator().after_fork() };
}

extern "C" fn child<K: Kind>() {
    // SAFETY: as above; a new process has one thread.
    unsafe { K::allocator().after_fork_in_child() };
}

/// The key, made by the first who asks; nothing if the process has none left.
fn key<K: Kind>() -> Option<libc::pthread_key_t> {
    let known = KEY.load(Ordering::SeqCst);
    if known != 0 {
        return libc::pthread_key_t::try_from(known - 1).ok();
    }
    let mut key = 0;
    // SAFETY: a variable for the key, and a destructor that stays.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends::<K>)) } != 0 {
        return None;
    }
    let made = u64::from(key) + 1;
    match KEY.compare_exchange(0, made, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => Some(key),
        Err(first) => {
            // SAFETY: this thread made it, and no other has seen it.
            unsafe { libc::pthread_key_delete(key) };
            libc::pthread_key_t::try_from(first - 1).ok()
        }
    }
}

/// A thread has a heap from now on: it will have to be told when the thread ends.
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

/// A variable of the environment, if this process may trust it.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: no contract.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    // SAFETY: a name that ends.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: what is there ends, and nobody changes the environment while libraries are loaded.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// A number of at most nine digits, and nothing else.
fn number(digits: &[u8]) -> Option<usize> {
    let is_number = (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let digits = digits.iter().map(|digit| usize::from(digit - b'0'));
    is_number.then(|| digits.fold(0, |number, digit| number * 10 + digit))
}

/// The profile that the environment asks for.
fn profile() -> Option<Profile> {
    let [name, prefault, delay] = [
        c"FURLONG_MALLOC_PROFILE",
        c"FURLONG_MALLOC_PREFAULT",
        c"FURLONG_MALLOC_PURGE_DELAY_MS",
    ]
    .map(|name| variable(name).map(CStr::to_bytes));
    profile_of(name, prefault, delay)
}

/// The profile that these values ask for, if it is another one than the standard profile. Nonsense
/// asks for nothing.
fn profile_of(
    name: Option<&[u8]>,
    prefault: Option<&[u8]>,
    delay: Option<&[u8]>,
) -> Option<Profile> {
    let mut profile = match name {
        Some(b"conservative") => Profile::CONSERVATIVE,
        _ => Profile::STANDARD,
    };
    profile.prefault |= prefault == Some(b"1");
    if let Some(delay) = delay.and_then(number) {
        profile.purge_delay_ms = delay;
    }
    (profile != Profile::STANDARD).then_some(profile)
}

#[cfg(test)]
mod tests {
    use furlong::malloc::Profile;

    use super::profile_of;

    #[test]
    fn the_environment_names_a_profile_and_prefault() {
        let profile = profile_of(Some(b"conservative"), None, None);
        assert_eq!(profile, Some(Profile::CONSERVATIVE));
        let both = profile_of(Some(b"conservative"), Some(b"1"), None);
        assert_eq!(both.map(|profile| profile.prefault), Some(true));
        assert_eq!(profile_of(Some(b"standard"), Some(b"0"), None), None);
        assert_eq!(profile_of(Some(b"11"), Some(b"11"), None), None);
        assert_eq!(profile_of(None, None, None), None);
    }

    #[test]
    fn the_environment_names_a_delay_of_any_profile() {
        let delay_of = |name, delay: &[u8]| {
            profile_of(name, None, Some(delay)).map(|profile| profile.purge_delay_ms)
        };
        assert_eq!(delay_of(None, b"0"), Some(0));
        assert_eq!(delay_of(None, b"007"), Some(7));
        assert_eq!(delay_of(None, b"999999999"), Some(999_999_999));
        assert_eq!(delay_of(Some(b"conservative"), b"5000"), Some(5000));
        assert_eq!(delay_of(None, b"1000"), None, "as the standard profile");
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
            assert_eq!(
                profile_of(Some(value), Some(value), Some(value)),
                None,
                "{value:?}"
            );
        }
    }
}

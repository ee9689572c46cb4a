//! What happens when the library is loaded, at fork and at a thread's end.

/// A thread has a heap from now on: it will have to be told when the thread ends.
pub fn thread_began() {}

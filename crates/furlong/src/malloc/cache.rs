//! Caches of objects of one type, as kernels have them.

use core::{
    alloc::Layout,
    cell::Cell,
    fmt,
    marker::PhantomData,
    mem,
    ops::{Deref, DerefMut},
    ptr::{self, NonNull},
};

use super::{allocator::Malloc, config::Config, zone::Zone};

/// A cache of objects of one type, in memory that no other type shares.
///
/// A stale pointer to one of its objects leads to an object of the same type or to nothing, as long
/// as the cache is there and the memory was not given back; and when the cache goes, all of its
/// memory goes. It is a [`Zone`] with a type: one a processor, or one under the caller's lock.
///
/// **Reserve, then commit**: [`reserve`](Self::reserve) obtains what may fail before a lock is
/// taken; making objects of a [`Reserve`] cannot fail.
///
/// # Example
#[cfg_attr(feature = "std", doc = "```")]
#[cfg_attr(not(feature = "std"), doc = "```text")]
/// use furlong::malloc::{
///     Batched, Checked, Config, Inlined, Linux, ObjectCache, thread_heap,
/// };
///
/// struct Kernel;
///
/// impl Config for Kernel {
///     type Source = Linux;
///     type Current = Cpu;
///     type Hardening = Checked;
///     type Gate = Inlined;
///     type Tier = Batched;
/// }
///
/// thread_heap!(Cpu, static MALLOC: Malloc<Kernel> = Linux);
///
/// struct Inode { number: u64, links: u32 }
///
/// let cache = ObjectCache::new(&MALLOC).expect("there is memory");
/// let mut inode = cache.make(Inode { number: 7, links: 0 }).ok().expect("there is memory");
/// inode.links += 1;
/// assert_eq!((inode.number, cache.len()), (7, 1));
///
/// // Under a lock nothing may fail: what is needed is there already.
/// let mut reserve = cache.reserve::<2>().expect("there is memory");
/// let root = reserve.make(Inode { number: 1, links: 2 }).ok().expect("it has two");
/// assert_eq!((root.number, reserve.left()), (1, 1));
/// drop((inode, root, reserve));
/// assert!(cache.is_empty());
/// ```
pub struct ObjectCache<T, C: Config> {
    zone: Zone<C>,
    len: Cell<usize>,
    of: PhantomData<T>,
}

impl<T, C: Config> fmt::Debug for ObjectCache<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectCache")
            .field("len", &self.len.get())
            .finish_non_exhaustive()
    }
}

impl<T, C: Config> ObjectCache<T, C> {
    /// A cache without objects; nothing where memory is short.
    #[must_use]
    pub fn new(malloc: &'static Malloc<C>) -> Option<Self> {
        Some(Self {
            zone: Zone::new(malloc)?,
            len: Cell::new(0),
            of: PhantomData,
        })
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes an object.
    ///
    /// # Errors
    /// The value again, where memory is short; nothing has changed.
    pub fn make(&self, value: T) -> Result<Object<'_, T, C>, T> {
        match self.place() {
            Some(place) => Ok(self.put(place, value)),
            None => Err(value),
        }
    }

    /// Places for `N` objects, which need no further memory; nothing where memory is short.
    #[must_use]
    pub fn reserve<const N: usize>(&self) -> Option<Reserve<'_, T, C, N>> {
        let mut reserve = Reserve {
            cache: self,
            places: [None; N],
        };
        for place in &mut reserve.places {
            *place = Some(self.place()?);
        }
        Some(reserve)
    }

    /// Takes an object back from its pointer.
    ///
    /// # Safety
    /// It came from [`Object::into_raw`] of an object of this cache, and comes back once.
    pub unsafe fn from_raw(&self, object: NonNull<T>) -> Object<'_, T, C> {
        Object {
            cache: self,
            object,
        }
    }

    fn place(&self) -> Option<NonNull<T>> {
        Some(self.zone.allocate_layout(Layout::new::<T>())?.cast())
    }

    fn put(&self, place: NonNull<T>, value: T) -> Object<'_, T, C> {
        // SAFETY: a new block with the size and the alignment of the type, nobody else's.
        unsafe { place.write(value) };
        self.len.set(self.len.get() + 1);
        Object {
            cache: self,
            object: place,
        }
    }

    fn give_back(&self, place: NonNull<T>) {
        // SAFETY: it came from this zone, and what was in it has been dropped or taken out.
        unsafe { self.zone.free(place.cast()) };
    }
}

/// An object of a cache, to which its memory returns.
#[must_use = "its memory goes back as soon as this is dropped"]
pub struct Object<'c, T, C: Config> {
    cache: &'c ObjectCache<T, C>,
    object: NonNull<T>,
}

impl<'c, T, C: Config> Object<'c, T, C> {
    /// Gives the object up for its pointer: for lists that go through objects. It is dropped by
    /// [`ObjectCache::from_raw`], or never; its memory goes with the cache.
    #[must_use]
    pub fn into_raw(self) -> NonNull<T> {
        mem::ManuallyDrop::new(self).object
    }

    /// Takes the value out; its memory goes back to the cache.
    #[must_use]
    pub fn into_inner(self) -> T {
        let cache: &'c ObjectCache<T, C> = self.cache;
        let object = self.into_raw();
        // SAFETY: a value that nobody reads afterwards.
        let value = unsafe { object.read() };
        cache.len.set(cache.len.get() - 1);
        cache.give_back(object);
        value
    }
}

impl<T, C: Config> Deref for Object<'_, T, C> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a value that is there, lent by whoever has it.
        unsafe { self.object.as_ref() }
    }
}

impl<T, C: Config> DerefMut for Object<'_, T, C> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in deref.
        unsafe { self.object.as_mut() }
    }
}

impl<T, C: Config> Drop for Object<'_, T, C> {
    fn drop(&mut self) {
        /// Its memory, which goes back also if the value panics.
        struct Place<'c, T, C: Config>(&'c ObjectCache<T, C>, NonNull<T>);

        impl<T, C: Config> Drop for Place<'_, T, C> {
            fn drop(&mut self) {
                self.0.give_back(self.1);
            }
        }

        self.cache.len.set(self.cache.len.get() - 1);
        let _place = Place(self.cache, self.object);
        // SAFETY: a value that is there, and that nobody uses afterwards.
        unsafe { ptr::drop_in_place(self.object.as_ptr()) };
    }
}

impl<T: fmt::Debug, C: Config> fmt::Debug for Object<'_, T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Memory for a number of objects.
#[must_use = "its memory goes back as soon as this is dropped"]
pub struct Reserve<'c, T, C: Config, const N: usize> {
    cache: &'c ObjectCache<T, C>,
    places: [Option<NonNull<T>>; N],
}

impl<'c, T, C: Config, const N: usize> Reserve<'c, T, C, N> {
    /// Makes an object, without a request to anybody.
    ///
    /// # Errors
    /// The value again, when there is no place left.
    pub fn make(&mut self, value: T) -> Result<Object<'c, T, C>, T> {
        match self.places.iter_mut().find_map(Option::take) {
            Some(place) => Ok(self.cache.put(place, value)),
            None => Err(value),
        }
    }

    /// For how many objects there is a place left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.places.iter().flatten().count()
    }
}

impl<T, C: Config, const N: usize> Drop for Reserve<'_, T, C, N> {
    fn drop(&mut self) {
        for place in self.places.iter_mut().filter_map(Option::take) {
            self.cache.give_back(place);
        }
    }
}

impl<T, C: Config, const N: usize> fmt::Debug for Reserve<'_, T, C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserve")
            .field("left", &self.left())
            .finish_non_exhaustive()
    }
}

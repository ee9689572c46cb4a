//! Caches of objects of one type, as kernels have them.

use core::alloc::Layout;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};
use core::{fmt, mem};

use crate::forms::debug_as;
use crate::malloc::{Config, Malloc, Zone};

/// A cache of objects of one type, in memory that no other type shares.
///
/// A stale pointer to one of its objects leads to an object of the same type or to free memory.
/// This holds as long as the cache exists and the memory was not given back. Dropping the cache
/// frees all of its memory. It is a [`Zone`] with a type: use one a processor, or one under a lock.
///
/// **Reserve, then commit**: [`reserve`](Self::reserve) obtains memory, which may fail, before a
/// lock is taken. Making objects from a [`Reserve`] cannot fail.
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
/// // Reserve objects beforehand, so that nothing can fail under a lock.
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

debug_as! { ObjectCache<T, C> where [T, C: Config]: |it| ObjectCache { len: it.len.get(), .. } }

impl<T, C: Config> ObjectCache<T, C> {
    /// A cache without objects; `None` if out of memory.
    #[must_use]
    pub fn new(malloc: &'static Malloc<C>) -> Option<Self> {
        Some(Self {
            zone: Zone::new(malloc)?,
            len: Cell::new(0),
            of: PhantomData,
        })
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// True if there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes an object.
    ///
    /// # Errors
    /// Gives the value back if out of memory; nothing has changed.
    pub fn make(&self, value: T) -> Result<Object<'_, T, C>, T> {
        match self.place() {
            Some(place) => Ok(self.put(place, value)),
            None => Err(value),
        }
    }

    /// Memory for `N` objects, which then cannot fail; `None` if out of memory.
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

    /// Makes an object of its pointer again.
    ///
    /// # Safety
    /// The pointer came from [`Object::into_raw`] of an object of this cache, and is passed here
    /// once.
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
        // SAFETY: a new block with the size and alignment of the type, which nobody else has.
        unsafe { place.write(value) };
        self.len.set(self.len.get() + 1);
        Object {
            cache: self,
            object: place,
        }
    }

    fn give_back(&self, place: NonNull<T>) {
        // SAFETY: it came from this zone, and its value has been dropped or taken out.
        unsafe { self.zone.free(place.cast()) };
    }
}

/// An object of a cache. Its memory returns to the cache.
#[must_use = "its memory goes back as soon as this is dropped"]
pub struct Object<'c, T, C: Config> {
    cache: &'c ObjectCache<T, C>,
    object: NonNull<T>,
}

impl<'c, T, C: Config> Object<'c, T, C> {
    /// Turns the object into its pointer, for lists that link objects. [`ObjectCache::from_raw`]
    /// makes it an object again; without that it is never dropped, and its memory is freed with the
    /// cache.
    #[must_use]
    pub fn into_raw(self) -> NonNull<T> {
        mem::ManuallyDrop::new(self).object
    }

    /// Takes the value out; its memory goes back to the cache.
    #[must_use]
    pub fn into_inner(self) -> T {
        let cache: &'c ObjectCache<T, C> = self.cache;
        let object = self.into_raw();
        // SAFETY: a valid value, which nobody reads afterwards.
        let value = unsafe { object.read() };
        cache.len.set(cache.len.get() - 1);
        cache.give_back(object);
        value
    }
}

impl<T, C: Config> Deref for Object<'_, T, C> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a valid value, borrowed from the object that owns it.
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
        /// The object's memory, which is given back even if the value's drop panics.
        struct Place<'c, T, C: Config>(&'c ObjectCache<T, C>, NonNull<T>);

        impl<T, C: Config> Drop for Place<'_, T, C> {
            fn drop(&mut self) {
                self.0.give_back(self.1);
            }
        }

        self.cache.len.set(self.cache.len.get() - 1);
        let _place = Place(self.cache, self.object);
        // SAFETY: a valid value, which nobody uses afterwards.
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
    /// Makes an object from reserved memory.
    ///
    /// # Errors
    /// Gives the value back if the reserve is used up.
    pub fn make(&mut self, value: T) -> Result<Object<'c, T, C>, T> {
        match self.places.iter_mut().find_map(Option::take) {
            Some(place) => Ok(self.cache.put(place, value)),
            None => Err(value),
        }
    }

    /// The number of objects that the reserve still has memory for.
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

debug_as! { Reserve<'_, T, C, N> where [T, C: Config, const N: usize]:
    |it| Reserve { left: it.left(), .. }
}

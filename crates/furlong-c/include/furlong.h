/*
 * furlong: memory ranges for kernels, hypervisors, drivers and runtimes, in C.
 *
 * furlong_maple    ranges of 64-bit indices, each with an entry, in a B-tree
 * furlong_iova     device addresses: reservations, and searches for free ranges
 * furlong_phys     physical segments, and a descriptor for each frame
 * furlong_vmspace  address spaces of processes, with the calls of Linux
 * furlong_bounce   bounce buffers for devices that cannot access all memory
 *
 * Rules of all functions:
 *
 * - A range is given by its first and its last index, both of which belong to
 *   it, so that it may reach the end of the space. Arguments of furlong_vmspace
 *   are a start and a length, as those of Linux's calls.
 * - A function of type int returns 0, or a negative error number of <errno.h>.
 *   Each function lists its errors. Each error of the library has one number.
 *   Within a function, different errors have different numbers, except -EINVAL
 *   for every invalid argument and -ENOMEM for every lack of memory. A
 *   furlong_vmspace has the numbers of Linux instead, which stand for several
 *   errors each. After an error nothing has changed.
 * - A required argument that is NULL gives -EINVAL. An output pointer may be NULL
 *   only if the function says so. A call writes its output only if it returns 0,
 *   unless the function says otherwise. Output pointers of a call must not overlap
 *   each other or its input.
 * - Memory that the caller supplies for an object (_create_in) may begin at any
 *   address: the documented length includes alignment. Such an object never
 *   allocates. A furlong_maple and a furlong_vmspace are always on the heap.
 * - const before a handle does not mean that a call changes nothing: "Threads"
 *   lists the calls that may run concurrently.
 * - A handle made by a create function must be destroyed once, by the destroy
 *   function of its kind, and not used afterwards. The library cannot check
 *   this, just as free() cannot.
 * - "Threads" lists the calls that may run at the same time. "Concurrent": any
 *   number of calls of any threads, except destroy. "Read-only": any number of
 *   read-only calls with the same object and no others, under the caller's lock
 *   for readers. "Exclusive": no other call with the same object, under the
 *   caller's lock for writers.
 * - No error is thrown and no panic unwinds into C: a defect that the library
 *   detects in itself ends the program.
 *
 * Link with -lfurlong_c, or use pkg-config furlong for all options. Example:
 *
 *     #include <furlong.h>
 *     #include <inttypes.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *     	struct furlong_maple *areas;
 *     	struct furlong_maple_cursor cursor = {0, 0, 0, 0};
 *     	struct furlong_maple_entry area;
 *     	struct furlong_extent gap;
 *     	char code[] = "code", stack[] = "stack";
 *
 *     	if (furlong_maple_create(&areas) != 0)
 *     		return 1;
 *     	furlong_maple_insert(areas, 0x1000, 0x3fff, code, NULL);
 *     	furlong_maple_insert(areas, 0x8000, 0x8fff, stack, NULL);
 *     	while (furlong_maple_next(areas, &cursor, &area) == 0)
 *     		printf("%#" PRIx64 "-%#" PRIx64 " %s\n", area.start, area.last,
 *     		       (const char *)area.entry);
 *     	if (furlong_maple_highest_gap(areas, 0x2000, 0, 0xffff, &gap) == 0)
 *     		printf("room at %#" PRIx64 "\n", gap.start);
 *     	furlong_maple_destroy(areas);
 *     	return 0;
 *     }
 */

#ifndef FURLONG_H
#define FURLONG_H

#include <stddef.h>
#include <stdint.h>

/**
 * The version of this header: major * 10000 + minor * 100 + patch.
 */
#define FURLONG_VERSION 100

/**
 * The same as text.
 */
#define FURLONG_VERSION_TEXT "0.1.0"

/**
 * The lowest place. After 32 gaps that are large enough and hold no place, because of align or
 * boundary, FURLONG_IOVA_LOWEST, _HIGHEST and _NEAR prefer a gap that surely holds one.
 */
#define FURLONG_IOVA_LOWEST 0

/**
 * The highest place.
 */
#define FURLONG_IOVA_HIGHEST 1

/**
 * The place whose start is nearest to the hint; the lower one of two equally near.
 */
#define FURLONG_IOVA_NEAR 2

/**
 * The lowest place in the smallest gap that is large enough.
 */
#define FURLONG_IOVA_BEST 3

/**
 * A uniformly random place among all; the hint supplies 64 random bits.
 */
#define FURLONG_IOVA_RANDOM 4

/**
 * The range was granted to a caller.
 */
#define FURLONG_IOVA_GRANTED 0

/**
 * The range is a region of the firmware or the machine.
 */
#define FURLONG_IOVA_FIXED 1

/**
 * The range is the rest of a granted range that was partly released.
 */
#define FURLONG_IOVA_UNCLAIMED 2

/**
 * A place is searched from top downwards and, if there is none, from bottom upwards.
 */
#define FURLONG_VMSPACE_TOP_DOWN 0

/**
 * A place is searched from bottom upwards.
 */
#define FURLONG_VMSPACE_BOTTOM_UP 1

/**
 * Memory may be read. This and the other protections have Linux's numbers, as in <sys/mman.h>.
 */
#define FURLONG_VMSPACE_PROT_READ 1

/**
 * Memory may be written.
 */
#define FURLONG_VMSPACE_PROT_WRITE 2

/**
 * Memory may be executed.
 */
#define FURLONG_VMSPACE_PROT_EXEC 4

/**
 * For furlong_vmspace_protect: extends the range down to the start of an area that grows.
 */
#define FURLONG_VMSPACE_PROT_GROWSDOWN 16777216

/**
 * Writes are visible to all mappings of the object.
 */
#define FURLONG_VMSPACE_AREA_SHARED 1

/**
 * A stack: it grows towards lower addresses on a fault below it.
 */
#define FURLONG_VMSPACE_AREA_GROWSDOWN 2

/**
 * A fork does not copy it to the child.
 */
#define FURLONG_VMSPACE_AREA_DONTCOPY 4

/**
 * A fork gives the child an empty copy.
 */
#define FURLONG_VMSPACE_AREA_WIPEONFORK 8

/**
 * furlong_vmspace_remap must not enlarge it.
 */
#define FURLONG_VMSPACE_AREA_DONTEXPAND 16

/**
 * It maps a part of an object: it is not private anonymous memory.
 */
#define FURLONG_VMSPACE_AREA_OBJECT 32

/**
 * Its pages may be dropped when memory is short: it was mapped with FURLONG_VMSPACE_MAP_DROPPABLE.
 */
#define FURLONG_VMSPACE_AREA_DROPPABLE 64

/**
 * The caller's own eight flags. They have no effect, but neighbours with different ones do not
 * merge.
 */
#define FURLONG_VMSPACE_AREA_CALLER 65280

/**
 * A range was unmapped.
 */
#define FURLONG_VMSPACE_UNMAPPED 0

/**
 * A value is no longer used, because an area with an equal one stands for it. No range was
 * unmapped, and the fields other than value and kind are 0.
 */
#define FURLONG_VMSPACE_MERGED 1

/**
 * The mapping is shared. This and the other flags have Linux's numbers, as in <sys/mman.h>.
 */
#define FURLONG_VMSPACE_MAP_SHARED 1

/**
 * The mapping is private.
 */
#define FURLONG_VMSPACE_MAP_PRIVATE 2

/**
 * The mapping is shared, and unknown flags are refused.
 */
#define FURLONG_VMSPACE_MAP_SHARED_VALIDATE 3

/**
 * The mapping is private, and the system may drop its pages.
 */
#define FURLONG_VMSPACE_MAP_DROPPABLE 8

/**
 * The address is fixed; existing mappings there are replaced.
 */
#define FURLONG_VMSPACE_MAP_FIXED 16

/**
 * The mapping has no object.
 */
#define FURLONG_VMSPACE_MAP_ANONYMOUS 32

/**
 * The address lies below 2 GiB.
 */
#define FURLONG_VMSPACE_MAP_32BIT 64

/**
 * The mapping is a stack.
 */
#define FURLONG_VMSPACE_MAP_GROWSDOWN 256

/**
 * The address is fixed; existing mappings there are not replaced.
 */
#define FURLONG_VMSPACE_MAP_FIXED_NOREPLACE 1048576

/**
 * A fork does not copy the range. This and the other advices have Linux's numbers.
 */
#define FURLONG_VMSPACE_MADV_DONTFORK 10

/**
 * A fork copies the range again.
 */
#define FURLONG_VMSPACE_MADV_DOFORK 11

/**
 * A fork gives the child an empty copy; private anonymous memory only.
 */
#define FURLONG_VMSPACE_MADV_WIPEONFORK 18

/**
 * A fork copies the contents again; private anonymous memory only.
 */
#define FURLONG_VMSPACE_MADV_KEEPONFORK 19

/**
 * The range may be moved. This and the other flags have Linux's numbers.
 */
#define FURLONG_VMSPACE_MREMAP_MAYMOVE 1

/**
 * The range is moved to the given place, and replaces all mappings there.
 */
#define FURLONG_VMSPACE_MREMAP_FIXED 2

/**
 * The old place stays mapped, but empty.
 */
#define FURLONG_VMSPACE_MREMAP_DONTUNMAP 4

/**
 * The pool never gets more than its first block.
 */
#define FURLONG_BOUNCE_GROW_NEVER 0

/**
 * The pool grows in furlong_bounce_tend.
 */
#define FURLONG_BOUNCE_GROW_DEFERRED 1

/**
 * The pool grows in a map that finds no room.
 */
#define FURLONG_BOUNCE_GROW_INLINE 2

/**
 * The device reads data that the CPU has written.
 */
#define FURLONG_BOUNCE_TO_DEVICE 0

/**
 * The CPU reads data that the device has written.
 */
#define FURLONG_BOUNCE_FROM_DEVICE 1

/**
 * Both directions.
 */
#define FURLONG_BOUNCE_BOTH 2

/**
 * A pool of bounce memory, shared by many CPUs and devices.
 *
 * Mapping a buffer copies it into the pool. The device works on the copy, and its output is copied
 * back. The rest of a run of slots around the mapping is zeroed first.
 *
 * With FURLONG_BOUNCE_GROW_NEVER and without transients, mapping, unmapping and synchronising take
 * no lock. Otherwise they may take a spin lock of the pool: a handler that may have interrupted a
 * call of this pool must not make one.
 */
struct furlong_bounce;

/**
 * A device that maps through a pool.
 */
struct furlong_bounce_device;

/**
 * A device's address space, with its reserved ranges.
 *
 * It reserves whole granules. A range is released by its addresses: C may copy a grant, so each
 * release is looked up, in O(log n), and checked.
 */
struct furlong_iova;

/**
 * A map from ranges of 64-bit indices, which do not overlap, to entries.
 *
 * An entry is a pointer, or any other word of its size that is not 0: the caller may use all its
 * bits. The map dereferences no pointer, and frees nothing that an entry points to. Neighbours are
 * never merged. A range that is stored into the middle of another one leaves two parts with the
 * same entry.
 */
struct furlong_maple;

/**
 * Segments of physical memory in frames of 4 KiB. After the start of the table, each frame has a
 * descriptor of 64 bytes.
 *
 * A spin lock of the table protects all changes, and all queries except lookups. Any thread may
 * call them concurrently. A handler that may have interrupted such a call must not make one.
 * Lookups use a reader and take no lock.
 *
 * A segment is identified by any of its frames.
 */
struct furlong_phys;

/**
 * A context that looks up frames, such as a thread or a CPU. A table has up to 64 readers.
 */
struct furlong_phys_reader;

/**
 * The areas of an address space: mapped ranges, each with its protection and a value of the
 * caller.
 *
 * It does the bookkeeping of mmap, munmap, mprotect, mremap, brk, madvise, fork and of faults. It
 * refuses the same calls as Linux 6.12, with the same numbers. Page tables and files belong to the
 * caller. An address that is not a multiple of the page size is refused where Linux refuses it,
 * and lengths are rounded up to whole pages.
 *
 * The value of an area is 64 bits, such as an index or an address, which the space does not
 * interpret. Neighbours merge if their values, protections and flags are equal and their offsets
 * continue.
 */
struct furlong_vmspace;

/**
 * A range that is not empty, given by its first and its last index, so that it may reach the end
 * of the space.
 */
struct furlong_extent {
        /**
         * The first index.
         */
        uint64_t start;
        /**
         * The last index, which belongs to the range.
         */
        uint64_t last;
};

/**
 * An entry and its range.
 */
struct furlong_maple_entry {
        /**
         * The first index.
         */
        uint64_t start;
        /**
         * The last index.
         */
        uint64_t last;
        /**
         * The entry; NULL for a gap.
         */
        void *entry;
};

/**
 * A place in a map: the range that was found last, or one that was set. It refers to no node, so
 * it may be kept while the map changes, and set freely.
 *
 * All zero, it is at index 0 with nothing found. To begin elsewhere, set start and last. If
 * nothing is found it stays in place, and a call in the other direction begins with the range
 * itself.
 */
struct furlong_maple_cursor {
        /**
         * The first index of the range.
         */
        uint64_t start;
        /**
         * The last index of the range.
         */
        uint64_t last;
        /**
         * 0: an upward search begins with the range itself; 1: it continues behind the range.
         */
        uint32_t is_passed_up;
        /**
         * 0: a downward search begins with the range itself; 1: it continues before the range.
         */
        uint32_t is_passed_down;
};

/**
 * A request for a range. Initialise it with furlong_iova_request, then change single fields.
 */
struct furlong_iova_request {
        /**
         * The size of the data in bytes, at least 1.
         */
        uint64_t size;
        /**
         * The offset of the data in its first granule, in bytes; less than a granule.
         */
        uint64_t offset;
        /**
         * The alignment of the grant's start in bytes, a power of two.
         */
        uint64_t align;
        /**
         * The lowest start of the grant.
         */
        uint64_t low;
        /**
         * The highest last byte of the data.
         */
        uint64_t high;
        /**
         * The data ends at or below this address, or the grant starts above exclude_high. If this is
         * not below exclude_high, nothing is excluded.
         */
        uint64_t exclude_low;
        /**
         * See exclude_low.
         */
        uint64_t exclude_high;
        /**
         * A boundary in bytes, a power of two: the data must not cross its multiples; 0 for none.
         */
        uint64_t boundary;
        /**
         * Granules that must be free before the grant when it is made.
         */
        uint64_t guard_before;
        /**
         * Granules that must be free behind the grant when it is made.
         */
        uint64_t guard_after;
        /**
         * For FURLONG_IOVA_NEAR and FURLONG_IOVA_RANDOM.
         */
        uint64_t hint;
        /**
         * FURLONG_IOVA_LOWEST or another policy.
         */
        uint32_t policy;
        /**
         * Not 0: if the boundary leaves no place, the grant is shorter and its data ends at the
         * boundary.
         */
        uint32_t is_split;
};

/**
 * A reserved range and its data.
 */
struct furlong_iova_grant {
        /**
         * The first address, at the start of a granule.
         */
        uint64_t start;
        /**
         * The last address. Release exactly start to last.
         */
        uint64_t last;
        /**
         * The first address of the data.
         */
        uint64_t data_start;
        /**
         * The last address of the data; less than its size requires, if it was split.
         */
        uint64_t data_last;
        /**
         * A small number that no other reserved range has at the same time.
         */
        size_t index;
};

/**
 * A reserved range.
 */
struct furlong_iova_owned {
        /**
         * The first address.
         */
        uint64_t start;
        /**
         * The last address.
         */
        uint64_t last;
        /**
         * A small number that no other reserved range has at the same time.
         */
        size_t index;
        /**
         * FURLONG_IOVA_GRANTED or another kind.
         */
        uint32_t kind;
};

/**
 * The state of a segment at one moment.
 */
struct furlong_phys_segment {
        /**
         * Its first frame.
         */
        uint64_t start;
        /**
         * Its last frame.
         */
        uint64_t last;
        /**
         * The first frame that the page allocator may use.
         */
        uint64_t avail_start;
        /**
         * The number of frames from there on that it may use; 0 for none.
         */
        uint64_t avail_len;
        /**
         * The start of the next search for contiguous pages, counted from avail_start.
         */
        uint64_t start_hint;
        /**
         * The caller's value.
         */
        uint64_t user;
        /**
         * The free list or NUMA node.
         */
        uint32_t node;
};

/**
 * The descriptor of a frame. If a reader found it, it may be used until that reader leaves. If it
 * was pinned, it may be used until it is unpinned.
 *
 * The caller may use the words, which are 0 at first. Readers share them, so C must change them by
 * atomic operations or under its own lock.
 */
struct furlong_phys_page {
        /**
         * The number of the frame; read-only.
         */
        uint64_t frame;
        /**
         * The number of pins; only furlong_phys_pin and furlong_phys_unpin write it.
         */
        uint64_t pins;
        /**
         * For the caller.
         */
        uint64_t words[6];
};

/**
 * The bounds and the limits of a space. Initialise it with furlong_vmspace_layout, then change
 * single fields.
 */
struct furlong_vmspace_layout {
        /**
         * The page size in bytes: a power of two, at least 2.
         */
        uint64_t page;
        /**
         * The last byte of the space.
         */
        uint64_t last;
        /**
         * The lowest address that may be mapped.
         */
        uint64_t low;
        /**
         * The start of an upward search for a place.
         */
        uint64_t bottom;
        /**
         * The last byte that a downward search may take.
         */
        uint64_t top;
        /**
         * The number of pages that must stay free below the lower end of an area that grows.
         */
        uint64_t guard;
        /**
         * The number of areas at which none is cut any more. A mapping may make one more.
         */
        size_t areas_max;
        /**
         * The largest number of mapped pages.
         */
        uint64_t pages_max;
        /**
         * The largest number of pages that an area may reach by growing.
         */
        uint64_t stack_max;
        /**
         * FURLONG_VMSPACE_TOP_DOWN or FURLONG_VMSPACE_BOTTOM_UP.
         */
        uint32_t direction;
};

/**
 * An item that a call has freed.
 */
struct furlong_vmspace_freed {
        /**
         * The first address of the range.
         */
        uint64_t start;
        /**
         * The last address.
         */
        uint64_t last;
        /**
         * The offset of its start in its object, in bytes; for anonymous memory its own address.
         */
        uint64_t offset;
        /**
         * The value of the area.
         */
        uint64_t value;
        /**
         * The accesses that were allowed: FURLONG_VMSPACE_PROT_READ and others.
         */
        uint32_t prot;
        /**
         * Its further properties: FURLONG_VMSPACE_AREA_SHARED and others.
         */
        uint32_t flags;
        /**
         * FURLONG_VMSPACE_UNMAPPED or FURLONG_VMSPACE_MERGED.
         */
        uint32_t kind;
        /**
         * 1: the whole area is gone, or the last of it; 0: another part of it is still mapped.
         */
        uint32_t is_last;
};

/**
 * Takes an item that a call frees, with the context of the call. It must return, and must not call
 * a function with the same space. A call that fails reports nothing, except furlong_vmspace_fork.
 *
 * If an area is cut, each part keeps its value. To know when an object is no longer mapped, count
 * its pages: those that are mapped less those that are reported as unmapped.
 */
typedef void (*furlong_vmspace_take)(void *context,
                                     const struct furlong_vmspace_freed *freed);

/**
 * A mapped range.
 */
struct furlong_vmspace_area {
        /**
         * The first address.
         */
        uint64_t start;
        /**
         * The last address.
         */
        uint64_t last;
        /**
         * The offset of its start in its object, in bytes; for anonymous memory its own address.
         */
        uint64_t offset;
        /**
         * The caller's value.
         */
        uint64_t value;
        /**
         * The allowed accesses: FURLONG_VMSPACE_PROT_READ and others.
         */
        uint32_t prot;
        /**
         * The accesses that furlong_vmspace_protect may allow.
         */
        uint32_t may;
        /**
         * Further properties: FURLONG_VMSPACE_AREA_SHARED and others.
         */
        uint32_t flags;
};

/**
 * A request for a mapping. Initialise it with furlong_vmspace_request, then change single fields.
 */
struct furlong_vmspace_request {
        /**
         * The fixed address or, without a flag for that, a hint. 0 is no hint.
         */
        uint64_t address;
        /**
         * The length in bytes, rounded up to whole pages.
         */
        uint64_t len;
        /**
         * The allowed accesses: FURLONG_VMSPACE_PROT_READ and others. Unknown ones are ignored.
         */
        uint64_t prot;
        /**
         * The flags of mmap: FURLONG_VMSPACE_MAP_PRIVATE and others.
         */
        uint64_t flags;
        /**
         * The offset in the object, in bytes, at a page. For anonymous memory a multiple of 4096,
         * which has no effect.
         */
        uint64_t offset;
        /**
         * The value of the area.
         */
        uint64_t value;
        /**
         * The alignment of the start in bytes, if the space chooses the place: a power of two. Less
         * than a page counts as a page.
         */
        uint64_t align;
        /**
         * The first address of an upward search for a place.
         */
        uint64_t window_start;
        /**
         * The last address of that search. 0: the layout selects the search.
         */
        uint64_t window_last;
        /**
         * The accesses that furlong_vmspace_protect may allow later.
         */
        uint32_t may;
        /**
         * Further flags of the area: FURLONG_VMSPACE_AREA_DONTCOPY, _WIPEONFORK, _DONTEXPAND, _CALLER.
         */
        uint32_t area_flags;
};

/**
 * Makes the child's value for an area. value contains that of the parent, and may be left as it
 * is.
 * Returns 0, or a negative error number that refuses the fork; any other number counts as -EINVAL.
 * It must return, and must not change the parent.
 */
typedef int (*furlong_vmspace_copy)(void *context,
                                    const struct furlong_vmspace_area *area,
                                    uint64_t *value);

/**
 * The size of a pool, and its growth. Initialise it with furlong_bounce_plan, then change single
 * fields.
 */
struct furlong_bounce_plan {
        /**
         * Slots of the first block, of 2 KiB each.
         */
        size_t slots;
        /**
         * Areas of the first block, a power of two: one for each CPU.
         */
        size_t areas;
        /**
         * The largest number of blocks at a time, including the first.
         */
        size_t blocks;
        /**
         * Slots of a further block.
         */
        size_t block_slots;
        /**
         * If there is no memory for a block, its size is halved, down to this number of slots.
         */
        size_t block_min;
        /**
         * The largest number of mappings that may have a block of their own at a time, used if no
         * area has room.
         */
        size_t transients;
        /**
         * The highest address that the memory may have.
         */
        uint64_t reach;
        /**
         * The number of times in a row that a further block must be found empty before it is freed.
         */
        uint32_t patience;
        /**
         * FURLONG_BOUNCE_GROW_NEVER or another growth.
         */
        uint32_t growth;
        /**
         * Not 0: only devices made for this pool may use it, it has one area, and it does not grow.
         */
        uint32_t is_restricted;
        /**
         * Returns the number of the CPU that calls it, from 0. The number selects the area that is
         * tried first, and may be stale. NULL: all callers begin with the same area.
         */
        size_t (*cpu)(void);
};

/**
 * The reach of a device, and its constraints on buffers. Initialise it with furlong_bounce_limits,
 * then change single fields.
 */
struct furlong_bounce_limits {
        /**
         * The last address that the device can put on the bus.
         */
        uint64_t reach;
        /**
         * Low address bits that a buffer's place in the pool must share with the original: 2^n - 1.
         */
        uint64_t min_align_mask;
        /**
         * Alignment of a run of slots, less one: 2^n - 1.
         */
        uint64_t align_mask;
        /**
         * A boundary, less one: 2^n - 1. A run must not cross a multiple of the boundary.
         */
        uint64_t boundary_mask;
        /**
         * Slots that the device may use at a time; 0 for no quota.
         */
        uint32_t quota;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Makes an empty map. It allocates no nodes until it gets its first entry.
 *
 * Returns 0, -EINVAL (maple is NULL) or -ENOMEM.
 * Threads: any thread.
 */
int furlong_maple_create(struct furlong_maple **maple);

/**
 * Destroys a map; NULL is ignored. Objects that its entries point to are not freed.
 *
 * Threads: exclusive; the map must not be used afterwards.
 */
void furlong_maple_destroy(struct furlong_maple *maple);

/**
 * Makes another map with the same ranges and entries, node by node.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOMEM: nothing was made.
 * Threads: read-only.
 */
int furlong_maple_duplicate(const struct furlong_maple *maple,
                            struct furlong_maple **copy);

/**
 * The number of entries; 0 for NULL.
 *
 * Threads: read-only.
 */
size_t furlong_maple_len(const struct furlong_maple *maple);

/**
 * Removes all entries.
 *
 * Returns 0, or -EINVAL (maple is NULL).
 * Threads: exclusive, under the caller's lock.
 */
int furlong_maple_clear(struct furlong_maple *maple);

/**
 * Adds an entry for start to last, if no range overlaps. With -EEXIST, and only then, the first
 * overlapping range is written to conflict, unless that is NULL.
 *
 * Returns 0, -EINVAL (maple or entry is NULL, last is below start), -EEXIST (another range
 * overlaps) or -ENOMEM: nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_maple_insert(struct furlong_maple *maple,
                         uint64_t start,
                         uint64_t last,
                         void *entry,
                         struct furlong_extent *conflict);

/**
 * Removes the entry that contains index, with its whole range, and writes it to taken, unless that
 * is NULL.
 *
 * Returns 0, -EINVAL (maple is NULL), -ENOENT (no entry contains the index) or -ENOMEM: nothing
 * has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_maple_erase(struct furlong_maple *maple,
                        uint64_t index,
                        struct furlong_maple_entry *taken);

/**
 * Changes the range of the entry that contains index to start to last, which must contain index
 * too. The range may grow and shrink at both ends. With -EEXIST, and only then, the range in the
 * way is written to conflict, unless that is NULL. It is the entry's own range if the new one does
 * not contain the index.
 *
 * Returns 0, -EINVAL (maple is NULL, last is below start), -ENOENT (no entry contains the index),
 * -EEXIST (another entry is in the way, or the new range does not contain the index) or -ENOMEM:
 * nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_maple_resize(struct furlong_maple *maple,
                         uint64_t index,
                         uint64_t start,
                         uint64_t last,
                         struct furlong_extent *conflict);

/**
 * The entry that contains index; NULL if there is none, and for a NULL map.
 *
 * Threads: read-only.
 */
void *furlong_maple_load(const struct furlong_maple *maple, uint64_t index);

/**
 * Writes the entry or the gap at index to found, with its range; the entry of a gap is NULL.
 *
 * Returns 0, or -EINVAL (an argument is NULL).
 * Threads: read-only.
 */
int furlong_maple_walk(const struct furlong_maple *maple,
                       uint64_t index,
                       struct furlong_maple_entry *found);

/**
 * Writes the first entry that contains index or lies behind it to found.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: read-only.
 */
int furlong_maple_find(const struct furlong_maple *maple,
                       uint64_t index,
                       struct furlong_maple_entry *found);

/**
 * Writes the last entry that contains index or lies before it to found.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: read-only.
 */
int furlong_maple_find_back(const struct furlong_maple *maple,
                            uint64_t index,
                            struct furlong_maple_entry *found);

/**
 * Obtains nodes for so many changes, which then neither allocate nor free nor return -ENOMEM. The
 * nodes are kept until furlong_maple_trim.
 *
 * Returns 0, -EINVAL (maple is NULL) or -ENOMEM.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_maple_prepare(struct furlong_maple *maple,
                          size_t changes);

/**
 * Frees unused nodes but one leaf, and keeps no more from now on.
 *
 * Returns 0, or -EINVAL (maple is NULL).
 * Threads: exclusive, under the caller's lock.
 */
int furlong_maple_trim(struct furlong_maple *maple);

/**
 * Checks all invariants of the map, which only a defect or a stray write can break.
 *
 * Returns 0, -EINVAL (maple is NULL) or -ENOTRECOVERABLE (one is broken).
 * Threads: read-only.
 */
int furlong_maple_check(const struct furlong_maple *maple);

/**
 * Stores an entry for start to last, over all entries there. Ranges inside it are removed; those
 * that reach out of it are cut, and keep their entries.
 *
 * The removed entries are written to displaced, in order, and their number to count, unless these
 * are NULL. displaced has places for room entries. If more would be removed, nothing changes, and
 * the call returns -ENOBUFS with their number in count. With displaced NULL, no entries are handed
 * back.
 *
 * Returns 0, -EINVAL (maple or entry is NULL, last is below start, no memory has room places),
 * -ENOBUFS or -ENOMEM: nothing has changed.
 * Threads: exclusive, under the caller's lock.
 *
 * The caller promises:
 * displaced is NULL or has room places.
 */
int furlong_maple_store(struct furlong_maple *maple,
                        uint64_t start,
                        uint64_t last,
                        void *entry,
                        struct furlong_maple_entry *displaced,
                        size_t room,
                        size_t *count);

/**
 * Clears start to last; otherwise as furlong_maple_store.
 *
 * Returns 0, -EINVAL (maple is NULL, last is below start, no memory has room places), -ENOBUFS or
 * -ENOMEM: nothing has changed.
 * Threads: exclusive, under the caller's lock.
 *
 * The caller promises:
 * displaced is NULL or has room places.
 */
int furlong_maple_erase_range(struct furlong_maple *maple,
                              uint64_t start,
                              uint64_t last,
                              struct furlong_maple_entry *displaced,
                              size_t room,
                              size_t *count);

/**
 * Moves cursor to the next entry, and writes it to found. That is the first entry that ends behind
 * the cursor's range.
 *
 * Returns 0, -EINVAL (an argument is NULL, the cursor is invalid) or -ENOENT (there is
 * none).
 * Threads: read-only; each thread needs its own cursor.
 */
int furlong_maple_next(const struct furlong_maple *maple,
                       struct furlong_maple_cursor *cursor,
                       struct furlong_maple_entry *found);

/**
 * Moves cursor to the previous entry, and writes it to found. That is the last entry that starts
 * before the cursor's range.
 *
 * Returns 0, -EINVAL (an argument is NULL, the cursor is invalid) or -ENOENT (there is
 * none).
 * Threads: read-only; each thread needs its own cursor.
 */
int furlong_maple_prev(const struct furlong_maple *maple,
                       struct furlong_maple_cursor *cursor,
                       struct furlong_maple_entry *found);

/**
 * Moves cursor to the entry or the gap that begins behind it, and writes that to found; the entry
 * of a gap is NULL.
 *
 * Returns 0, -EINVAL (an argument is NULL, the cursor is invalid) or -ENOENT (the range
 * ends with the last index).
 * Threads: read-only; each thread needs its own cursor.
 */
int furlong_maple_next_place(const struct furlong_maple *maple,
                             struct furlong_maple_cursor *cursor,
                             struct furlong_maple_entry *found);

/**
 * Moves cursor to the entry or the gap that ends before it, and writes that to found; the entry of
 * a gap is NULL.
 *
 * Returns 0, -EINVAL (an argument is NULL, the cursor is invalid) or -ENOENT (the range
 * starts with index 0).
 * Threads: read-only; each thread needs its own cursor.
 */
int furlong_maple_prev_place(const struct furlong_maple *maple,
                             struct furlong_maple_cursor *cursor,
                             struct furlong_maple_entry *found);

/**
 * The length of the largest gap; UINT64_MAX also for the whole space, whose length is one more. 0
 * for a NULL map.
 *
 * Threads: read-only.
 */
uint64_t furlong_maple_largest_gap(const struct furlong_maple *maple);

/**
 * Writes the lowest place from start to last for size indices to gap; nothing is stored.
 *
 * Returns 0, -EINVAL (an argument is NULL, size is 0, last is below start) or -ENOSPC (there is
 * none).
 * Threads: read-only; exclusive from this call to the store at the place.
 */
int furlong_maple_lowest_gap(const struct furlong_maple *maple,
                             uint64_t size,
                             uint64_t start,
                             uint64_t last,
                             struct furlong_extent *gap);

/**
 * Writes the highest place from start to last for size indices to gap; nothing is stored.
 *
 * Returns 0, -EINVAL (an argument is NULL, size is 0, last is below start) or -ENOSPC (there is
 * none).
 * Threads: read-only; exclusive from this call to the store at the place.
 */
int furlong_maple_highest_gap(const struct furlong_maple *maple,
                              uint64_t size,
                              uint64_t start,
                              uint64_t last,
                              struct furlong_extent *gap);

/**
 * Makes a space on the heap, of the addresses from start to last, with nothing reserved, in
 * granules of granule bytes.
 *
 * Returns 0, -EINVAL (iova is NULL, last is below start, granule is not a power of two, the space
 * does not consist of whole granules) or -ENOMEM.
 * Threads: any thread.
 */
int furlong_iova_create(struct furlong_iova **iova,
                        uint64_t start,
                        uint64_t last,
                        uint64_t granule);

/**
 * The size in bytes that furlong_iova_create_in needs for a space of so many reserved ranges.
 *
 * Threads: any thread.
 */
size_t furlong_iova_bytes(size_t ranges);

/**
 * Makes a space in memory of bytes bytes that the caller supplies. It never allocates: when all
 * that memory is in use, a reservation returns -ENOMEM. The caller gets the memory back when the
 * space is destroyed.
 *
 * Returns 0, -EINVAL (an argument is NULL; otherwise as furlong_iova_create) or -ENOMEM (bytes are
 * too few for an empty space).
 * Threads: any thread.
 *
 * The caller promises:
 * The memory is valid for reading and writing, and nobody else uses it until the space is
 * destroyed.
 */
int furlong_iova_create_in(struct furlong_iova **iova,
                           void *memory,
                           size_t bytes,
                           uint64_t start,
                           uint64_t last,
                           uint64_t granule);

/**
 * Destroys a space; NULL is ignored.
 *
 * Threads: exclusive; the space must not be used afterwards.
 *
 * The caller promises:
 * iova came from furlong_iova_create or furlong_iova_create_in and has not been destroyed.
 */
void furlong_iova_destroy(struct furlong_iova *iova);

/**
 * Obtains memory for so many reservations, which then allocate nothing.
 *
 * Returns 0, -EINVAL (iova is NULL) or -ENOMEM.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_iova_prepare(struct furlong_iova *iova, size_t reservations);

/**
 * The number of reserved ranges; 0 for NULL.
 *
 * Threads: read-only.
 */
size_t furlong_iova_len(const struct furlong_iova *iova);

/**
 * Checks all invariants of the space, which only a defect or a stray write can break.
 *
 * Returns 0, -EINVAL (iova is NULL) or -ENOTRECOVERABLE (one is broken).
 * Threads: read-only.
 */
int furlong_iova_check(const struct furlong_iova *iova);

/**
 * Initialises request to size bytes anywhere, at the lowest place, without guards, boundary or
 * exclusion.
 *
 * Returns 0, or -EINVAL (request is NULL).
 * Threads: any thread.
 */
int furlong_iova_request(struct furlong_iova_request *request,
                         uint64_t size);

/**
 * Reserves a range for request, and writes it to grant.
 *
 * Returns 0, -EINVAL (an argument is NULL, size is 0, align or boundary is not a power of two,
 * offset is not less than a granule, high is below low, the policy is unknown), -E2BIG (the data
 * crosses the boundary at every place, and may not be split), -EOVERFLOW (size, offset and guards
 * do not fit 64 bits), -ENOSPC (there is no place), -ETIMEDOUT (too many gaps cross the boundary
 * to search them all; FURLONG_IOVA_BEST searches them) or -ENOMEM: nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_iova_reserve(struct furlong_iova *iova,
                         const struct furlong_iova_request *request,
                         struct furlong_iova_grant *grant);

/**
 * Reserves exactly start to last. With -EEXIST, and only then, the reserved range in the way is
 * written to conflict, unless that is NULL.
 *
 * Returns 0, -EINVAL (iova is NULL, last is below start, the range does not consist of whole
 * granules), -ERANGE (part of it is outside the space), -EEXIST (part of it is reserved) or
 * -ENOMEM: nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_iova_reserve_at(struct furlong_iova *iova,
                            uint64_t start,
                            uint64_t last,
                            struct furlong_extent *conflict);

/**
 * Reserves a region of the firmware or the machine. It may overlap others of its kind; then only
 * the parts that are not reserved yet are added. The number of ranges added is written to count,
 * unless that is NULL.
 *
 * Returns 0, -EINVAL (iova is NULL, last is below start, the region does not consist of whole
 * granules), -ERANGE (part of it is outside the space), -EEXIST (part of it is reserved for
 * another kind) or -ENOMEM: nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_iova_reserve_fixed(struct furlong_iova *iova,
                               uint64_t start,
                               uint64_t last,
                               size_t *count);

/**
 * Reserves every free part of start to last, each as a range of its own. Their number is written
 * to count, unless that is NULL.
 *
 * Returns 0, -EINVAL (iova is NULL, last is below start, the range does not consist of whole
 * granules), -ERANGE (part of it is outside the space) or -ENOMEM: nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_iova_fill(struct furlong_iova *iova,
                      uint64_t start,
                      uint64_t last,
                      size_t *count);

/**
 * Releases exactly start to last, which must not be FURLONG_IOVA_FIXED.
 *
 * Returns 0, -EINVAL (iova is NULL, last is below start, the range does not consist of whole
 * granules), -ENOENT (no part of it is reserved), -EBUSY (it is part of a larger range, or covers
 * several) or -EPERM (it is fixed: use furlong_iova_release_fixed): nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_iova_release(struct furlong_iova *iova,
                         uint64_t start,
                         uint64_t last);

/**
 * Releases exactly start to last, which must be FURLONG_IOVA_FIXED: a region of the firmware that
 * is no longer in use.
 *
 * Returns as furlong_iova_release, but -EPERM if it is not fixed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_iova_release_fixed(struct furlong_iova *iova,
                               uint64_t start,
                               uint64_t last);

/**
 * Releases all of start to last except fixed ranges. Ranges that are partly inside are cut, and
 * the rest of them becomes FURLONG_IOVA_UNCLAIMED. The number of pieces released is written to
 * count, unless that is NULL; 0 if nothing was reserved.
 *
 * Returns 0, -EINVAL (iova is NULL, last is below start, the range does not consist of whole
 * granules), -ERANGE (part of it is outside the space) or -ENOMEM (a hole in the middle of a range
 * needs a second one): nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_iova_release_range(struct furlong_iova *iova,
                               uint64_t start,
                               uint64_t last,
                               size_t *count);

/**
 * Writes the reserved range that contains address to owned.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (it is free, or outside the space).
 * Threads: read-only.
 */
int furlong_iova_owner(const struct furlong_iova *iova,
                       uint64_t address,
                       struct furlong_iova_owned *owned);

/**
 * Writes the first reserved range that contains address or lies behind it to owned. To visit all,
 * begin with address 0 and continue behind owned's last address, unless that is UINT64_MAX.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: read-only.
 */
int furlong_iova_next(const struct furlong_iova *iova,
                      uint64_t address,
                      struct furlong_iova_owned *owned);

/**
 * Writes the first free range from address on to gap, without the part below address. All are
 * visited as with furlong_iova_next.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: read-only.
 */
int furlong_iova_next_free(const struct furlong_iova *iova,
                           uint64_t address,
                           struct furlong_extent *gap);

/**
 * Makes an empty table on the heap, which also allocates there later.
 *
 * Returns 0, -EINVAL (phys is NULL) or -ENOMEM.
 * Threads: any thread.
 */
int furlong_phys_create(struct furlong_phys **phys);

/**
 * The size in bytes that furlong_phys_create_in needs for a table of up to 32 segments before its
 * start. The start and later changes need 64 bytes for each frame and about 100 KiB more, in this
 * memory or from furlong_phys_donate.
 *
 * Threads: any thread.
 */
size_t furlong_phys_bytes(void);

/**
 * Makes an empty table in memory of bytes bytes that the caller supplies. It keeps the rest of the
 * memory for later use, and never allocates. The caller gets the memory back when the table is
 * destroyed.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOMEM (bytes are too few).
 * Threads: any thread.
 *
 * The caller promises:
 * The memory is valid for reading and writing, and nobody else uses it until the table is
 * destroyed.
 */
int furlong_phys_create_in(struct furlong_phys **phys,
                           void *memory,
                           size_t bytes);

/**
 * Destroys a table, with all descriptors; NULL is ignored.
 *
 * Threads: exclusive; the table has no readers, and must not be used afterwards.
 *
 * The caller promises:
 * phys came from furlong_phys_create or furlong_phys_create_in and has not been destroyed. All its
 * readers have been destroyed.
 */
void furlong_phys_destroy(struct furlong_phys *phys);

/**
 * Gives the table memory for later use: a static array, or frames outside of all segments.
 *
 * Returns 0, or -EINVAL (an argument is NULL).
 * Threads: concurrent.
 *
 * The caller promises:
 * The memory is valid for reading and writing, and nobody else uses it until the table is
 * destroyed.
 */
int furlong_phys_donate(const struct furlong_phys *phys,
                        void *memory,
                        size_t bytes);

/**
 * Frees memory that no reader uses any more. Each change does so by itself; call this to free it
 * earlier.
 *
 * Returns 0, or -EINVAL (phys is NULL).
 * Threads: concurrent.
 */
int furlong_phys_sweep(const struct furlong_phys *phys);

/**
 * The number of bytes in use, of memory that was supplied or came from the heap; 0 for NULL.
 *
 * Threads: concurrent.
 */
size_t furlong_phys_memory_bytes(const struct furlong_phys *phys);

/**
 * Checks all invariants of the table, which only a defect or a stray write can break.
 *
 * Returns 0, -EINVAL (phys is NULL) or -ENOTRECOVERABLE (one is broken).
 * Threads: concurrent.
 */
int furlong_phys_check(const struct furlong_phys *phys);

/**
 * Adds the frames from start to last as a segment, all of them available, with node 0 and user
 * value 0. After the start of the table they get descriptors, and lookups find them.
 *
 * Returns 0, -EINVAL (phys is NULL, last is below start), -EFBIG (a frame beyond 2^40), -EEXIST
 * (another segment contains some of the frames), -ENOSPC (there are 32 segments, and the table has
 * no memory for more) or -ENOMEM: nothing has changed.
 * Threads: concurrent.
 */
int furlong_phys_plug(const struct furlong_phys *phys,
                      uint64_t start,
                      uint64_t last);

/**
 * The number of segments; 0 for NULL.
 *
 * Threads: concurrent.
 */
size_t furlong_phys_len(const struct furlong_phys *phys);

/**
 * The number of available frames that have descriptors; 0 before the start of the table, and for
 * NULL.
 *
 * Threads: concurrent.
 */
uint64_t furlong_phys_managed(const struct furlong_phys *phys);

/**
 * Writes the segment that contains frame, isolated or not, to segment.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (no segment contains it).
 * Threads: concurrent.
 */
int furlong_phys_get(const struct furlong_phys *phys,
                     uint64_t frame,
                     struct furlong_phys_segment *segment);

/**
 * Writes the lowest segment to segment.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: concurrent.
 */
int furlong_phys_first(const struct furlong_phys *phys,
                       struct furlong_phys_segment *segment);

/**
 * Writes the lowest segment that starts behind frame to segment. Given the last frame of a
 * segment, that is the next one. O(log n) if a segment contains the frame, else O(n).
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: concurrent.
 */
int furlong_phys_next(const struct furlong_phys *phys,
                      uint64_t frame,
                      struct furlong_phys_segment *segment);

/**
 * Sets the frames that the page allocator may use in the segment that contains frame: avail_len
 * frames from avail_start on, or none if avail_len is 0.
 *
 * Returns 0, -EINVAL (phys is NULL, the frames are not all in the segment) or -ENOENT (no segment
 * contains frame): nothing has changed.
 * Threads: concurrent.
 */
int furlong_phys_set_avail(const struct furlong_phys *phys,
                           uint64_t frame,
                           uint64_t avail_start,
                           uint64_t avail_len);

/**
 * Sets the start of the next search for contiguous pages in the segment that contains frame,
 * counted from its first available frame.
 *
 * Returns 0, -EINVAL (phys is NULL), -ENOENT (no segment contains frame) or -ERANGE (the hint is
 * beyond the available frames): nothing has changed.
 * Threads: concurrent.
 */
int furlong_phys_set_start_hint(const struct furlong_phys *phys,
                                uint64_t frame,
                                uint64_t hint);

/**
 * Sets the free list or NUMA node of the segment that contains frame.
 *
 * Returns 0, -EINVAL (phys is NULL) or -ENOENT (no segment contains frame).
 * Threads: concurrent.
 */
int furlong_phys_set_node(const struct furlong_phys *phys,
                          uint64_t frame,
                          uint32_t node);

/**
 * Sets the caller's value of the segment that contains frame.
 *
 * Returns 0, -EINVAL (phys is NULL) or -ENOENT (no segment contains frame).
 * Threads: concurrent.
 */
int furlong_phys_set_user(const struct furlong_phys *phys,
                          uint64_t frame,
                          uint64_t user);

/**
 * Removes an available frame of a node from the table, at the edge of a segment if possible, and
 * writes its number to frame. Page tables need such frames before there is an allocator.
 *
 * Returns 0, -EINVAL (an argument is NULL), -EALREADY (the table has started), -ENOENT (the node
 * has no available frame), -EPERM (it would be the last frame of the last segment) or -ENOMEM (a
 * hole needs one more segment): nothing has changed.
 * Threads: concurrent.
 */
int furlong_phys_steal(const struct furlong_phys *phys,
                       uint32_t node,
                       uint64_t *frame);

/**
 * Ends boot: every frame gets a descriptor, and lookups find it. The number of available frames is
 * written to available, unless that is NULL.
 *
 * Returns 0, -EINVAL (phys is NULL), -EALREADY (the table has started), -ENOSPC (the index has no
 * room for so many segments) or -ENOMEM: nothing has changed.
 * Threads: concurrent.
 */
int furlong_phys_start(const struct furlong_phys *phys,
                       uint64_t *available);

/**
 * Returns 1 if the table has started, else 0; 0 for NULL.
 *
 * Threads: concurrent.
 */
int furlong_phys_is_started(const struct furlong_phys *phys);

/**
 * Removes the frames from start to last, with their descriptors. They may be a whole segment, one
 * of its ends, or its middle, which leaves two segments.
 *
 * Returns 0, -EINVAL (phys is NULL, last is below start), -ENOENT (no segment contains start),
 * -ERANGE (they reach beyond the segment's end), -EPERM (they are all frames of the table),
 * -EALREADY (some are isolated), -EBUSY (one is pinned), -EADDRINUSE (they hold bookkeeping),
 * -EAGAIN (a reader has entered), -ENOSPC (there are 32 segments, and the table has no memory for
 * more) or -ENOMEM: nothing has changed.
 * Threads: concurrent.
 */
int furlong_phys_unplug(const struct furlong_phys *phys,
                        uint64_t start,
                        uint64_t last);

/**
 * The first phase: no lookup that begins from now on finds the frames from start to last. Readers
 * that have entered may still use their descriptors.
 *
 * Returns as furlong_phys_unplug, but for -EBUSY and -EAGAIN; -ENXIO if the table has not started.
 * Threads: concurrent.
 */
int furlong_phys_isolate(const struct furlong_phys *phys,
                         uint64_t start,
                         uint64_t last);

/**
 * The second phase: removes the isolated range that contains frame from the table.
 *
 * Returns 0, -EINVAL (phys is NULL), -ENOENT (frame is not isolated), -EAGAIN (readers have
 * entered that may use them: call again later), -EBUSY (one is pinned) or -EPERM (they are all
 * frames of the table): they stay isolated; or -EINPROGRESS (another thread is removing them).
 * Threads: concurrent.
 */
int furlong_phys_remove(const struct furlong_phys *phys,
                        uint64_t frame);

/**
 * Cancels the isolation of the range that contains frame: lookups find its frames again.
 *
 * Returns 0, -EINVAL (phys is NULL), -ENOENT (frame is not isolated) or -EINPROGRESS (another
 * thread is removing them).
 * Threads: concurrent.
 */
int furlong_phys_abort(const struct furlong_phys *phys,
                       uint64_t frame);

/**
 * Makes a reader of a table, on the heap.
 *
 * Returns 0, -EINVAL (an argument is NULL), -EUSERS (there are 64 readers) or -ENOMEM.
 * Threads: concurrent.
 *
 * The caller promises:
 * The readers of a table are destroyed before it.
 */
int furlong_phys_reader_create(const struct furlong_phys *phys,
                               struct furlong_phys_reader **reader);

/**
 * The size in bytes that furlong_phys_reader_create_in needs.
 *
 * Threads: any thread.
 */
size_t furlong_phys_reader_bytes(void);

/**
 * Makes a reader in memory of bytes bytes that the caller supplies. The caller gets the memory
 * back when the reader is destroyed.
 *
 * Returns 0, -EINVAL (an argument is NULL), -EUSERS (there are 64 readers) or -ENOMEM (bytes are
 * too few).
 * Threads: concurrent.
 *
 * The caller promises:
 * The readers of a table are destroyed before it. The memory is valid for reading and writing, and
 * nobody else uses it until the reader is destroyed.
 */
int furlong_phys_reader_create_in(const struct furlong_phys *phys,
                                  struct furlong_phys_reader **reader,
                                  void *memory,
                                  size_t bytes);

/**
 * Destroys a reader, which leaves first if it has entered; NULL is ignored.
 *
 * Threads: exclusive; the reader must not be used afterwards.
 *
 * The caller promises:
 * reader came from furlong_phys_reader_create or furlong_phys_reader_create_in and has not been
 * destroyed.
 */
void furlong_phys_reader_destroy(struct furlong_phys_reader *reader);

/**
 * Enters: all finds of the reader stay valid until it has left as often as it has entered.
 *
 * Returns 0, or -EINVAL (reader is NULL).
 * Threads: concurrent. A reader is used by one thread at a time, and leaves in the thread in which
 * it has entered. A handler that may have interrupted a call with a reader needs its own.
 */
int furlong_phys_enter(struct furlong_phys_reader *reader);

/**
 * Leaves.
 *
 * Returns 0, -EINVAL (reader is NULL) or -EPERM (it has not entered).
 * Threads: as furlong_phys_enter.
 */
int furlong_phys_leave(struct furlong_phys_reader *reader);

/**
 * Looks up the segment that contains frame. Writes the index of the frame in its segment, from 0,
 * to offset, unless that is NULL. Beside a change, the segment is one that contained the frame at
 * some moment during the call.
 *
 * Returns 0, -EINVAL (reader is NULL), -EPERM (it has not entered) or -ENOENT (no segment contains
 * the frame, it is isolated, or the table has not started).
 * Threads: as furlong_phys_enter. It is wait-free, and writes no memory that others read.
 */
int furlong_phys_find(const struct furlong_phys_reader *reader,
                      uint64_t frame,
                      uint64_t *offset);

/**
 * The descriptor of the frame that contains the byte at address; NULL if furlong_phys_find would
 * return an error.
 *
 * Threads: as furlong_phys_find.
 */
struct furlong_phys_page *furlong_phys_page(const struct furlong_phys_reader *reader,
                                            uint64_t address);

/**
 * Pins a frame: it cannot be unplugged until it was unpinned as often. The caller is a reader that
 * has entered, or has pinned the frame already. An isolated frame may still be pinned.
 *
 * Returns 0, or -EINVAL (page is NULL).
 * Threads: concurrent.
 */
int furlong_phys_pin(const struct furlong_phys_page *page);

/**
 * Unpins a frame once.
 *
 * Returns 0, or -EINVAL (page is NULL, or not pinned).
 * Threads: concurrent.
 */
int furlong_phys_unpin(const struct furlong_phys_page *page);

/**
 * Makes an empty space. layout may be NULL: Linux on x86-64, see furlong_vmspace_layout.
 *
 * Returns 0, -EINVAL (space is NULL, the layout is invalid) or -ENOMEM.
 * Threads: any thread.
 */
int furlong_vmspace_create(struct furlong_vmspace **space,
                           const struct furlong_vmspace_layout *layout);

/**
 * Destroys a space; NULL is ignored. Its areas are not reported: call furlong_vmspace_clear before
 * for that.
 *
 * Threads: exclusive; the space must not be used afterwards.
 */
void furlong_vmspace_destroy(struct furlong_vmspace *space);

/**
 * Unmaps everything and resets the break, as execve does. freed may be NULL.
 *
 * Returns 0, or -EINVAL (space is NULL).
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_clear(struct furlong_vmspace *space,
                          furlong_vmspace_take freed,
                          void *context);

/**
 * The number of areas; 0 for NULL.
 *
 * Threads: read-only.
 */
size_t furlong_vmspace_len(const struct furlong_vmspace *space);

/**
 * The number of mapped pages that allow all accesses in prot: all mapped pages if prot is 0; 0 for
 * NULL.
 *
 * Threads: read-only.
 */
uint64_t furlong_vmspace_pages(const struct furlong_vmspace *space,
                               uint32_t prot);

/**
 * Obtains memory, so that so many changes need none. furlong_vmspace_map and _mmap make at most 2,
 * _remap 4, _unmap and _set_brk 1, and _protect, _advise and _update one for each area in the
 * range.
 *
 * Returns 0, -EINVAL (space is NULL) or -ENOMEM.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_prepare(struct furlong_vmspace *space,
                            size_t changes);

/**
 * Checks all invariants of the space, which only a defect or a stray write can break.
 *
 * Returns 0, -EINVAL (space is NULL) or -ENOTRECOVERABLE (one is broken).
 * Threads: read-only.
 */
int furlong_vmspace_check(const struct furlong_vmspace *space);

/**
 * Initialises layout to that of a process on x86-64 under Linux, without randomisation. Its only
 * limits are 65,530 areas and a stack of 8 MiB.
 *
 * Returns 0, or -EINVAL (layout is NULL).
 * Threads: any thread.
 */
int furlong_vmspace_layout(struct furlong_vmspace_layout *layout);

/**
 * Writes the area that contains address to area.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (nothing is mapped there).
 * Threads: read-only.
 */
int furlong_vmspace_find(const struct furlong_vmspace *space,
                         uint64_t address,
                         struct furlong_vmspace_area *area);

/**
 * Writes the first area that contains address or lies behind it to area, as Linux's find_vma. To
 * iterate, begin with 0 and continue with last + 1. The end is -ENOENT, or a last of UINT64_MAX.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: read-only.
 */
int furlong_vmspace_next(const struct furlong_vmspace *space,
                         uint64_t address,
                         struct furlong_vmspace_area *area);

/**
 * Handles a fault at address: writes the area there to area, if it allows the access. A stack
 * above the address grows down to it. access is one of FURLONG_VMSPACE_PROT_READ, _WRITE and
 * _EXEC.
 *
 * Returns 0, -EINVAL (space or area is NULL, access is none of the three), -EFAULT (nothing is
 * mapped there, and no stack can grow down to it), -EACCES (the area does not allow the access),
 * -EPERM (the stack would grow below the lowest address) or -ENOMEM (the stack would exceed a
 * limit or come too close to another area, or out of memory): nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_fault(struct furlong_vmspace *space,
                          uint64_t address,
                          uint32_t access,
                          struct furlong_vmspace_area *area);

/**
 * Initialises request to len bytes of private anonymous memory, anywhere. All accesses may be
 * allowed later.
 *
 * Returns 0, or -EINVAL (request is NULL).
 * Threads: any thread.
 */
int furlong_vmspace_request(struct furlong_vmspace_request *request,
                            uint64_t len,
                            uint64_t prot,
                            uint64_t value);

/**
 * Maps a range, and writes its first address to start. It is merged with neighbours that are
 * equal. Replaced ranges are passed to freed, unless that is NULL, and so is the value, if a
 * neighbour's stands for it.
 *
 * Returns 0, -EINVAL (space, request or start is NULL, the length is 0, a fixed address or the
 * offset is not at a page, a number or the kind of mapping is invalid), -ENOMEM (no gap is large
 * enough, the range is not in the space, a limit is reached, or out of memory), -EEXIST (something
 * is mapped at an address that is not to be replaced), -EPERM (a fixed address is below the lowest
 * one), -EACCES (may does not contain prot), -EOVERFLOW (the object would end beyond the last
 * offset) or -EOPNOTSUPP (an unknown flag): nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_map(struct furlong_vmspace *space,
                        const struct furlong_vmspace_request *request,
                        uint64_t *start,
                        furlong_vmspace_take freed,
                        void *context);

/**
 * Maps a range by the arguments of Linux's mmap; otherwise as furlong_vmspace_map. value stands
 * for the file.
 *
 * Returns 0, or an error of furlong_vmspace_map, except -EACCES: nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_mmap(struct furlong_vmspace *space,
                         uint64_t address,
                         uint64_t len,
                         uint64_t prot,
                         uint64_t flags,
                         uint64_t offset,
                         uint64_t value,
                         uint64_t *start,
                         furlong_vmspace_take freed,
                         void *context);

/**
 * Unmaps all areas in len bytes from start on. Each removed range is passed to freed, in ascending
 * order, unless that is NULL.
 *
 * Returns 0, -EINVAL (space is NULL, start is not at a page, the length is 0, the range is not in
 * the space) or -ENOMEM (an area would be cut in two, and the limit of areas is reached, or out of
 * memory): nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_unmap(struct furlong_vmspace *space,
                          uint64_t start,
                          uint64_t len,
                          furlong_vmspace_take freed,
                          void *context);

/**
 * Changes the protection of len bytes from start on, as mprotect. Areas are cut at the ends of the
 * range, and merged with neighbours that are now equal. Values that are no longer used are passed
 * to freed, unless that is NULL. A length of 0 changes nothing.
 *
 * Returns 0, -EINVAL (space is NULL, start is not at a page, the protection is unknown, the area
 * does not grow as prot asks), -ENOMEM (part of the range is not mapped, the limit of areas is
 * reached, or out of memory) or -EACCES (an area does not allow the protection): nothing has
 * changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_protect(struct furlong_vmspace *space,
                            uint64_t start,
                            uint64_t len,
                            uint64_t prot,
                            furlong_vmspace_take freed,
                            void *context);

/**
 * Sets the treatment by forks of len bytes from start on, as madvise does with
 * FURLONG_VMSPACE_MADV_DONTFORK and the other advices of that kind. Otherwise as
 * furlong_vmspace_protect.
 *
 * Returns 0, -EINVAL (space is NULL, start is not at a page, the end is no address, the advice is
 * unknown or does not apply to an area), -ENOMEM (part of the range is not mapped) or -EAGAIN (the
 * limit of areas is reached, or out of memory): nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_advise(struct furlong_vmspace *space,
                           uint64_t start,
                           uint64_t len,
                           uint32_t advice,
                           furlong_vmspace_take freed,
                           void *context);

/**
 * Clears and then sets flags of the caller's own in len bytes from start on: locked, huge pages.
 * Both are within FURLONG_VMSPACE_AREA_CALLER. Otherwise as furlong_vmspace_protect.
 *
 * Returns 0, -EINVAL (space is NULL, start is not at a page, the end is no address, a flag is not
 * the caller's), -ENOMEM (part of the range is not mapped) or -EAGAIN (the limit of areas is
 * reached, or out of memory): nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_update(struct furlong_vmspace *space,
                           uint64_t start,
                           uint64_t len,
                           uint32_t clear,
                           uint32_t set,
                           furlong_vmspace_take freed,
                           void *context);

/**
 * Moves or resizes a part of an area, as mremap, and writes its new first address to moved. Ranges
 * that are replaced or cut off are passed to freed, unless that is NULL. So is the moved range,
 * with its old address. new_start counts with FURLONG_VMSPACE_MREMAP_FIXED, and is a hint with
 * _DONTUNMAP alone. Moved memory keeps its offsets, anonymous memory too.
 *
 * Returns 0, -EINVAL (space or moved is NULL, an address is not at a page, the flags exclude each
 * other, the new length is 0, the old and the new range overlap, a range is not in the space, an
 * old length of 0 for memory that is not shared, the object would end beyond the last offset),
 * -EFAULT (start is not mapped, the range has more than one area, or must not grow), -EPERM (the
 * new place is below the lowest address) or -ENOMEM (no room, a limit is reached, or out of
 * memory): nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_remap(struct furlong_vmspace *space,
                          uint64_t start,
                          uint64_t old_len,
                          uint64_t new_len,
                          uint64_t flags,
                          uint64_t new_start,
                          uint64_t *moved,
                          furlong_vmspace_take freed,
                          void *context);

/**
 * Sets the start of the heap, as a loader does; the heap is empty. Nothing is unmapped.
 *
 * Returns 0, or -EINVAL (space is NULL).
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_start_brk(struct furlong_vmspace *space,
                              uint64_t start);

/**
 * The end of the heap; 0 for NULL. Linux's brk returns it, after success and after failure.
 *
 * Threads: read-only.
 */
uint64_t furlong_vmspace_brk(const struct furlong_vmspace *space);

/**
 * Moves the end of the heap to end. New memory may be read and written, and has the value. A range
 * that the heap loses is passed to freed, unless that is NULL, and so is the value, if no new area
 * has it.
 *
 * Returns 0, -EINVAL (space is NULL) or -ENOMEM (end is below the start of the heap or not in the
 * space, something else is mapped there or on the page behind, the range that the heap would lose
 * is not mapped, a limit is reached, or out of memory): nothing has changed.
 * Threads: exclusive, under the caller's lock.
 */
int furlong_vmspace_set_brk(struct furlong_vmspace *space,
                            uint64_t end,
                            uint64_t value,
                            furlong_vmspace_take freed,
                            void *context);

/**
 * Makes the child of a fork, with the same areas, limits and break, but without areas that a fork
 * does not copy. copy is called for each area of the child, in ascending order. The flags of the
 * area tell whether it is shared or to be wiped. With copy NULL, the child has the values of the
 * parent.
 *
 * If copy refuses an area, there is no child. The areas for which copy has already made values are
 * then passed to freed, unless that is NULL. All memory is obtained before copy is called.
 *
 * Returns 0, -EINVAL (parent or child is NULL), -ENOMEM or the number of copy: nothing was made.
 * Threads: read-only.
 */
int furlong_vmspace_fork(const struct furlong_vmspace *parent,
                         struct furlong_vmspace **child,
                         furlong_vmspace_copy copy,
                         furlong_vmspace_take freed,
                         void *context);

/**
 * Makes a pool from a plan, with memory from the heap. The device address of a byte is its address
 * in the program.
 *
 * Returns 0, -EINVAL (an argument is NULL, the plan is invalid), -EOVERFLOW (more slots than can
 * be numbered) or -ENOMEM.
 * Threads: any thread.
 */
int furlong_bounce_create(struct furlong_bounce **bounce,
                          const struct furlong_bounce_plan *plan);

/**
 * Writes the size of the tables that furlong_bounce_create_in needs for this plan to bytes.
 *
 * Returns 0, -EINVAL (an argument is NULL, the plan is invalid) or -EOVERFLOW (more slots than can
 * be numbered).
 * Threads: any thread.
 */
int furlong_bounce_table_bytes(const struct furlong_bounce_plan *plan,
                               size_t *bytes);

/**
 * Makes a pool of one block in memory that the caller supplies: tables for the pool's state, and a
 * region. The block has all slots of the plan, whatever its block_min. Devices see the region from
 * address on, which must be a multiple of 2048 and should be one of 256 KiB. The pool never
 * allocates. Originals are copied by their address, as by memcpy. The caller gets all memory back
 * when the pool is destroyed without mappings.
 *
 * Returns 0, -EINVAL (an argument is NULL, the plan is invalid), -EOVERFLOW (more slots than can
 * be numbered), -ENOMEM (table_bytes or region_bytes are too few) or -EADDRNOTAVAIL (address is
 * not a multiple of 2048, or the block would end beyond the plan's reach).
 * Threads: any thread.
 *
 * The caller promises:
 * Both are valid for reading and writing, and nobody else uses them until the pool is destroyed.
 * Devices may use the region.
 */
int furlong_bounce_create_in(struct furlong_bounce **bounce,
                             const struct furlong_bounce_plan *plan,
                             void *tables,
                             size_t table_bytes,
                             void *region,
                             size_t region_bytes,
                             uint64_t address);

/**
 * Destroys a pool; NULL is ignored. Memory that is still mapped is leaked on purpose, because a
 * device may use it.
 *
 * Threads: exclusive; the pool must not be used afterwards.
 *
 * The caller promises:
 * bounce came from furlong_bounce_create or furlong_bounce_create_in and has not been destroyed.
 */
void furlong_bounce_destroy(struct furlong_bounce *bounce);

/**
 * Obtains one more block, if the plan lets the pool grow. The number of its slots is written to
 * slots, unless that is NULL.
 *
 * Returns 0, -EINVAL (bounce is NULL), -EPERM (the plan lets the pool never grow), -ENOSPC (the
 * pool has its largest number of blocks), -ENOMEM, -EADDRNOTAVAIL (the new memory is not at the
 * requested address) or -EAGAIN (another thread is growing the pool): nothing has changed.
 * Threads: concurrent.
 */
int furlong_bounce_grow(const struct furlong_bounce *bounce,
                        size_t *slots);

/**
 * Does deferred work: grows the pool if a map requested it, and frees a block that stays empty.
 * The numbers of slots added and removed are written to grown and given_back, unless they are
 * NULL.
 *
 * Returns 0, or -EINVAL (bounce is NULL).
 * Threads: concurrent.
 */
int furlong_bounce_tend(const struct furlong_bounce *bounce,
                        size_t *grown,
                        size_t *given_back);

/**
 * The number of slots in all blocks; 0 for NULL.
 *
 * Threads: concurrent.
 */
size_t furlong_bounce_slots(const struct furlong_bounce *bounce);

/**
 * The number of free slots; 0 for NULL. Exact while no thread maps or unmaps.
 *
 * Threads: concurrent.
 */
size_t furlong_bounce_free_slots(const struct furlong_bounce *bounce);

/**
 * The number of mapped slots; 0 for NULL. Exact while no thread maps or unmaps.
 *
 * Threads: concurrent.
 */
size_t furlong_bounce_used_slots(const struct furlong_bounce *bounce);

/**
 * The largest number of slots mapped at one time; 0 for NULL.
 *
 * Threads: concurrent.
 */
size_t furlong_bounce_high_water(const struct furlong_bounce *bounce);

/**
 * Checks all invariants of the pool, which only a defect or a stray write can break. Exact while
 * no thread maps or unmaps.
 *
 * Returns 0, -EINVAL (bounce is NULL) or -ENOTRECOVERABLE (one is broken).
 * Threads: concurrent.
 */
int furlong_bounce_check(const struct furlong_bounce *bounce);

/**
 * Initialises plan to a pool of so many slots in so many areas that does not grow, and gives no
 * mapping a block of its own.
 *
 * Returns 0, or -EINVAL (plan is NULL).
 * Threads: any thread.
 */
int furlong_bounce_plan(struct furlong_bounce_plan *plan,
                        size_t slots,
                        size_t areas);

/**
 * Initialises limits to no limits.
 *
 * Returns 0, or -EINVAL (limits is NULL).
 * Threads: any thread.
 */
int furlong_bounce_limits(struct furlong_bounce_limits *limits);

/**
 * Makes a device for a pool on the heap; id is a number that identifies it, and that no other
 * device of the pool has. A device for a restricted pool can use no other pool. Devices are
 * destroyed before their pool.
 *
 * Returns 0, -EINVAL (an argument is NULL, a mask is not a power of two less one, boundary_mask is
 * less than a slot) or -ENOMEM.
 * Threads: concurrent.
 */
int furlong_bounce_device_create(const struct furlong_bounce *bounce,
                                 uint32_t id,
                                 const struct furlong_bounce_limits *limits,
                                 struct furlong_bounce_device **device);

/**
 * The size in bytes that furlong_bounce_device_create_in needs.
 *
 * Threads: any thread.
 */
size_t furlong_bounce_device_bytes(void);

/**
 * Makes a device in memory of bytes bytes that the caller supplies. The caller gets the memory
 * back when the device is destroyed.
 *
 * Returns 0, -EINVAL (an argument is NULL; otherwise as furlong_bounce_device_create) or -ENOMEM
 * (bytes are too few).
 * Threads: concurrent.
 *
 * The caller promises:
 * The memory is valid for reading and writing, and nobody else uses it until the device is
 * destroyed.
 */
int furlong_bounce_device_create_in(const struct furlong_bounce *bounce,
                                    uint32_t id,
                                    const struct furlong_bounce_limits *limits,
                                    struct furlong_bounce_device **device,
                                    void *memory,
                                    size_t bytes);

/**
 * Destroys a device without mappings in the pool.
 *
 * Returns 0, -EINVAL (an argument is NULL) or -EBUSY (it has mappings): the device stays valid.
 * Threads: exclusive; the device must not be used afterwards. The call examines every slot.
 *
 * The caller promises:
 * device came from furlong_bounce_device_create or furlong_bounce_device_create_in and has not
 * been destroyed.
 */
int furlong_bounce_device_destroy(const struct furlong_bounce *bounce,
                                  struct furlong_bounce_device *device);

/**
 * The number of slots that a device uses; 0 without a quota, because then they are not counted,
 * and for NULL.
 *
 * Threads: concurrent.
 */
uint32_t furlong_bounce_device_used(const struct furlong_bounce_device *device);

/**
 * The length of the longest buffer that fits an empty pool for the device, at any alignment, if an
 * area of the pool has a whole segment of 128 slots; 0 for NULL. A smaller area holds no more than
 * its slots.
 *
 * Threads: concurrent.
 */
uint64_t furlong_bounce_longest(const struct furlong_bounce *bounce,
                                const struct furlong_bounce_device *device);

/**
 * Maps len bytes at original for a device. Copies them to the pool, whatever the direction, and
 * writes the device address of the first one to address.
 *
 * Returns 0, -EINVAL (an argument is NULL, len is 0, the direction is unknown), -EOVERFLOW (no run
 * is that long), -EOPNOTSUPP (the pool cannot provide the alignment that the device requires),
 * -E2BIG (it crosses the device's boundary at every place), -EDQUOT (the device has used up its
 * quota), -EADDRNOTAVAIL (the device reaches no block), -ENOSPC (no area has room) or -EACCES (the
 * device was made for another pool): nothing has changed.
 * Threads: concurrent. It allocates only if the plan lets the pool grow inline or has transients.
 *
 * The caller promises:
 * Until it is unmapped, len bytes at original are valid for reading, and for writing if the device
 * writes. Nobody else writes them while a map, sync or unmap copies them.
 */
int furlong_bounce_map(const struct furlong_bounce *bounce,
                       const struct furlong_bounce_device *device,
                       void *original,
                       size_t len,
                       uint32_t direction,
                       uint64_t *address);

/**
 * Ends the mapping that begins at address. If the device writes, the first written bytes are
 * copied back: SIZE_MAX for all, 0 for none. A larger number than the mapping's length counts as
 * its length.
 *
 * Returns 0, -EINVAL (an argument is NULL, the direction is unknown), -ENOENT (nothing is mapped
 * there), -EDOM (the mapping begins elsewhere), -EPERM (another device mapped it), -EPROTOTYPE (it
 * was mapped in another direction) or -EBADF (it was allocated): nothing has changed.
 * Threads: concurrent, except with syncs of the same mapping.
 *
 * The caller promises:
 * The original is valid as furlong_bounce_map requires.
 */
int furlong_bounce_unmap(const struct furlong_bounce *bounce,
                         const struct furlong_bounce_device *device,
                         uint64_t address,
                         uint32_t direction,
                         size_t written);

/**
 * Copies len bytes from address on to the device, if it reads.
 *
 * Returns 0, -EINVAL (an argument is NULL, len is 0, the direction is unknown), -ERANGE (some of
 * the bytes are outside the mapping); otherwise as furlong_bounce_unmap: nothing was copied.
 * Threads: concurrent, except with the unmap of the same mapping.
 *
 * The caller promises:
 * The original is valid as furlong_bounce_map requires.
 */
int furlong_bounce_sync_for_device(const struct furlong_bounce *bounce,
                                   const struct furlong_bounce_device *device,
                                   uint64_t address,
                                   size_t len,
                                   uint32_t direction);

/**
 * Copies len bytes from address on back to the original, if the device writes.
 *
 * Returns as furlong_bounce_sync_for_device.
 * Threads: concurrent, except with the unmap of the same mapping.
 *
 * The caller promises:
 * The original is valid as furlong_bounce_map requires.
 */
int furlong_bounce_sync_for_cpu(const struct furlong_bounce *bounce,
                                const struct furlong_bounce_device *device,
                                uint64_t address,
                                size_t len,
                                uint32_t direction);

/**
 * Allocates len zeroed bytes without an original, for a descriptor ring or a mailbox, until
 * furlong_bounce_deallocate. Writes the device address to address, and the CPU's address to
 * memory, unless that is NULL. The CPU must use volatile accesses.
 *
 * Returns as furlong_bounce_map.
 * Threads: concurrent.
 */
int furlong_bounce_allocate(const struct furlong_bounce *bounce,
                            const struct furlong_bounce_device *device,
                            size_t len,
                            uint64_t *address,
                            void **memory);

/**
 * Frees memory from furlong_bounce_allocate.
 *
 * Returns 0, -EINVAL (an argument is NULL), -ENOENT (nothing is allocated there), -EDOM (it begins
 * elsewhere), -EPERM (another device has it) or -EBADF (it was mapped): nothing has changed.
 * Threads: concurrent.
 *
 * The caller promises:
 * Nobody uses the memory any more.
 */
int furlong_bounce_deallocate(const struct furlong_bounce *bounce,
                              const struct furlong_bounce_device *device,
                              uint64_t address);

/**
 * Allocates size bytes at a multiple of align, a power of two; NULL if out of memory. Only a
 * kernel that links the library without Rust's standard library defines this function. It may
 * be called under a spin lock of furlong_phys: it neither sleeps nor calls this library. align
 * is at most 256 KiB.
 *
 * Threads: concurrent.
 */
extern void *furlong_port_allocate(size_t size,
                                   size_t align);

/**
 * Frees memory from furlong_port_allocate, with the same size and align. Defined by a kernel,
 * as that.
 *
 * Threads: concurrent.
 */
extern void furlong_port_free(void *memory,
                              size_t size,
                              size_t align);

/**
 * Ends the program after the library has found a defect in itself; message has len bytes.
 * Defined by a kernel, as furlong_port_allocate. It does not return.
 *
 * Threads: any thread.
 */
extern void furlong_port_panic(const uint8_t *message,
                               size_t len) __attribute__((noreturn));

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FURLONG_H */

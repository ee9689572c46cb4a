/*
 * furlong: memory ranges for kernels, hypervisors, drivers and runtimes, in C.
 *
 * furlong_maple   ranges of 64-bit indices, each with an entry, in a B-tree
 * furlong_iova    device addresses: which are reserved, where there is room
 * furlong_phys    physical segments, and a descriptor for each frame
 * furlong_bounce  bounce buffers for devices that do not reach all memory
 *
 * Rules of all functions:
 *
 * - A range is given by its first and its last index, both of which belong to
 *   it, so that one may reach the end of the space.
 * - An int is an answer: 0, or the negative number of an error of <errno.h>.
 *   Each function says which errors it has. Each error of the library has one
 *   number, and within a function no two share one, but for -EINVAL, which is
 *   every argument that makes no sense, and -ENOMEM, whatever the memory was for.
 *   After an error nothing has changed.
 * - NULL is refused with -EINVAL where something is needed. Where something is
 *   written to may be NULL only if the function says so. What a call is to write
 *   to is only written if it answers 0, unless the function says otherwise; no
 *   two such pointers of a call overlap each other or what it reads.
 * - Memory that is handed in for an object (_create_in) may begin at any address:
 *   what the functions say of its length includes what aligning takes. Such an
 *   object obtains none then or later. A furlong_maple is on the heap.
 * - const before a handle does not say that a call changes nothing: what may run
 *   beside it is said under "Threads".
 * - A handle that was made by a create is ended by the destroy of its kind, once,
 *   and not used afterwards: that cannot be seen, and is the caller's to get
 *   right, as with free().
 * - "Threads" says what may run at the same time. "Side by side": any number of
 *   calls of any thread, with any others but the destroy. "Beside others that
 *   only look": any number of calls that say so, while no other runs; under the
 *   caller's lock for readers. "Alone": no other call with the same object, under
 *   the caller's lock for writers.
 * - No error is thrown and no panic unwinds into C: a defect of the library that
 *   it notices itself ends the program.
 *
 * Link with -lfurlong_c; pkg-config furlong has the rest. Example:
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
 * The lowest place.
 */
#define FURLONG_IOVA_LOWEST 0

/**
 * The highest place.
 */
#define FURLONG_IOVA_HIGHEST 1

/**
 * The place whose start is nearest to the hint, the lower one of two.
 */
#define FURLONG_IOVA_NEAR 2

/**
 * The lowest place in the smallest gap that will do.
 */
#define FURLONG_IOVA_BEST 3

/**
 * A place drawn from all with the same chance; the hint has 64 random bits to draw with.
 */
#define FURLONG_IOVA_RANDOM 4

/**
 * It was granted to somebody.
 */
#define FURLONG_IOVA_GRANTED 0

/**
 * It is a region of the firmware's or the machine's.
 */
#define FURLONG_IOVA_FIXED 1

/**
 * It is what a release left of a range that was granted.
 */
#define FURLONG_IOVA_UNCLAIMED 2

/**
 * The first block is all there is.
 */
#define FURLONG_BOUNCE_GROW_NEVER 0

/**
 * The pool grows in furlong_bounce_tend.
 */
#define FURLONG_BOUNCE_GROW_DEFERRED 1

/**
 * The pool grows in the map that finds no room.
 */
#define FURLONG_BOUNCE_GROW_INLINE 2

/**
 * The device reads what the CPU has written.
 */
#define FURLONG_BOUNCE_TO_DEVICE 0

/**
 * The CPU reads what the device has written.
 */
#define FURLONG_BOUNCE_FROM_DEVICE 1

/**
 * Both.
 */
#define FURLONG_BOUNCE_BOTH 2

/**
 * A pool of bounce memory, shared by many CPUs and devices.
 *
 * A buffer is mapped: it is copied into the pool, the device works there, and what it has written
 * is copied back. What of a run of slots lies around a mapping is zeroed first.
 */
struct furlong_bounce;

/**
 * A device that maps through a pool.
 */
struct furlong_bounce_device;

/**
 * A device's address space: which ranges of it are reserved.
 *
 * It hands out whole granules. What is reserved is released by its addresses: C cannot keep a
 * grant from being copied, so each release is looked up, in O(log n), and checked.
 */
struct furlong_iova;

/**
 * A map from ranges of 64-bit indices to entries, which do not overlap.
 *
 * An entry is a pointer, or any other word of its size that is not 0: all its bits are the
 * caller's. The map follows no pointer and frees nothing that an entry points to. Neighbours are
 * never merged. A range that is stored into the middle of another one leaves two parts with the
 * same entry.
 */
struct furlong_maple;

/**
 * Segments of physical memory in frames of 4 KiB, and a descriptor of 64 bytes for each frame once
 * the table has started.
 *
 * All that changes a table, and all that asks for more than a frame, takes the table's own spin
 * lock: it may be called side by side, from any thread, but not by a handler that may have
 * interrupted another such call. Lookups go through a reader and take no lock.
 *
 * A segment is named by any of its frames.
 */
struct furlong_phys;

/**
 * Who looks frames up: a thread, a CPU, whatever enters and leaves. A table has up to 64.
 */
struct furlong_phys_reader;

/**
 * A range that is not empty, by its first and its last index, so that one may reach the end of the
 * space.
 */
struct furlong_extent {
        /**
         * The first index.
         */
        uint64_t start;
        /**
         * The last index, which belongs to it.
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
         * The entry; null where this is a gap.
         */
        void *entry;
};

/**
 * A place in a map: the range that was found last, or one that was set. It knows no node, so that
 * it may be kept while the map changes, and set at will.
 *
 * With all 0 it is at index 0 with nothing found; to begin elsewhere, set start and last. Where
 * nothing is found it stays where it is, and a call in the other direction begins with the range
 * itself.
 */
struct furlong_maple_cursor {
        /**
         * The first index of the range.
         */
        uint64_t start;
        /**
         * The last one.
         */
        uint64_t last;
        /**
         * 0: looking upwards begins with the range itself; 1: it goes on behind it.
         */
        uint32_t is_passed_up;
        /**
         * 0: looking downwards begins with the range itself; 1: it goes on before it.
         */
        uint32_t is_passed_down;
};

/**
 * What is asked of a space. Fill it in with furlong_iova_request and change what differs.
 */
struct furlong_iova_request {
        /**
         * Bytes of data, at least 1.
         */
        uint64_t size;
        /**
         * Where in its first granule the data begins, in bytes; less than a granule.
         */
        uint64_t offset;
        /**
         * What the start of the grant is a multiple of, in bytes, a power of two.
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
         * Data lies at or below this address, or above the next one; where this one is not below the
         * next one nothing is excluded.
         */
        uint64_t exclude_low;
        /**
         * See exclude_low.
         */
        uint64_t exclude_high;
        /**
         * What data may not cross a multiple of, in bytes, a power of two; 0 for none.
         */
        uint64_t boundary;
        /**
         * Granules that are free before the grant when it is made.
         */
        uint64_t guard_before;
        /**
         * Granules that are free behind the grant when it is made.
         */
        uint64_t guard_after;
        /**
         * For FURLONG_IOVA_NEAR and FURLONG_IOVA_RANDOM.
         */
        uint64_t hint;
        /**
         * FURLONG_IOVA_LOWEST and so on.
         */
        uint32_t policy;
        /**
         * Not 0: where the boundary leaves no place, the grant is shorter and its data ends there.
         */
        uint32_t is_split;
};

/**
 * What was reserved.
 */
struct furlong_iova_grant {
        /**
         * The first address: a granule's.
         */
        uint64_t start;
        /**
         * The last address. From start to last is what is to be released.
         */
        uint64_t last;
        /**
         * Where the data begins.
         */
        uint64_t data_start;
        /**
         * Where the data ends: before its size, if it was split.
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
         * FURLONG_IOVA_GRANTED and so on.
         */
        uint32_t kind;
};

/**
 * A segment as it is at a moment.
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
         * The first frame that the page allocator may have.
         */
        uint64_t avail_start;
        /**
         * How many it may have from there on, 0 where it may have none.
         */
        uint64_t avail_len;
        /**
         * Where, counted from avail_start, the next search for contiguous pages begins.
         */
        uint64_t start_hint;
        /**
         * The caller's value.
         */
        uint64_t user;
        /**
         * Free list or NUMA node.
         */
        uint32_t node;
};

/**
 * The descriptor of a frame. Who found it through a reader that is inside may use it until that
 * leaves; who has pinned it, until it is unpinned.
 *
 * The words are the caller's, 0 at first; readers share them, so that C changes them by atomic
 * operations or under a lock of its own.
 */
struct furlong_phys_page {
        /**
         * The number of the frame; not to be written.
         */
        uint64_t frame;
        /**
         * How often the frame is pinned: furlong_phys_pin and furlong_phys_unpin write it.
         */
        uint64_t pins;
        /**
         * The caller's.
         */
        uint64_t words[6];
};

/**
 * How large a pool is, and what it may become. Fill it in with furlong_bounce_plan and change what
 * differs.
 */
struct furlong_bounce_plan {
        /**
         * Slots of 2 KiB of the first block.
         */
        size_t slots;
        /**
         * Areas of the first block, a power of two: one a CPU.
         */
        size_t areas;
        /**
         * Blocks that there may be at a time, the first included.
         */
        size_t blocks;
        /**
         * Slots of a further block.
         */
        size_t block_slots;
        /**
         * Where there is no memory for a block it is halved, down to so many slots.
         */
        size_t block_min;
        /**
         * Mappings that may have a block of their own at a time, where no area has room.
         */
        size_t transients;
        /**
         * The highest address that the memory may have.
         */
        uint64_t reach;
        /**
         * How often in a row a further block must be found empty before it is given back.
         */
        uint32_t patience;
        /**
         * FURLONG_BOUNCE_GROW_NEVER and so on.
         */
        uint32_t growth;
        /**
         * Not 0: for devices that are made for this pool only, with one area and without growth.
         */
        uint32_t is_restricted;
        /**
         * Says on which CPU it is called, from 0; it chooses the area that is asked first, and may be
         * stale. NULL: all callers begin with the same area.
         */
        size_t (*cpu)(void);
};

/**
 * What a device can reach and how its buffers must lie. Fill it in with furlong_bounce_limits and
 * change what differs.
 */
struct furlong_bounce_limits {
        /**
         * The last address that the device can put on the bus.
         */
        uint64_t reach;
        /**
         * Low bits of the original's address that its place in the pool must share: 2^n - 1.
         */
        uint64_t min_align_mask;
        /**
         * What a run must start at a multiple of, less one: 2^n - 1.
         */
        uint64_t align_mask;
        /**
         * What a run must not cross a multiple of, less one: 2^n - 1.
         */
        uint64_t boundary_mask;
        /**
         * Slots that the device may have at a time; 0 for as many as there are.
         */
        uint32_t quota;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Makes an empty map. It allocates nothing further until it gets its first entry.
 *
 * Answers 0, -EINVAL (maple is NULL) or -ENOMEM.
 * Threads: any.
 */
int furlong_maple_create(struct furlong_maple **maple);

/**
 * Ends a map; NULL is none. Its entries are forgotten, and what they point to stays.
 *
 * Threads: nobody else uses the map any more.
 */
void furlong_maple_destroy(struct furlong_maple *maple);

/**
 * Makes another map with the same ranges and entries, node by node.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOMEM: nothing was made.
 * Threads: beside others that only look at the map.
 */
int furlong_maple_duplicate(const struct furlong_maple *maple,
                            struct furlong_maple **copy);

/**
 * The number of entries; 0 for NULL.
 *
 * Threads: beside others that only look at the map.
 */
size_t furlong_maple_len(const struct furlong_maple *maple);

/**
 * Forgets all entries.
 *
 * Answers 0, or -EINVAL (maple is NULL).
 * Threads: alone, under the caller's lock.
 */
int furlong_maple_clear(struct furlong_maple *maple);

/**
 * Gives start to last an entry, if nothing is there. In the way was the first range that overlaps,
 * which is written to conflict, unless that is NULL, with -EEXIST only.
 *
 * Answers 0, -EINVAL (maple or entry is NULL, last is below start), -EEXIST (another range
 * overlaps) or -ENOMEM: nothing has changed.
 * Threads: alone, under the caller's lock.
 */
int furlong_maple_insert(struct furlong_maple *maple,
                         uint64_t start,
                         uint64_t last,
                         void *entry,
                         struct furlong_extent *conflict);

/**
 * Takes out the entry that has index, with its whole range, and writes it to taken, unless that is
 * NULL.
 *
 * Answers 0, -EINVAL (maple is NULL), -ENOENT (no entry has the index) or -ENOMEM: nothing has
 * changed.
 * Threads: alone, under the caller's lock.
 */
int furlong_maple_erase(struct furlong_maple *maple,
                        uint64_t index,
                        struct furlong_maple_entry *taken);

/**
 * Gives the entry that has index the range start to last, which has index too: it grows and
 * shrinks at either end. In the way was the range that is written to conflict, unless that is
 * NULL, with -EEXIST only; that is the entry's own if the new range does not have the index.
 *
 * Answers 0, -EINVAL (maple is NULL, last is below start), -ENOENT (no entry has the index),
 * -EEXIST (another entry is in the way, or the new range does not have the index) or -ENOMEM:
 * nothing has changed.
 * Threads: alone, under the caller's lock.
 */
int furlong_maple_resize(struct furlong_maple *maple,
                         uint64_t index,
                         uint64_t start,
                         uint64_t last,
                         struct furlong_extent *conflict);

/**
 * The entry that has index; NULL if none has, and for a NULL map.
 *
 * Threads: beside others that only look at the map.
 */
void *furlong_maple_load(const struct furlong_maple *maple, uint64_t index);

/**
 * Writes what is at index to found: an entry with its range, or a gap with its own, whose entry is
 * NULL.
 *
 * Answers 0, or -EINVAL (an argument is NULL).
 * Threads: beside others that only look at the map.
 */
int furlong_maple_walk(const struct furlong_maple *maple,
                       uint64_t index,
                       struct furlong_maple_entry *found);

/**
 * Writes the first entry that has index or lies behind it to found.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: beside others that only look at the map.
 */
int furlong_maple_find(const struct furlong_maple *maple,
                       uint64_t index,
                       struct furlong_maple_entry *found);

/**
 * Writes the last entry that has index or lies before it to found.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: beside others that only look at the map.
 */
int furlong_maple_find_back(const struct furlong_maple *maple,
                            uint64_t index,
                            struct furlong_maple_entry *found);

/**
 * Obtains nodes for so many changes, which then neither allocate nor free nor answer -ENOMEM. They
 * are kept until furlong_maple_trim.
 *
 * Answers 0, -EINVAL (maple is NULL) or -ENOMEM.
 * Threads: alone, under the caller's lock.
 */
int furlong_maple_prepare(struct furlong_maple *maple,
                          size_t changes);

/**
 * Gives nodes that are not in use back, and keeps none from now on.
 *
 * Answers 0, or -EINVAL (maple is NULL).
 * Threads: alone, under the caller's lock.
 */
int furlong_maple_trim(struct furlong_maple *maple);

/**
 * Walks all invariants of the map, which only a defect or a stray write can break.
 *
 * Answers 0, -EINVAL (maple is NULL) or -ENOTRECOVERABLE (one is broken).
 * Threads: beside others that only look at the map.
 */
int furlong_maple_check(const struct furlong_maple *maple);

/**
 * Gives start to last an entry, over whatever is there. Ranges that lie in it are taken out whole;
 * those that reach out of it are cut, and keep their entries.
 *
 * What was taken out is written to displaced, in order, and its number to count, unless they are
 * NULL. displaced has places for room entries; if there are more to be taken out, nothing changes
 * and the answer is -ENOBUFS with the number in count. With displaced NULL nothing is handed back.
 *
 * Answers 0, -EINVAL (maple or entry is NULL, last is below start), -ENOBUFS or -ENOMEM: nothing
 * has changed.
 * Threads: alone, under the caller's lock.
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
 * Leaves nothing in start to last; otherwise as furlong_maple_store.
 *
 * Answers 0, -EINVAL (maple is NULL, last is below start), -ENOBUFS or -ENOMEM: nothing has
 * changed.
 * Threads: alone, under the caller's lock.
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
 * Moves cursor to the next entry and writes that to found: the first one that ends behind the
 * cursor's range.
 *
 * Answers 0, -EINVAL (an argument is NULL, the cursor's range is reversed) or -ENOENT (there is
 * none).
 * Threads: beside others that only look at the map; each has a cursor of its own.
 */
int furlong_maple_next(const struct furlong_maple *maple,
                       struct furlong_maple_cursor *cursor,
                       struct furlong_maple_entry *found);

/**
 * Moves cursor to the entry before and writes that to found: the last one that starts before the
 * cursor's range.
 *
 * Answers 0, -EINVAL (an argument is NULL, the cursor's range is reversed) or -ENOENT (there is
 * none).
 * Threads: beside others that only look at the map; each has a cursor of its own.
 */
int furlong_maple_prev(const struct furlong_maple *maple,
                       struct furlong_maple_cursor *cursor,
                       struct furlong_maple_entry *found);

/**
 * Moves cursor to what begins behind it, an entry or a gap, and writes that to found; the entry of
 * a gap is NULL.
 *
 * Answers 0, -EINVAL (an argument is NULL, the cursor's range is reversed) or -ENOENT (the range
 * ends with the last index).
 * Threads: beside others that only look at the map; each has a cursor of its own.
 */
int furlong_maple_next_place(const struct furlong_maple *maple,
                             struct furlong_maple_cursor *cursor,
                             struct furlong_maple_entry *found);

/**
 * Moves cursor to what ends before it, an entry or a gap, and writes that to found; the entry of a
 * gap is NULL.
 *
 * Answers 0, -EINVAL (an argument is NULL, the cursor's range is reversed) or -ENOENT (the range
 * starts with index 0).
 * Threads: beside others that only look at the map; each has a cursor of its own.
 */
int furlong_maple_prev_place(const struct furlong_maple *maple,
                             struct furlong_maple_cursor *cursor,
                             struct furlong_maple_entry *found);

/**
 * The length of the largest gap; UINT64_MAX also for the whole space, which has one more. 0 for a
 * NULL map.
 *
 * Threads: beside others that only look at the map.
 */
uint64_t furlong_maple_largest_gap(const struct furlong_maple *maple);

/**
 * Writes the lowest place from start to last for size indices to gap; nothing is stored.
 *
 * Answers 0, -EINVAL (an argument is NULL, size is 0, last is below start) or -ENOSPC (there is
 * none).
 * Threads: beside others that only look at the map; alone until the place is stored to.
 */
int furlong_maple_lowest_gap(const struct furlong_maple *maple,
                             uint64_t size,
                             uint64_t start,
                             uint64_t last,
                             struct furlong_extent *gap);

/**
 * Writes the highest place from start to last for size indices to gap; nothing is stored.
 *
 * Answers 0, -EINVAL (an argument is NULL, size is 0, last is below start) or -ENOSPC (there is
 * none).
 * Threads: beside others that only look at the map; alone until the place is stored to.
 */
int furlong_maple_highest_gap(const struct furlong_maple *maple,
                              uint64_t size,
                              uint64_t start,
                              uint64_t last,
                              struct furlong_extent *gap);

/**
 * Makes a space of the addresses from start to last with nothing reserved, in granules of granule
 * bytes, on the heap.
 *
 * Answers 0, -EINVAL (iova is NULL, last is below start, granule is no power of two, the space is
 * not made of whole granules) or -ENOMEM.
 * Threads: any.
 */
int furlong_iova_create(struct furlong_iova **iova,
                        uint64_t start,
                        uint64_t last,
                        uint64_t granule);

/**
 * The bytes that furlong_iova_create_in wants for a space of so many reserved ranges.
 *
 * Threads: any.
 */
size_t furlong_iova_bytes(size_t ranges);

/**
 * Makes the same space in memory of bytes bytes. It never allocates: when all that memory is in
 * use, reserving answers -ENOMEM. The memory is the caller's again when the space is destroyed.
 *
 * Answers 0, -EINVAL (an argument is NULL; otherwise as furlong_iova_create) or -ENOMEM (bytes are
 * too few for an empty space).
 * Threads: any.
 *
 * The caller promises:
 * The memory is good for reading and writing, and nobody else's until the space is destroyed.
 */
int furlong_iova_create_in(struct furlong_iova **iova,
                           void *memory,
                           size_t bytes,
                           uint64_t start,
                           uint64_t last,
                           uint64_t granule);

/**
 * Ends a space; NULL is none.
 *
 * Threads: nobody else uses the space any more.
 *
 * The caller promises:
 * iova came from furlong_iova_create or furlong_iova_create_in and has not been destroyed.
 */
void furlong_iova_destroy(struct furlong_iova *iova);

/**
 * Makes sure that the next so many reservations allocate nothing.
 *
 * Answers 0, -EINVAL (iova is NULL) or -ENOMEM.
 * Threads: alone, under the caller's lock.
 */
int furlong_iova_prepare(struct furlong_iova *iova, size_t reservations);

/**
 * The number of reserved ranges; 0 for NULL.
 *
 * Threads: beside others that only look at the space.
 */
size_t furlong_iova_len(const struct furlong_iova *iova);

/**
 * Walks all invariants of the space, which only a defect or a stray write can break.
 *
 * Answers 0, -EINVAL (iova is NULL) or -ENOTRECOVERABLE (one is broken).
 * Threads: beside others that only look at the space.
 */
int furlong_iova_check(const struct furlong_iova *iova);

/**
 * Fills request in: size bytes anywhere, at the lowest place, with no guard, no boundary and
 * nothing excluded.
 *
 * Answers 0, or -EINVAL (request is NULL).
 * Threads: any.
 */
int furlong_iova_request(struct furlong_iova_request *request,
                         uint64_t size);

/**
 * Reserves what request asks for, and writes what that is to grant.
 *
 * Answers 0, -EINVAL (an argument is NULL, size is 0, align or boundary is no power of two, offset
 * is not less than a granule, high is below low, there is no such policy), -E2BIG (the data
 * crosses the boundary wherever it lies, and may not be split), -EOVERFLOW (size, offset and
 * guards do not fit 64 bits), -ENOSPC (no gap will do) or -ENOMEM: nothing has changed.
 * Threads: alone, under the caller's lock.
 */
int furlong_iova_reserve(struct furlong_iova *iova,
                         const struct furlong_iova_request *request,
                         struct furlong_iova_grant *grant);

/**
 * Reserves exactly start to last. In the way was the range that is written to conflict, unless
 * that is NULL, with -EEXIST only.
 *
 * Answers 0, -EINVAL (iova is NULL, last is below start, the range is not made of whole granules),
 * -ERANGE (part of it is outside the space), -EEXIST (part of it is reserved) or -ENOMEM: nothing
 * has changed.
 * Threads: alone, under the caller's lock.
 */
int furlong_iova_reserve_at(struct furlong_iova *iova,
                            uint64_t start,
                            uint64_t last,
                            struct furlong_extent *conflict);

/**
 * Reserves a region of the firmware's or the machine's, which may overlap others of its kind: what
 * these have stays theirs. The number of ranges that came of it is written to count, unless that
 * is NULL.
 *
 * Answers 0, -EINVAL (iova is NULL, last is below start, the region is not made of whole
 * granules), -ERANGE (part of it is outside the space), -EEXIST (part of it is reserved for
 * another kind) or -ENOMEM: nothing has changed.
 * Threads: alone, under the caller's lock.
 */
int furlong_iova_reserve_fixed(struct furlong_iova *iova,
                               uint64_t start,
                               uint64_t last,
                               size_t *count);

/**
 * Reserves every free part of start to last, each as a range of its own. Their number is written
 * to count, unless that is NULL.
 *
 * Answers 0, -EINVAL (iova is NULL, last is below start, the range is not made of whole granules),
 * -ERANGE (part of it is outside the space) or -ENOMEM: nothing has changed.
 * Threads: alone, under the caller's lock.
 */
int furlong_iova_fill(struct furlong_iova *iova,
                      uint64_t start,
                      uint64_t last,
                      size_t *count);

/**
 * Releases exactly start to last, which is not FURLONG_IOVA_FIXED.
 *
 * Answers 0, -EINVAL (iova is NULL, last is below start, the range is not made of whole granules),
 * -ENOENT (nothing of it is reserved), -EBUSY (part of a larger range, or of several, is) or
 * -EPERM (it is fixed: furlong_iova_release_fixed): nothing has changed.
 * Threads: alone, under the caller's lock.
 */
int furlong_iova_release(struct furlong_iova *iova,
                         uint64_t start,
                         uint64_t last);

/**
 * Releases exactly start to last, which is FURLONG_IOVA_FIXED: a region of the firmware's that is
 * in use no more.
 *
 * Answers as furlong_iova_release, but -EPERM if it is not fixed.
 * Threads: alone, under the caller's lock.
 */
int furlong_iova_release_fixed(struct furlong_iova *iova,
                               uint64_t start,
                               uint64_t last);

/**
 * Releases all of start to last but what is fixed in it, and cuts the ranges that are partly
 * inside: what is left of them is FURLONG_IOVA_UNCLAIMED. How many pieces were released is written
 * to count, unless that is NULL; 0 if nothing was reserved.
 *
 * Answers 0, -EINVAL (iova is NULL, last is below start, the range is not made of whole granules),
 * -ERANGE (part of it is outside the space) or -ENOMEM (a hole in the middle of a range needs a
 * second one): nothing has changed.
 * Threads: alone, under the caller's lock.
 */
int furlong_iova_release_range(struct furlong_iova *iova,
                               uint64_t start,
                               uint64_t last,
                               size_t *count);

/**
 * Writes the reserved range that has address to owned.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOENT (it is free, or outside the space).
 * Threads: beside others that only look at the space.
 */
int furlong_iova_owner(const struct furlong_iova *iova,
                       uint64_t address,
                       struct furlong_iova_owned *owned);

/**
 * Writes the first reserved range that has address or lies behind it to owned. To go through all,
 * begin with address 0 and go on behind owned's last address, unless that is UINT64_MAX.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: beside others that only look at the space.
 */
int furlong_iova_next(const struct furlong_iova *iova,
                      uint64_t address,
                      struct furlong_iova_owned *owned);

/**
 * Writes the first free range from address on to gap: what of it lies below address is left out.
 * To go through all, as with furlong_iova_next.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: beside others that only look at the space.
 */
int furlong_iova_next_free(const struct furlong_iova *iova,
                           uint64_t address,
                           struct furlong_extent *gap);

/**
 * Makes an empty table on the heap, where it also gets what it needs later.
 *
 * Answers 0, -EINVAL (phys is NULL) or -ENOMEM.
 * Threads: any.
 */
int furlong_phys_create(struct furlong_phys **phys);

/**
 * The bytes that furlong_phys_create_in wants for a table of up to 32 segments that has not
 * started. For starting and what comes after it needs 64 bytes a frame and some 100 KiB more, here
 * or from furlong_phys_donate.
 *
 * Threads: any.
 */
size_t furlong_phys_bytes(void);

/**
 * Makes an empty table in memory of bytes bytes, of which it keeps the rest for what it needs
 * later. It never allocates. The memory is the caller's again when the table is destroyed.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOMEM (bytes are too few).
 * Threads: any.
 *
 * The caller promises:
 * The memory is good for reading and writing, and nobody else's until the table is destroyed.
 */
int furlong_phys_create_in(struct furlong_phys **phys,
                           void *memory,
                           size_t bytes);

/**
 * Ends a table, with all descriptors; NULL is none.
 *
 * Threads: nobody else uses the table any more, and it has no readers.
 *
 * The caller promises:
 * phys came from furlong_phys_create or furlong_phys_create_in and has not been destroyed; its
 * readers have.
 */
void furlong_phys_destroy(struct furlong_phys *phys);

/**
 * Gives the table memory for what it needs later: a static array, or frames that no segment has.
 *
 * Answers 0, or -EINVAL (an argument is NULL).
 * Threads: side by side with everything.
 *
 * The caller promises:
 * The memory is good for reading and writing, and nobody else's until the table is destroyed.
 */
int furlong_phys_donate(const struct furlong_phys *phys,
                        void *memory,
                        size_t bytes);

/**
 * Gives memory back that no reader looks at any more. Each change does so by itself; this is for
 * who wants it earlier.
 *
 * Answers 0, or -EINVAL (phys is NULL).
 * Threads: side by side with everything.
 */
int furlong_phys_sweep(const struct furlong_phys *phys);

/**
 * The bytes that the table has in use of the memory that it was given or took from the heap; 0 for
 * NULL.
 *
 * Threads: side by side with everything.
 */
size_t furlong_phys_memory_bytes(const struct furlong_phys *phys);

/**
 * Walks all invariants of the table, which only a defect or a stray write can break.
 *
 * Answers 0, -EINVAL (phys is NULL) or -ENOTRECOVERABLE (one is broken).
 * Threads: side by side with everything.
 */
int furlong_phys_check(const struct furlong_phys *phys);

/**
 * Adds the frames from start to last as a segment, all of them available, of node 0, with user
 * value 0. Once the table has started they get descriptors, and lookups find them.
 *
 * Answers 0, -EINVAL (phys is NULL, last is below start), -EFBIG (a frame beyond 2^40), -EEXIST (a
 * segment has some of the frames), -ENOSPC (there is room for 32 segments, and the table has no
 * memory) or -ENOMEM: nothing has changed.
 * Threads: side by side with everything.
 */
int furlong_phys_plug(const struct furlong_phys *phys,
                      uint64_t start,
                      uint64_t last);

/**
 * The number of segments; 0 for NULL.
 *
 * Threads: side by side with everything.
 */
size_t furlong_phys_len(const struct furlong_phys *phys);

/**
 * The number of available frames that have descriptors; 0 before the table has started, and for
 * NULL.
 *
 * Threads: side by side with everything.
 */
uint64_t furlong_phys_managed(const struct furlong_phys *phys);

/**
 * Writes the segment that has frame, isolated or not, to segment.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOENT (no segment has it).
 * Threads: side by side with everything.
 */
int furlong_phys_get(const struct furlong_phys *phys,
                     uint64_t frame,
                     struct furlong_phys_segment *segment);

/**
 * Writes the lowest segment to segment.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: side by side with everything.
 */
int furlong_phys_first(const struct furlong_phys *phys,
                       struct furlong_phys_segment *segment);

/**
 * Writes the lowest segment that starts behind frame to segment: with a segment's last frame, the
 * one above it. O(log n) if a segment has the frame, else O(n).
 *
 * Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
 * Threads: side by side with everything.
 */
int furlong_phys_next(const struct furlong_phys *phys,
                      uint64_t frame,
                      struct furlong_phys_segment *segment);

/**
 * Says that of the segment that has frame the page allocator may have avail_len frames from
 * avail_start on: none if that is 0.
 *
 * Answers 0, -EINVAL (phys is NULL, the frames are not all in the segment) or -ENOENT (no segment
 * has frame): nothing has changed.
 * Threads: side by side with everything.
 */
int furlong_phys_set_avail(const struct furlong_phys *phys,
                           uint64_t frame,
                           uint64_t avail_start,
                           uint64_t avail_len);

/**
 * Sets where in the segment that has frame, counted from its first available frame, the next
 * search for contiguous pages begins.
 *
 * Answers 0, -EINVAL (phys is NULL), -ENOENT (no segment has frame) or -ERANGE (the hint is beyond
 * the available frames): nothing has changed.
 * Threads: side by side with everything.
 */
int furlong_phys_set_start_hint(const struct furlong_phys *phys,
                                uint64_t frame,
                                uint64_t hint);

/**
 * Sets the free list or NUMA node of the segment that has frame.
 *
 * Answers 0, -EINVAL (phys is NULL) or -ENOENT (no segment has frame).
 * Threads: side by side with everything.
 */
int furlong_phys_set_node(const struct furlong_phys *phys,
                          uint64_t frame,
                          uint32_t node);

/**
 * Sets the caller's value of the segment that has frame.
 *
 * Answers 0, -EINVAL (phys is NULL) or -ENOENT (no segment has frame).
 * Threads: side by side with everything.
 */
int furlong_phys_set_user(const struct furlong_phys *phys,
                          uint64_t frame,
                          uint64_t user);

/**
 * Takes an available frame of a node out of the table, from an edge if there is one to be had, and
 * writes its number to frame: for page tables, before there is an allocator that could be asked.
 *
 * Answers 0, -EINVAL (an argument is NULL), -EALREADY (the table has started), -ENOENT (the node
 * has no available frame), -EPERM (it would be the last frame of the last segment) or -ENOMEM (a
 * hole needs a further segment): nothing has changed.
 * Threads: side by side with everything.
 */
int furlong_phys_steal(const struct furlong_phys *phys,
                       uint32_t node,
                       uint64_t *frame);

/**
 * Ends boot: every frame gets a descriptor, and lookups find them. The number of available frames
 * is written to available, unless that is NULL.
 *
 * Answers 0, -EINVAL (phys is NULL), -EALREADY (it has started), -ENOSPC (there are more segments
 * than the index has room for) or -ENOMEM: nothing has changed.
 * Threads: side by side with everything.
 */
int furlong_phys_start(const struct furlong_phys *phys,
                       uint64_t *available);

/**
 * Whether the table has started: 1 or 0; 0 for NULL.
 *
 * Threads: side by side with everything.
 */
int furlong_phys_is_started(const struct furlong_phys *phys);

/**
 * Takes the frames from start to last out: a whole segment, one of its ends, or its middle, which
 * leaves two. Their descriptors are gone.
 *
 * Answers 0, -EINVAL (phys is NULL, last is below start), -ENOENT (no segment has start), -ERANGE
 * (they go beyond the segment's end), -EPERM (they are all that there is), -EALREADY (some are
 * isolated), -EBUSY (one is pinned), -EADDRINUSE (they hold bookkeeping), -EAGAIN (a reader is
 * inside), -ENOSPC (there is room for 32 segments, and the table has no memory) or -ENOMEM:
 * nothing has changed.
 * Threads: side by side with everything.
 */
int furlong_phys_unplug(const struct furlong_phys *phys,
                        uint64_t start,
                        uint64_t last);

/**
 * The first phase: no lookup that begins from now on finds the frames from start to last. Readers
 * that are inside may still have their descriptors.
 *
 * Answers as furlong_phys_unplug, but for -EBUSY and -EAGAIN; -ENXIO if the table has not started.
 * Threads: side by side with everything.
 */
int furlong_phys_isolate(const struct furlong_phys *phys,
                         uint64_t start,
                         uint64_t last);

/**
 * The second phase: the isolated frames among which frame is leave the table.
 *
 * Answers 0, -EINVAL (phys is NULL), -ENOENT (frame is not isolated), -EAGAIN (readers are inside
 * that may have them: call again later), -EBUSY (one is pinned) or -EPERM (they are all that there
 * is): they stay isolated.
 * Threads: side by side with everything.
 */
int furlong_phys_remove(const struct furlong_phys *phys,
                        uint64_t frame);

/**
 * Takes the isolated frames back among which frame is: lookups find them again.
 *
 * Answers 0, -EINVAL (phys is NULL) or -ENOENT (frame is not isolated).
 * Threads: side by side with everything.
 */
int furlong_phys_abort(const struct furlong_phys *phys, uint64_t frame);

/**
 * Makes a reader of a table, on the heap.
 *
 * Answers 0, -EINVAL (an argument is NULL), -EUSERS (there are 64) or -ENOMEM.
 * Threads: side by side with everything.
 *
 * The caller promises:
 * The table is not destroyed before its readers.
 */
int furlong_phys_reader_create(const struct furlong_phys *phys,
                               struct furlong_phys_reader **reader);

/**
 * The bytes that furlong_phys_reader_create_in wants.
 *
 * Threads: any.
 */
size_t furlong_phys_reader_bytes(void);

/**
 * Makes a reader in memory of bytes bytes, which is the caller's again when the reader is
 * destroyed.
 *
 * Answers 0, -EINVAL (an argument is NULL), -EUSERS (there are 64) or -ENOMEM (bytes are too few).
 * Threads: side by side with everything.
 *
 * The caller promises:
 * The table is not destroyed before its readers. The memory is good for reading and writing, and
 * nobody else's until the reader is destroyed.
 */
int furlong_phys_reader_create_in(const struct furlong_phys *phys,
                                  struct furlong_phys_reader **reader,
                                  void *memory,
                                  size_t bytes);

/**
 * Ends a reader, which leaves if it is inside; NULL is none.
 *
 * Threads: nobody else uses the reader any more.
 *
 * The caller promises:
 * reader came from furlong_phys_reader_create or furlong_phys_reader_create_in and has not been
 * destroyed.
 */
void furlong_phys_reader_destroy(struct furlong_phys_reader *reader);

/**
 * Goes inside: what the reader then finds stays until it leaves as often as it has entered.
 *
 * Answers 0, or -EINVAL (reader is NULL).
 * Threads: side by side with everything; a reader is used by one thread at a time, and leaves in
 * the thread in which it has entered.
 */
int furlong_phys_enter(struct furlong_phys_reader *reader);

/**
 * Leaves.
 *
 * Answers 0, -EINVAL (reader is NULL) or -EPERM (it is not inside).
 * Threads: as furlong_phys_enter.
 */
int furlong_phys_leave(struct furlong_phys_reader *reader);

/**
 * Whether a segment has frame. Writes which of the segment's frames it is, counted from 0, to
 * offset, unless that is NULL. Beside a change the segment is one that had the frame at a moment
 * of the call.
 *
 * Answers 0, -EINVAL (reader is NULL), -EPERM (it is not inside) or -ENOENT (no segment has the
 * frame, it is isolated, or the table has not started).
 * Threads: as furlong_phys_enter. Wait-free; it writes nothing that others read.
 */
int furlong_phys_find(const struct furlong_phys_reader *reader,
                      uint64_t frame,
                      uint64_t *offset);

/**
 * The descriptor of the frame that has the byte at address; NULL where furlong_phys_find does not
 * answer 0.
 *
 * Threads: as furlong_phys_find.
 */
struct furlong_phys_page *furlong_phys_page(const struct furlong_phys_reader *reader,
                                            uint64_t address);

/**
 * Pins a frame: it is not unplugged until it is unpinned as often. To be called by a reader that
 * is inside, or by who has pinned it already. A frame that is isolated may be pinned still.
 *
 * Answers 0, or -EINVAL (page is NULL).
 * Threads: side by side with everything.
 */
int furlong_phys_pin(const struct furlong_phys_page *page);

/**
 * Unpins a frame once.
 *
 * Answers 0, or -EINVAL (page is NULL, or not pinned).
 * Threads: side by side with everything.
 */
int furlong_phys_unpin(const struct furlong_phys_page *page);

/**
 * Makes a pool as planned, whose memory comes from the heap: devices have a byte at the address
 * that the program has.
 *
 * Answers 0, -EINVAL (an argument is NULL, there can be no such pool), -EOVERFLOW (more slots than
 * can be numbered) or -ENOMEM.
 * Threads: any.
 */
int furlong_bounce_create(struct furlong_bounce **bounce,
                          const struct furlong_bounce_plan *plan);

/**
 * Writes the bytes of tables that furlong_bounce_create_in wants for such a pool to bytes.
 *
 * Answers 0, -EINVAL (an argument is NULL, there can be no such pool) or -EOVERFLOW (more slots
 * than can be numbered).
 * Threads: any.
 */
int furlong_bounce_table_bytes(const struct furlong_bounce_plan *plan,
                               size_t *bytes);

/**
 * Makes a pool of one block in memory that the caller hands in: tables for what the pool knows,
 * and a region that devices see from address on, a multiple of 2048, better of 256 KiB. It never
 * allocates. Originals are copied by their address, as by memcpy. All of it is the caller's again
 * when the pool is destroyed with nothing mapped.
 *
 * Answers 0, -EINVAL (an argument is NULL, there can be no such pool), -EOVERFLOW (more slots than
 * can be numbered), -ENOMEM (table_bytes or region_bytes are too few) or -EADDRNOTAVAIL (address
 * is no multiple of 2048, or beyond the plan's reach).
 * Threads: any.
 *
 * The caller promises:
 * Both are good for reading and writing, and nobody else's (the region: but devices') until the
 * pool is destroyed.
 */
int furlong_bounce_create_in(struct furlong_bounce **bounce,
                             const struct furlong_bounce_plan *plan,
                             void *tables,
                             size_t table_bytes,
                             void *region,
                             size_t region_bytes,
                             uint64_t address);

/**
 * Ends a pool; NULL is none. Memory in which something is mapped still is lost on purpose: a
 * device may use it.
 *
 * Threads: nobody else uses the pool any more.
 *
 * The caller promises:
 * bounce came from furlong_bounce_create or furlong_bounce_create_in and has not been destroyed.
 */
void furlong_bounce_destroy(struct furlong_bounce *bounce);

/**
 * Obtains a further block, if the plan lets the pool grow. Its slots are written to slots, unless
 * that is NULL.
 *
 * Answers 0, -EINVAL (bounce is NULL), -EPERM (the plan lets the pool never grow), -ENOSPC (there
 * are as many blocks as there may be), -ENOMEM, -EADDRNOTAVAIL (the memory is not where it was
 * asked for) or -EAGAIN (somebody else makes the pool grow): nothing has changed.
 * Threads: side by side with everything.
 */
int furlong_bounce_grow(const struct furlong_bounce *bounce,
                        size_t *slots);

/**
 * Does what can wait: grows if a map asked for it, and gives a block back that stays empty. By how
 * many slots is written to grown and given_back, unless they are NULL.
 *
 * Answers 0, or -EINVAL (bounce is NULL).
 * Threads: side by side with everything.
 */
int furlong_bounce_tend(const struct furlong_bounce *bounce,
                        size_t *grown,
                        size_t *given_back);

/**
 * The slots of all blocks; 0 for NULL.
 *
 * Threads: side by side with everything.
 */
size_t furlong_bounce_slots(const struct furlong_bounce *bounce);

/**
 * The slots that are free; 0 for NULL. Exact while nobody maps or unmaps.
 *
 * Threads: side by side with everything.
 */
size_t furlong_bounce_free_slots(const struct furlong_bounce *bounce);

/**
 * The slots that are mapped; 0 for NULL. Exact while nobody maps or unmaps.
 *
 * Threads: side by side with everything.
 */
size_t furlong_bounce_used_slots(const struct furlong_bounce *bounce);

/**
 * How many slots were mapped at a time, at most; 0 for NULL.
 *
 * Threads: side by side with everything.
 */
size_t furlong_bounce_high_water(const struct furlong_bounce *bounce);

/**
 * Walks all invariants of the pool, which only a defect or a stray write can break. Exact while
 * nobody maps or unmaps.
 *
 * Answers 0, -EINVAL (bounce is NULL) or -ENOTRECOVERABLE (one is broken).
 * Threads: side by side with everything.
 */
int furlong_bounce_check(const struct furlong_bounce *bounce);

/**
 * Fills plan in: a pool of so many slots in so many areas that neither grows nor gives mappings
 * blocks of their own.
 *
 * Answers 0, or -EINVAL (plan is NULL).
 * Threads: any.
 */
int furlong_bounce_plan(struct furlong_bounce_plan *plan,
                        size_t slots,
                        size_t areas);

/**
 * Fills limits in: none.
 *
 * Answers 0, or -EINVAL (limits is NULL).
 * Threads: any.
 */
int furlong_bounce_limits(struct furlong_bounce_limits *limits);

/**
 * Makes a device with a number that tells it from others, for a pool; of a restricted pool it can
 * use no other. It is on the heap.
 *
 * Answers 0, -EINVAL (an argument is NULL, a mask is no power of two less one, boundary_mask is
 * less than a slot) or -ENOMEM.
 * Threads: side by side with everything.
 */
int furlong_bounce_device_create(const struct furlong_bounce *bounce,
                                 uint32_t id,
                                 const struct furlong_bounce_limits *limits,
                                 struct furlong_bounce_device **device);

/**
 * The bytes that furlong_bounce_device_create_in wants.
 *
 * Threads: any.
 */
size_t furlong_bounce_device_bytes(void);

/**
 * Makes the same device in memory of bytes bytes, which is the caller's again when the device is
 * destroyed.
 *
 * Answers 0, -EINVAL (an argument is NULL; otherwise as furlong_bounce_device_create) or -ENOMEM
 * (bytes are too few).
 * Threads: side by side with everything.
 *
 * The caller promises:
 * The memory is good for reading and writing, and nobody else's until the device is destroyed.
 */
int furlong_bounce_device_create_in(const struct furlong_bounce *bounce,
                                    uint32_t id,
                                    const struct furlong_bounce_limits *limits,
                                    struct furlong_bounce_device **device,
                                    void *memory,
                                    size_t bytes);

/**
 * Ends a device that has nothing mapped in the pool any more.
 *
 * Answers 0, -EINVAL (an argument is NULL) or -EBUSY (it has): the device lives on.
 * Threads: nobody else uses the device any more. It looks at every slot.
 *
 * The caller promises:
 * device came from furlong_bounce_device_create or furlong_bounce_device_create_in and has not
 * been destroyed.
 */
int furlong_bounce_device_destroy(const struct furlong_bounce *bounce,
                                  struct furlong_bounce_device *device);

/**
 * How many of its slots a device has; 0 without a quota, for then nobody counts, and for NULL.
 *
 * Threads: side by side with everything.
 */
uint32_t furlong_bounce_device_used(const struct furlong_bounce_device *device);

/**
 * The length of the longest buffer that fits an empty pool for the device, wherever it lies; 0 for
 * NULL.
 *
 * Threads: side by side with everything.
 */
uint64_t furlong_bounce_longest(const struct furlong_bounce *bounce,
                                const struct furlong_bounce_device *device);

/**
 * Maps len bytes at original for a device, copies them there whatever the direction, and writes
 * where the device finds the first one to address.
 *
 * Answers 0, -EINVAL (an argument is NULL, len is 0, there is no such direction), -EOVERFLOW (no
 * run is that long), -EOPNOTSUPP (the device asks for more alignment than there is), -E2BIG (it
 * crosses the device's boundary wherever it lies), -EDQUOT (the device has its slots already),
 * -EADDRNOTAVAIL (the device reaches no block), -ENOSPC (no area has room) or -EACCES (the device
 * was made for another pool): nothing has changed.
 * Threads: side by side with everything. It allocates only where the plan lets the pool grow
 * inline or has transients.
 *
 * The caller promises:
 * Until it is unmapped, len bytes at original are good for reading, and for writing if the device
 * writes; nobody else writes them while a map, sync or unmap copies them.
 */
int furlong_bounce_map(const struct furlong_bounce *bounce,
                       const struct furlong_bounce_device *device,
                       void *original,
                       size_t len,
                       uint32_t direction,
                       uint64_t *address);

/**
 * Ends the mapping that begins at address. If the device writes, the first written bytes are
 * copied back: SIZE_MAX for all, 0 for none; of what is said beyond the mapping nothing is
 * believed.
 *
 * Answers 0, -EINVAL (an argument is NULL, there is no such direction), -ENOENT (nothing is mapped
 * there), -EDOM (the mapping begins elsewhere), -EPERM (another device mapped it), -EPROTOTYPE (it
 * was mapped in another direction) or -EBADF (it was allocated): nothing has changed.
 * Threads: side by side with everything but syncs of the same mapping.
 *
 * The caller promises:
 * The original is as furlong_bounce_map asks for.
 */
int furlong_bounce_unmap(const struct furlong_bounce *bounce,
                         const struct furlong_bounce_device *device,
                         uint64_t address,
                         uint32_t direction,
                         size_t written);

/**
 * Copies len bytes from address on to the device, if it reads.
 *
 * Answers 0, -EINVAL (an argument is NULL, len is 0, there is no such direction), -ERANGE (some of
 * the bytes are outside the mapping); otherwise as furlong_bounce_unmap: nothing was copied.
 * Threads: side by side with everything but the unmap of the same mapping.
 *
 * The caller promises:
 * The original is as furlong_bounce_map asks for.
 */
int furlong_bounce_sync_for_device(const struct furlong_bounce *bounce,
                                   const struct furlong_bounce_device *device,
                                   uint64_t address,
                                   size_t len,
                                   uint32_t direction);

/**
 * Copies len bytes from address on back to the original, if the device writes.
 *
 * Answers as furlong_bounce_sync_for_device.
 * Threads: side by side with everything but the unmap of the same mapping.
 *
 * The caller promises:
 * The original is as furlong_bounce_map asks for.
 */
int furlong_bounce_sync_for_cpu(const struct furlong_bounce *bounce,
                                const struct furlong_bounce_device *device,
                                uint64_t address,
                                size_t len,
                                uint32_t direction);

/**
 * Takes len bytes without an original, zeroed, until furlong_bounce_deallocate: a descriptor ring,
 * a mailbox. Writes where the device has them to address, and where the CPU has them to memory,
 * unless that is NULL; the CPU is to use volatile accesses.
 *
 * Answers as furlong_bounce_map.
 * Threads: side by side with everything.
 */
int furlong_bounce_allocate(const struct furlong_bounce *bounce,
                            const struct furlong_bounce_device *device,
                            size_t len,
                            uint64_t *address,
                            void **memory);

/**
 * Gives back what furlong_bounce_allocate has taken.
 *
 * Answers 0, -EINVAL (an argument is NULL), -ENOENT (nothing is there), -EDOM (it begins
 * elsewhere), -EPERM (another device has it) or -EBADF (it was mapped): nothing has changed.
 * Threads: side by side with everything.
 *
 * The caller promises:
 * Nobody uses the memory any more.
 */
int furlong_bounce_deallocate(const struct furlong_bounce *bounce,
                              const struct furlong_bounce_device *device,
                              uint64_t address);

/**
 * Memory of size bytes at a multiple of align, a power of two; NULL if there is none. To be
 * written by a kernel that links the library without Rust's standard library, and by nobody
 * else.
 *
 * Threads: side by side with everything.
 */
extern void *furlong_port_allocate(size_t size,
                                   size_t align);

/**
 * Takes memory back that furlong_port_allocate gave, with the same size and align. As that, to
 * be written by a kernel.
 *
 * Threads: side by side with everything.
 */
extern void furlong_port_free(void *memory,
                              size_t size,
                              size_t align);

/**
 * Ends the program, for the library has found itself at fault; message has len bytes. As
 * furlong_port_allocate, to be written by a kernel. It does not return.
 *
 * Threads: any.
 */
extern void furlong_port_panic(const uint8_t *message,
                               size_t len) __attribute__((noreturn));

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FURLONG_H */

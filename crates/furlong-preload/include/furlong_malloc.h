/*
 * furlong's allocator for programs in C and C++: heaps of a purpose, statistics,
 * reports of trouble, and the heap profile.
 *
 * malloc, free and their relatives are those of the C library, and need no
 * header. Link with -lfurlong_malloc, or with another of its grades:
 * furlong_malloc_plain, _checked, _secure. A library that is preloaded takes the
 * place of the one that a program was linked with.
 *
 * Example:
 *
 *     struct furlong_heap *request = furlong_heap_create();
 *     char *line = furlong_heap_malloc(request, 100);
 *     ...
 *     furlong_heap_destroy(request);
 */
#ifndef FURLONG_MALLOC_H
#define FURLONG_MALLOC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A heap of its own, for a request, a query or a phase of a program. Its blocks
 * are freed one by one, or all at once when it is destroyed. It shares no span
 * of memory with other code.
 *
 * A block of a heap is freed and resized by the functions of that heap only, not
 * by free and realloc. These functions stop the program if a block is not of the
 * heap, unless it is an object above 64 KiB of another heap; nor does free notice
 * such an object of a heap. malloc_usable_size knows blocks of heaps, too.
 *
 * Threads: a heap may be used by any thread, and by one at a time. Its blocks
 * may be read and written by any.
 */
struct furlong_heap;

/* Makes a heap. NULL, with errno ENOMEM, if out of memory. */
struct furlong_heap *furlong_heap_create(void);

/*
 * Destroys a heap, and frees its blocks. NULL is ignored. A heap that was
 * destroyed already stops the program, except in the plain grade, unless its
 * address has been handed out again, to a heap or as a block.
 *
 * Cost: O(its spans of 64 KiB and blocks above 64 KiB), whatever the number of
 * its other blocks and of other memory; the secure grade also overwrites them.
 */
void furlong_heap_destroy(struct furlong_heap *heap);

/*
 * As malloc, calloc, aligned_alloc, realloc and free, in a heap. NULL with errno
 * ENOMEM if out of memory; with errno EINVAL if heap is NULL, or align is not a
 * power of two. A block of no bytes is a block. furlong_heap_realloc to a size
 * of 0 frees, and returns NULL. furlong_heap_free ignores a block or a heap that
 * is NULL.
 */
void *furlong_heap_malloc(struct furlong_heap *heap, size_t size);
void *furlong_heap_calloc(struct furlong_heap *heap, size_t count, size_t size);
void *furlong_heap_aligned_alloc(struct furlong_heap *heap, size_t align,
                                 size_t size);
void *furlong_heap_realloc(struct furlong_heap *heap, void *block, size_t size);
void furlong_heap_free(struct furlong_heap *heap, void *block);

/* The memory of the process's allocator at one moment. */
struct furlong_malloc_statistics {
	/* Bytes of blocks in use, by their real sizes, and their number. */
	size_t used_bytes;
	size_t used_blocks;
	/* Bytes of free blocks that threads and spans keep. */
	size_t free_bytes;
	/* Free bytes that may have memory behind them, and can be given back. */
	size_t dirty_bytes;
	/* Bytes of address space for blocks up to 2 MiB. */
	size_t arena_bytes;
	/* Bytes of larger blocks in use, and their number. */
	size_t huge_bytes;
	size_t huge_blocks;
	/* Heaps of threads that run, and of threads that have ended. */
	size_t heaps_running;
	size_t heaps_ended;
	/* Heaps of furlong_heap_create, and those kept for the next one. */
	size_t heaps;
};

/*
 * Writes the numbers to a structure of so many bytes: size is that of the
 * caller's structure, so a program may be older or newer than the library. What
 * the library does not know becomes 0. Exact if no other thread allocates or
 * frees meanwhile. now may be NULL.
 *
 * Cost: O(arenas of 4 MiB and their spans). Other threads wait in slow paths.
 */
void furlong_malloc_statistics(struct furlong_malloc_statistics *now,
                               size_t size);

/* What furlong_malloc_on_trouble reports. */
enum furlong_malloc_trouble {
	/* Of a later version. */
	FURLONG_MALLOC_OTHER = -1,
	/* An allocation is about to fail: out of memory, or too large. */
	FURLONG_MALLOC_REFUSED = 0,
	/* A block is freed that is free already. */
	FURLONG_MALLOC_DOUBLE_FREE = 1,
	/* What is freed or resized is not the start of a block in use. */
	FURLONG_MALLOC_NOT_A_BLOCK = 2,
	/* What is freed or resized was never allocated here. */
	FURLONG_MALLOC_FOREIGN = 3,
	/* A block was written to after it was freed. */
	FURLONG_MALLOC_WRITTEN_AFTER_FREE = 4,
	/* A block was written to past its end. */
	FURLONG_MALLOC_OVERRUN = 5,
	/* A block is freed with a size that it does not have. */
	FURLONG_MALLOC_WRONG_SIZE = 6,
	/* A block with guard pages was used after it was freed. */
	FURLONG_MALLOC_USED_AFTER_FREE = 7,
	/* An access past the pages of such a block, or in front of them. */
	FURLONG_MALLOC_OUT_OF_BOUNDS = 8
};

/*
 * Sets the function that is told of trouble, for the whole process; NULL removes
 * it. address is that of the block, or NULL for FURLONG_MALLOC_REFUSED. Trouble
 * while the function runs, in any thread, is not reported.
 *
 * Of FURLONG_MALLOC_REFUSED it is told while no lock is held: it may allocate
 * and free. Every other trouble stops the program: the function is called after
 * the message on standard error and before abort, perhaps under a lock of the
 * allocator or in a handler of a signal. It may call what a handler may, such as
 * write and _exit, but not malloc, free or a function of this header. backtrace
 * and backtrace_symbols_fd may be called if the program has called backtrace
 * before: the first call allocates.
 */
void furlong_malloc_on_trouble(void (*hook)(int trouble, const void *address));

/*
 * Writes the heap profile of this process to a file, for pprof. 0, or -1 if the
 * profile is off or the file cannot be written. The profile is on if the
 * variable FURLONG_MALLOC_HEAP_PROFILE was set when the process started.
 */
int furlong_heap_profile(const char *file);

#ifdef __cplusplus
}
#endif

#endif

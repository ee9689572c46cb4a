/* Address spaces: each function with valid and with invalid arguments. */

#include "check.h"

#define READ FURLONG_VMSPACE_PROT_READ
#define RW (FURLONG_VMSPACE_PROT_READ | FURLONG_VMSPACE_PROT_WRITE)
#define OBJECT FURLONG_VMSPACE_MAP_PRIVATE
#define MEMORY (FURLONG_VMSPACE_MAP_PRIVATE | FURLONG_VMSPACE_MAP_ANONYMOUS)
#define FIXED FURLONG_VMSPACE_MAP_FIXED
#define PAGE UINT64_C(0x1000)
#define TOP (UINT64_MAX - (PAGE - 1))

/* The items that calls have freed. */
static struct furlong_vmspace_freed freed[8];
static size_t freed_count;
static char context;

static void take(void *given, const struct furlong_vmspace_freed *item)
{
	CHECK(given == &context && freed_count < sizeof freed / sizeof *freed);
	freed[freed_count++] = *item;
}

#define TAKE take, &context
#define NOBODY NULL, NULL

/* Checks the next item, and forgets it. */
static void was_unmapped(uint64_t start, uint64_t last, uint64_t value, uint32_t is_last)
{
	CHECK(freed_count > 0);
	EQUAL(freed[0].kind, FURLONG_VMSPACE_UNMAPPED);
	EQUAL(freed[0].start, start);
	EQUAL(freed[0].last, last);
	EQUAL(freed[0].value, value);
	EQUAL(freed[0].is_last, is_last);
	memmove(freed, freed + 1, --freed_count * sizeof *freed);
}

static void was_merged(uint64_t value)
{
	CHECK(freed_count > 0);
	EQUAL(freed[0].kind, FURLONG_VMSPACE_MERGED);
	EQUAL(freed[0].value, value);
	EQUAL(freed[0].start | freed[0].last | freed[0].offset | freed[0].prot | freed[0].flags, 0);
	memmove(freed, freed + 1, --freed_count * sizeof *freed);
}

static struct furlong_vmspace *empty(void)
{
	struct furlong_vmspace *space;

	FINE(furlong_vmspace_create(&space, NULL));
	EQUAL(furlong_vmspace_len(space), 0);
	return space;
}

/* A space of all 64-bit addresses. */
static struct furlong_vmspace *whole(void)
{
	struct furlong_vmspace_layout layout;
	struct furlong_vmspace *space;

	FINE(furlong_vmspace_layout(&layout));
	layout.low = layout.bottom = 0;
	layout.last = layout.top = UINT64_MAX;
	FINE(furlong_vmspace_create(&space, &layout));
	return space;
}

/* Private memory at a fixed place. */
static void put(struct furlong_vmspace *space, uint64_t at, uint64_t len, uint64_t value)
{
	uint64_t start;

	FINE(furlong_vmspace_mmap(space, at, len, RW, MEMORY | FIXED, 0, value, &start, TAKE));
	EQUAL(start, at);
}

static void is_area(const struct furlong_vmspace *space, uint64_t start, uint64_t last,
		    uint64_t value)
{
	struct furlong_vmspace_area area;

	FINE(furlong_vmspace_find(space, start, &area));
	EQUAL(area.start, start);
	EQUAL(area.last, last);
	EQUAL(area.value, value);
}

static void end(struct furlong_vmspace *space)
{
	EQUAL(freed_count, 0);
	FINE(furlong_vmspace_check(space));
	furlong_vmspace_destroy(space);
}

static void refuses_null(void)
{
	struct furlong_vmspace *space = empty();
	struct furlong_vmspace_request request;
	struct furlong_vmspace_area area;
	uint64_t at;

	EQUAL(furlong_vmspace_create(NULL, NULL), -EINVAL);
	EQUAL(furlong_vmspace_layout(NULL), -EINVAL);
	EQUAL(furlong_vmspace_clear(NULL, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_len(NULL), 0);
	EQUAL(furlong_vmspace_pages(NULL, 0), 0);
	EQUAL(furlong_vmspace_prepare(NULL, 1), -EINVAL);
	EQUAL(furlong_vmspace_check(NULL), -EINVAL);
	EQUAL(furlong_vmspace_find(NULL, 0, &area), -EINVAL);
	EQUAL(furlong_vmspace_find(space, 0, NULL), -EINVAL);
	EQUAL(furlong_vmspace_next(NULL, 0, &area), -EINVAL);
	EQUAL(furlong_vmspace_next(space, 0, NULL), -EINVAL);
	EQUAL(furlong_vmspace_fault(NULL, 0, READ, &area), -EINVAL);
	EQUAL(furlong_vmspace_fault(space, 0, READ, NULL), -EINVAL);
	EQUAL(furlong_vmspace_request(NULL, 1, READ, 0), -EINVAL);
	FINE(furlong_vmspace_request(&request, 1, READ, 0));
	EQUAL(furlong_vmspace_map(NULL, &request, &at, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_map(space, NULL, &at, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_map(space, &request, NULL, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_mmap(NULL, 0, 1, READ, MEMORY, 0, 0, &at, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_mmap(space, 0, 1, READ, MEMORY, 0, 0, NULL, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_unmap(NULL, 0, PAGE, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_protect(NULL, 0, 0, READ, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_advise(NULL, 0, 0, FURLONG_VMSPACE_MADV_DOFORK, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_update(NULL, 0, 0, 0, 0, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_remap(NULL, 0, 1, 1, 0, 0, &at, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_remap(space, 0, 1, 1, 0, 0, NULL, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_start_brk(NULL, 0), -EINVAL);
	EQUAL(furlong_vmspace_brk(NULL), 0);
	EQUAL(furlong_vmspace_set_brk(NULL, 0, 0, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_fork(NULL, &space, NULL, NOBODY), -EINVAL);
	EQUAL(furlong_vmspace_fork(space, NULL, NULL, NOBODY), -EINVAL);
	furlong_vmspace_destroy(NULL);
	EQUAL(furlong_vmspace_len(space), 0);
	end(space);
}

static void has_a_layout(void)
{
	struct furlong_vmspace_layout usual, layout;
	struct furlong_vmspace *space;

	FINE(furlong_vmspace_layout(&usual));
	EQUAL(usual.page, PAGE);
	EQUAL(usual.last, 0x7fffffffefff);
	EQUAL(usual.low, 0x10000);
	EQUAL(usual.areas_max, 65530);
	EQUAL(usual.stack_max, 2048);
	EQUAL(usual.direction, FURLONG_VMSPACE_TOP_DOWN);
	FINE(furlong_vmspace_create(&space, &usual));
	end(space);
	layout = usual;
	layout.page = 0;
	EQUAL(furlong_vmspace_create(&space, &layout), -EINVAL);
	layout.page = 3;
	EQUAL(furlong_vmspace_create(&space, &layout), -EINVAL);
	layout = usual;
	layout.last = 0x7fffffffffe;
	EQUAL(furlong_vmspace_create(&space, &layout), -EINVAL);
	layout = usual;
	layout.low = 1;
	EQUAL(furlong_vmspace_create(&space, &layout), -EINVAL);
	layout = usual;
	layout.direction = 2;
	EQUAL(furlong_vmspace_create(&space, &layout), -EINVAL);
}

static void maps_and_unmaps(void)
{
	struct furlong_vmspace *space = empty();
	struct furlong_vmspace_area area;
	uint64_t at;

	/* From the top downwards, next to each other. */
	FINE(furlong_vmspace_mmap(space, 0, 0x3001, RW, MEMORY, 0, 1, &at, TAKE));
	EQUAL(at, 0x7ffff7ffb000);
	FINE(furlong_vmspace_mmap(space, 0, 1, READ, MEMORY, 0, 1, &at, TAKE));
	EQUAL(at, 0x7ffff7ffa000);
	EQUAL(furlong_vmspace_len(space), 2);
	EQUAL(furlong_vmspace_pages(space, 0), 5);
	EQUAL(furlong_vmspace_pages(space, FURLONG_VMSPACE_PROT_WRITE), 4);
	FINE(furlong_vmspace_clear(space, TAKE));
	EQUAL(freed_count, 2);
	freed_count = 0;
	EQUAL(furlong_vmspace_len(space), 0);

	/* Two parts of an object whose offsets continue are one area. */
	FINE(furlong_vmspace_mmap(space, 0x400000, 0x3000, READ, OBJECT | FIXED, 0x5000, 7, &at, TAKE));
	EQUAL(freed_count, 0);
	FINE(furlong_vmspace_mmap(space, 0x403000, PAGE, READ, OBJECT | FIXED, 0x8000, 7, &at, TAKE));
	was_merged(7);
	EQUAL(furlong_vmspace_len(space), 1);
	FINE(furlong_vmspace_find(space, 0x403fff, &area));
	CHECK(area.start == 0x400000 && area.last == 0x403fff && area.offset == 0x5000);
	CHECK(area.prot == READ && area.may == 7 && area.flags == FURLONG_VMSPACE_AREA_OBJECT);
	EQUAL(furlong_vmspace_find(space, 0x404000, &area), -ENOENT);
	EQUAL(furlong_vmspace_next(space, 0x404000, &area), -ENOENT);
	FINE(furlong_vmspace_next(space, 0, &area));
	EQUAL(area.start, 0x400000);

	/* Both parts of an area that is cut have its value. */
	FINE(furlong_vmspace_unmap(space, 0x401000, PAGE, TAKE));
	EQUAL(freed[0].offset, 0x6000);
	EQUAL(freed[0].prot, READ);
	EQUAL(freed[0].flags, FURLONG_VMSPACE_AREA_OBJECT);
	was_unmapped(0x401000, 0x401fff, 7, 0);
	is_area(space, 0x400000, 0x400fff, 7);
	is_area(space, 0x402000, 0x403fff, 7);
	put(space, 0x3ff000, 0x4000, 8);
	was_unmapped(0x400000, 0x400fff, 7, 1);
	was_unmapped(0x402000, 0x402fff, 7, 0);
	FINE(furlong_vmspace_unmap(space, 0x402000, 0x2000, TAKE));
	was_unmapped(0x402000, 0x402fff, 8, 0);
	was_unmapped(0x403000, 0x403fff, 7, 1);
	is_area(space, 0x3ff000, 0x401fff, 8);

	/* The same again in its middle: it is mapped anew, and stays one area. */
	put(space, 0x400000, PAGE, 8);
	was_unmapped(0x400000, 0x400fff, 8, 0);
	was_merged(8);
	is_area(space, 0x3ff000, 0x401fff, 8);
	FINE(furlong_vmspace_unmap(space, 0, UINT64_C(0x7ffffffff000), NOBODY));
	EQUAL(furlong_vmspace_pages(space, 0), 0);
	end(space);
}

static void refuses_mappings(void)
{
	struct furlong_vmspace *space = empty();
	uint64_t at = 5, none = FURLONG_VMSPACE_MAP_FIXED_NOREPLACE;

	put(space, 0x10000, 0x2000, 1);
	EQUAL(furlong_vmspace_mmap(space, 0, 0, RW, MEMORY, 0, 1, &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_mmap(space, 1, PAGE, RW, MEMORY | FIXED, 0, 1, &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_mmap(space, 0, PAGE, RW, OBJECT, 1, 1, &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_mmap(space, 0, PAGE, RW, 0, 0, 1, &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_mmap(space, 0, PAGE, RW, FURLONG_VMSPACE_MAP_SHARED
				   | FURLONG_VMSPACE_MAP_GROWSDOWN, 0, 1, &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_mmap(space, 0, UINT64_MAX, RW, MEMORY, 0, 1, &at, TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_mmap(space, 0x7fffffffe000, 0x2000, RW, MEMORY | FIXED, 0, 1, &at,
				   TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_mmap(space, 0xf000, PAGE, RW, MEMORY | FIXED, 0, 1, &at, TAKE), -EPERM);
	EQUAL(furlong_vmspace_mmap(space, 0x11000, PAGE, RW, MEMORY | none, 0, 1, &at, TAKE), -EEXIST);
	EQUAL(furlong_vmspace_mmap(space, 0, 0x2000, RW, OBJECT, TOP, 1, &at, TAKE), -EOVERFLOW);
	EQUAL(furlong_vmspace_mmap(space, 0x11000, 0x2000, RW, OBJECT | none, TOP, 1, &at, TAKE),
	      -EEXIST);
	EQUAL(furlong_vmspace_mmap(space, 0, PAGE, RW, FURLONG_VMSPACE_MAP_SHARED_VALIDATE | 0x200000, 0, 1,
				   &at, TAKE), -EOPNOTSUPP);
	EQUAL(furlong_vmspace_unmap(space, 1, PAGE, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_unmap(space, 0, 0, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_unmap(space, TOP, PAGE, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_unmap(space, TOP, UINT64_MAX, TAKE), -EINVAL);
	EQUAL(at, 5);
	EQUAL(furlong_vmspace_len(space), 1);
	end(space);
}

static void maps_by_request(void)
{
	struct furlong_vmspace *space = empty();
	struct furlong_vmspace_request request, usual;
	struct furlong_vmspace_area area;
	uint64_t at;

	FINE(furlong_vmspace_request(&usual, 0x2000, RW, 3));
	CHECK(usual.len == 0x2000 && usual.prot == RW && usual.flags == MEMORY && usual.value == 3);
	CHECK(usual.may == 7 && usual.area_flags == 0 && usual.window_last == 0);

	request = usual;
	request.window_start = 0x10000000;
	request.window_last = 0x10003fff;
	FINE(furlong_vmspace_map(space, &request, &at, TAKE));
	EQUAL(at, 0x10000000);
	FINE(furlong_vmspace_map(space, &request, &at, TAKE));
	EQUAL(at, 0x10002000);
	was_merged(3);
	EQUAL(furlong_vmspace_map(space, &request, &at, TAKE), -ENOMEM);

	request = usual;
	request.align = 0x200000;
	FINE(furlong_vmspace_map(space, &request, &at, TAKE));
	EQUAL(at, 0x7ffff7e00000);
	request.align = 0x3000;
	EQUAL(furlong_vmspace_map(space, &request, &at, TAKE), -EINVAL);

	request = usual;
	request.flags |= FURLONG_VMSPACE_MAP_32BIT;
	FINE(furlong_vmspace_map(space, &request, &at, TAKE));
	EQUAL(at, 0x40000000);

	/* A hint that is free is taken, at its page. */
	request = usual;
	request.address = 0x20000fff;
	FINE(furlong_vmspace_map(space, &request, &at, TAKE));
	EQUAL(at, 0x20000000);

	request.may = READ;
	EQUAL(furlong_vmspace_map(space, &request, &at, TAKE), -EACCES);
	request.may = 8;
	EQUAL(furlong_vmspace_map(space, &request, &at, TAKE), -EINVAL);
	request = usual;
	request.area_flags = FURLONG_VMSPACE_AREA_OBJECT;
	EQUAL(furlong_vmspace_map(space, &request, &at, TAKE), -EINVAL);
	request.area_flags = 0x10000;
	EQUAL(furlong_vmspace_map(space, &request, &at, TAKE), -EINVAL);
	request.area_flags = FURLONG_VMSPACE_AREA_DONTEXPAND | 0x100;
	request.may = RW;
	FINE(furlong_vmspace_map(space, &request, &at, TAKE));
	FINE(furlong_vmspace_find(space, at, &area));
	CHECK(area.flags == (FURLONG_VMSPACE_AREA_DONTEXPAND | 0x100) && area.may == RW);
	EQUAL(furlong_vmspace_protect(space, at, PAGE, 7, TAKE), -EACCES);
	EQUAL(furlong_vmspace_remap(space, at, 0x2000, 0x3000, 1, 0, &at, TAKE), -EFAULT);
	end(space);
}

static void reaches_both_ends(void)
{
	struct furlong_vmspace *space = whole();
	struct furlong_vmspace_area area;
	uint64_t at;

	put(space, 0, PAGE, 1);
	put(space, TOP, PAGE, 2);
	is_area(space, 0, PAGE - 1, 1);
	is_area(space, TOP, UINT64_MAX, 2);
	FINE(furlong_vmspace_next(space, UINT64_MAX, &area));
	EQUAL(area.start, TOP);
	FINE(furlong_vmspace_protect(space, TOP, PAGE, READ, TAKE));
	FINE(furlong_vmspace_fault(space, UINT64_MAX, READ, &area));
	EQUAL(furlong_vmspace_fault(space, UINT64_MAX, FURLONG_VMSPACE_PROT_WRITE, &area), -EACCES);
	EQUAL(furlong_vmspace_protect(space, TOP, 0x2000, READ, TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_unmap(space, TOP, 0x2000, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_remap(space, TOP, PAGE, 0x2000, 0, 0, &at, TAKE), -ENOMEM);
	FINE(furlong_vmspace_remap(space, TOP, PAGE, PAGE, 3, TOP - 0x2000, &at, TAKE));
	EQUAL(at, TOP - 0x2000);
	was_unmapped(TOP, UINT64_MAX, 2, 1);

	/* All of it, in one area. */
	put(space, 0, UINT64_MAX, 3);
	was_unmapped(0, PAGE - 1, 1, 1);
	was_unmapped(TOP - 0x2000, TOP - PAGE - 1, 2, 1);
	is_area(space, 0, UINT64_MAX, 3);
	EQUAL(furlong_vmspace_pages(space, RW), INT64_C(1) << 52);
	EQUAL(furlong_vmspace_mmap(space, 0, 1, RW, MEMORY, 0, 3, &at, TAKE), -ENOMEM);
	FINE(furlong_vmspace_unmap(space, 0x5000, PAGE, TAKE));
	was_unmapped(0x5000, 0x5fff, 3, 0);
	FINE(furlong_vmspace_unmap(space, 0, UINT64_MAX, TAKE));
	was_unmapped(0, 0x4fff, 3, 1);
	was_unmapped(0x6000, UINT64_MAX, 3, 1);
	end(space);
}

static void changes_ranges(void)
{
	struct furlong_vmspace_layout layout;
	struct furlong_vmspace *space = empty();
	struct furlong_vmspace_area area;
	uint64_t at;

	put(space, 0x10000, 0x3000, 4);
	FINE(furlong_vmspace_protect(space, 0x11000, 1, READ, TAKE));
	EQUAL(freed_count, 0);
	EQUAL(furlong_vmspace_len(space), 3);
	is_area(space, 0x11000, 0x11fff, 4);
	FINE(furlong_vmspace_protect(space, 0x11000, PAGE, RW, TAKE));
	was_merged(4);
	was_merged(4);
	is_area(space, 0x10000, 0x12fff, 4);
	FINE(furlong_vmspace_protect(space, 0x50000, 0, RW, TAKE));
	EQUAL(furlong_vmspace_protect(space, 0x10001, PAGE, RW, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_protect(space, 0x10000, PAGE, 16, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_protect(space, 0x10000, PAGE, UINT64_C(1) << 32, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_protect(space, 0x10000, PAGE, READ | FURLONG_VMSPACE_PROT_GROWSDOWN,
				      TAKE), -EINVAL);
	EQUAL(furlong_vmspace_protect(space, 0x12000, 0x2000, READ, TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_protect(space, 0x12000, UINT64_MAX, READ, TAKE), -ENOMEM);

	FINE(furlong_vmspace_advise(space, 0x12000, PAGE, FURLONG_VMSPACE_MADV_DONTFORK, TAKE));
	FINE(furlong_vmspace_find(space, 0x12000, &area));
	EQUAL(area.flags, FURLONG_VMSPACE_AREA_DONTCOPY);
	FINE(furlong_vmspace_advise(space, 0x10000, 0x3000, FURLONG_VMSPACE_MADV_DOFORK, TAKE));
	was_merged(4);
	FINE(furlong_vmspace_advise(space, 0x10000, 0x3000, FURLONG_VMSPACE_MADV_WIPEONFORK, TAKE));
	FINE(furlong_vmspace_advise(space, 0x10000, 0x3000, FURLONG_VMSPACE_MADV_KEEPONFORK, TAKE));
	EQUAL(furlong_vmspace_advise(space, 0x10000, PAGE, 0, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_advise(space, 0x10001, PAGE, FURLONG_VMSPACE_MADV_DOFORK, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_advise(space, 0x10000, 0x4000, FURLONG_VMSPACE_MADV_DOFORK, TAKE),
	      -ENOMEM);
	FINE(furlong_vmspace_mmap(space, 0x13000, PAGE, READ, OBJECT | FIXED, 0, 4, &at, TAKE));
	EQUAL(furlong_vmspace_advise(space, 0x12000, 0x2000, FURLONG_VMSPACE_MADV_WIPEONFORK, TAKE),
	      -EINVAL);
	FINE(furlong_vmspace_mmap(space, 0x14000, PAGE, READ, FURLONG_VMSPACE_MAP_ANONYMOUS
				  | FURLONG_VMSPACE_MAP_DROPPABLE | FIXED, 0, 5, &at, TAKE));
	FINE(furlong_vmspace_find(space, 0x14000, &area));
	EQUAL(area.flags, FURLONG_VMSPACE_AREA_DROPPABLE | FURLONG_VMSPACE_AREA_WIPEONFORK);
	EQUAL(furlong_vmspace_advise(space, 0x14000, PAGE, FURLONG_VMSPACE_MADV_KEEPONFORK, TAKE),
	      -EINVAL);
	FINE(furlong_vmspace_unmap(space, 0x14000, PAGE, TAKE));
	was_unmapped(0x14000, 0x14fff, 5, 1);

	FINE(furlong_vmspace_update(space, 0x10000, PAGE, 0, 0x300, TAKE));
	FINE(furlong_vmspace_update(space, 0x10000, PAGE, 0x200, 0x400, TAKE));
	FINE(furlong_vmspace_find(space, 0x10000, &area));
	CHECK(area.last == 0x10fff && area.flags == 0x500);
	EQUAL(furlong_vmspace_update(space, 0x10000, PAGE, 0, 1, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_update(space, 0x10000, PAGE, 0x10000, 0, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_update(space, 0x10001, PAGE, 0, 0x100, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_update(space, 0x10000, 0x5000, 0, 0x100, TAKE), -ENOMEM);
	FINE(furlong_vmspace_update(space, 0x10000, PAGE, 0xff00, 0, TAKE));
	was_merged(4);
	EQUAL(furlong_vmspace_len(space), 2);
	end(space);

	/* At the limit of areas nothing is cut any more. */
	FINE(furlong_vmspace_layout(&layout));
	layout.areas_max = 1;
	FINE(furlong_vmspace_create(&space, &layout));
	put(space, 0x10000, 0x3000, 4);
	EQUAL(furlong_vmspace_unmap(space, 0x11000, PAGE, TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_protect(space, 0x11000, PAGE, READ, TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_update(space, 0x11000, PAGE, 0, 0x100, TAKE), -EAGAIN);
	EQUAL(furlong_vmspace_advise(space, 0x11000, PAGE, FURLONG_VMSPACE_MADV_DONTFORK, TAKE),
	      -EAGAIN);
	is_area(space, 0x10000, 0x12fff, 4);
	end(space);
}

static void faults(void)
{
	struct furlong_vmspace *space = empty();
	struct furlong_vmspace_area area;
	uint64_t at, stack = 0x7ff000000000;

	FINE(furlong_vmspace_mmap(space, stack, PAGE, RW, MEMORY | FIXED | FURLONG_VMSPACE_MAP_GROWSDOWN,
				  0, 6, &at, TAKE));
	FINE(furlong_vmspace_fault(space, stack + 5, FURLONG_VMSPACE_PROT_WRITE, &area));
	EQUAL(area.start, stack);
	EQUAL(furlong_vmspace_fault(space, stack, FURLONG_VMSPACE_PROT_EXEC, &area), -EACCES);
	EQUAL(furlong_vmspace_fault(space, stack - 1, FURLONG_VMSPACE_PROT_EXEC, &area), -EACCES);
	EQUAL(furlong_vmspace_fault(space, stack + PAGE, READ, &area), -EFAULT);
	EQUAL(furlong_vmspace_fault(space, stack, 0, &area), -EINVAL);
	EQUAL(furlong_vmspace_fault(space, stack, RW, &area), -EINVAL);
	EQUAL(furlong_vmspace_fault(space, 0xffff, READ, &area), -EPERM);
	EQUAL(furlong_vmspace_fault(space, stack - 2048 * PAGE, READ, &area), -ENOMEM);
	is_area(space, stack, stack + PAGE - 1, 6);
	FINE(furlong_vmspace_fault(space, stack - 3 * PAGE, READ, &area));
	EQUAL(area.start, stack - 3 * PAGE);
	EQUAL(area.flags, FURLONG_VMSPACE_AREA_GROWSDOWN);
	EQUAL(furlong_vmspace_pages(space, 0), 4);
	FINE(furlong_vmspace_protect(space, stack, PAGE, READ | FURLONG_VMSPACE_PROT_GROWSDOWN, TAKE));
	is_area(space, stack - 3 * PAGE, stack + PAGE - 1, 6);
	EQUAL(furlong_vmspace_pages(space, RW), 0);
	/* So many pages above the next area stay free. */
	put(space, stack - 261 * PAGE, PAGE, 1);
	EQUAL(furlong_vmspace_fault(space, stack - 5 * PAGE, READ, &area), -ENOMEM);
	FINE(furlong_vmspace_fault(space, stack - 4 * PAGE, READ, &area));
	end(space);
}

static void moves_the_break(void)
{
	struct furlong_vmspace *space = empty();

	EQUAL(furlong_vmspace_brk(space), 0);
	FINE(furlong_vmspace_start_brk(space, 0x600010));
	EQUAL(furlong_vmspace_brk(space), 0x600010);
	FINE(furlong_vmspace_set_brk(space, 0x603010, 5, TAKE));
	EQUAL(furlong_vmspace_brk(space), 0x603010);
	is_area(space, 0x601000, 0x603fff, 5);
	FINE(furlong_vmspace_set_brk(space, 0x603ff0, 5, TAKE));
	was_merged(5);
	FINE(furlong_vmspace_set_brk(space, 0x605000, 5, TAKE));
	was_merged(5);
	is_area(space, 0x601000, 0x604fff, 5);
	FINE(furlong_vmspace_set_brk(space, 0x602001, 9, TAKE));
	was_unmapped(0x603000, 0x604fff, 5, 0);
	was_merged(9);
	FINE(furlong_vmspace_set_brk(space, 0x604000, 9, TAKE));
	is_area(space, 0x603000, 0x603fff, 9);
	FINE(furlong_vmspace_set_brk(space, 0x601800, 9, TAKE));
	was_unmapped(0x602000, 0x602fff, 5, 0);
	was_unmapped(0x603000, 0x603fff, 9, 1);
	was_merged(9);
	EQUAL(furlong_vmspace_set_brk(space, 0x60000f, 5, TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_set_brk(space, UINT64_MAX, 5, TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_set_brk(space, UINT64_C(1) << 60, 5, TAKE), -ENOMEM);
	put(space, 0x608000, PAGE, 1);
	EQUAL(furlong_vmspace_set_brk(space, 0x608000, 5, TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_brk(space), 0x601800);
	FINE(furlong_vmspace_set_brk(space, 0x607000, 5, TAKE));
	was_merged(5);
	FINE(furlong_vmspace_clear(space, NOBODY));
	EQUAL(furlong_vmspace_brk(space), 0);
	end(space);
}

static void moves_areas(void)
{
	struct furlong_vmspace *space = empty();
	uint64_t at = 5, may = FURLONG_VMSPACE_MREMAP_MAYMOVE;
	uint64_t to = may | FURLONG_VMSPACE_MREMAP_FIXED, keep = may | FURLONG_VMSPACE_MREMAP_DONTUNMAP;

	put(space, 0x10000, 0x2000, 1);
	EQUAL(furlong_vmspace_remap(space, 0x10001, PAGE, PAGE, 0, 0, &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_remap(space, 0x10000, PAGE, 0, 0, 0, &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_remap(space, 0x10000, PAGE, PAGE, 8, 0, &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_remap(space, 0x10000, PAGE, PAGE, UINT64_C(1) << 32, 0, &at, TAKE),
	      -EINVAL);
	EQUAL(furlong_vmspace_remap(space, 0x10000, PAGE, PAGE, FURLONG_VMSPACE_MREMAP_FIXED, 0x20000,
				    &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_remap(space, 0x10000, 0, PAGE, may, 0, &at, TAKE), -EINVAL);
	EQUAL(furlong_vmspace_remap(space, 0x20000, PAGE, PAGE, 0, 0, &at, TAKE), -EFAULT);
	EQUAL(furlong_vmspace_remap(space, 0x10000, 0x3000, 0x4000, 0, 0, &at, TAKE), -EFAULT);
	EQUAL(furlong_vmspace_remap(space, 0x10000, PAGE, 0x2000, 0, 0, &at, TAKE), -ENOMEM);
	EQUAL(furlong_vmspace_remap(space, 0x10000, PAGE, PAGE, to, 0xf000, &at, TAKE), -EPERM);
	EQUAL(furlong_vmspace_remap(space, 0x10000, 0x2000, 0x2000, to, 0x11000, &at, TAKE), -EINVAL);
	EQUAL(at, 5);

	/* In place, shorter, and away. */
	FINE(furlong_vmspace_remap(space, 0x10000, 0x2000, 0x5000, 0, 0, &at, TAKE));
	EQUAL(at, 0x10000);
	is_area(space, 0x10000, 0x14fff, 1);
	FINE(furlong_vmspace_remap(space, 0x10000, 0x4000, 0x1001, 0, 0, &at, TAKE));
	was_unmapped(0x12000, 0x13fff, 1, 0);
	FINE(furlong_vmspace_remap(space, 0x11000, PAGE, 0x8000, may, 0, &at, TAKE));
	EQUAL(at, 0x7ffff7ff7000);
	was_unmapped(0x11000, 0x11fff, 1, 0);
	EQUAL(furlong_vmspace_len(space), 3);

	/* Over others, which it replaces; what it loses behind its new length is freed first. */
	put(space, 0x20000, 0x4000, 2);
	FINE(furlong_vmspace_remap(space, 0x7ffff7ff8000, 0x3000, 0x2000, to, 0x21000, &at, TAKE));
	EQUAL(at, 0x21000);
	was_unmapped(0x21000, 0x22fff, 2, 0);
	was_unmapped(0x7ffff7ffa000, 0x7ffff7ffafff, 1, 0);
	was_unmapped(0x7ffff7ff8000, 0x7ffff7ff9fff, 1, 0);
	is_area(space, 0x21000, 0x22fff, 1);
	is_area(space, 0x23000, 0x23fff, 2);
	FINE(furlong_vmspace_remap(space, 0x23000, PAGE, PAGE, keep, 0x40000, &at, TAKE));
	EQUAL(at, 0x40000);
	is_area(space, 0x23000, 0x23fff, 2);
	is_area(space, 0x40000, 0x40fff, 2);
	end(space);
}

/* Makes the children's values, up to a limit. */
struct copies {
	uint64_t made;
	uint64_t limit;
	int refusal;
};

static int copy(void *given, const struct furlong_vmspace_area *area, uint64_t *value)
{
	struct copies *copies = given;

	EQUAL(*value, area->value);
	if (copies->made == copies->limit)
		return copies->refusal;
	copies->made++;
	*value += 100;
	return 0;
}

static uint64_t given_back;

static void take_back(void *given, const struct furlong_vmspace_freed *item)
{
	struct copies *copies = given;

	CHECK(item->kind == FURLONG_VMSPACE_UNMAPPED && item->is_last == 1 && copies->made > 0);
	copies->made--;
	given_back += item->value;
}

static void forks(void)
{
	struct furlong_vmspace *parent = empty(), *child = NULL;
	struct copies copies = {0, 100, 0};
	const int refusals[] = {-EAGAIN, -1, -4095, 1, -4096, INT32_MIN};
	size_t i;

	FINE(furlong_vmspace_start_brk(parent, 0x600000));
	FINE(furlong_vmspace_set_brk(parent, 0x602000, 5, TAKE));
	for (i = 0; i < 100; i++)
		put(parent, 0x700000 + i * 0x2000, PAGE, i);
	FINE(furlong_vmspace_fork(parent, &child, NULL, NOBODY));
	EQUAL(furlong_vmspace_len(child), 101);
	is_area(child, 0x600000, 0x601fff, 5);
	EQUAL(furlong_vmspace_brk(child), 0x602000);
	FINE(furlong_vmspace_unmap(child, 0x600000, 0x2000, NOBODY));
	is_area(parent, 0x600000, 0x601fff, 5);
	end(child);

	FINE(furlong_vmspace_advise(parent, 0x700000, PAGE, FURLONG_VMSPACE_MADV_DONTFORK, TAKE));
	FINE(furlong_vmspace_fork(parent, &child, copy, take_back, &copies));
	EQUAL(copies.made, 100);
	EQUAL(furlong_vmspace_len(child), 100);
	is_area(child, 0x600000, 0x601fff, 105);
	is_area(child, 0x7c6000, 0x7c6fff, 199);
	is_area(parent, 0x7c6000, 0x7c6fff, 99);
	end(child);

	for (i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		copies = (struct copies){0, 3, refusals[i]};
		given_back = 0;
		child = NULL;
		EQUAL(furlong_vmspace_fork(parent, &child, copy, take_back, &copies),
		      i < 3 ? refusals[i] : -EINVAL);
		CHECK(child == NULL && copies.made == 0);
		EQUAL(given_back, 105 + 101 + 102);
	}
	copies = (struct copies){0, 0, -EPERM};
	EQUAL(furlong_vmspace_fork(parent, &child, copy, NULL, &copies), -EPERM);
	EQUAL(furlong_vmspace_len(parent), 101);
	end(parent);
}

static void obtains_memory(void)
{
	struct furlong_vmspace *space = empty();
	uint64_t i;

	FINE(furlong_vmspace_prepare(space, 200));
	for (i = 0; i < 100; i++)
		put(space, 0x100000 + i * 0x3000, PAGE, i);
	EQUAL(furlong_vmspace_len(space), 100);
	EQUAL(furlong_vmspace_prepare(space, SIZE_MAX), -ENOMEM);
	end(space);
}

int main(void)
{
	refuses_null();
	has_a_layout();
	maps_and_unmaps();
	refuses_mappings();
	maps_by_request();
	reaches_both_ends();
	changes_ranges();
	faults();
	moves_the_break();
	moves_areas();
	forks();
	obtains_memory();
	return done("vmspace");
}

/* A space does what a table with a row for each of its pages does, in thousands of random changes. */

#include "check.h"

#define OBJECT FURLONG_VMSPACE_MAP_PRIVATE
#define MEMORY (FURLONG_VMSPACE_MAP_PRIVATE | FURLONG_VMSPACE_MAP_ANONYMOUS)
#define FIXED FURLONG_VMSPACE_MAP_FIXED
#define PAGE UINT64_C(0x1000)
#define PAGES 64
#define STEPS 4000

/* A row is 0 if the page is free. Else it has the value, the protection, the flags and the origin,
 * which is the difference of the page's offset and its number. Equal neighbours are one area. */
static uint64_t rows[PAGES];
static int64_t pages_of[4];
static uint64_t state;
static int is_upwards;

static uint64_t below(uint64_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 8) % limit;
}

static uint64_t row(uint64_t value, uint64_t prot, uint64_t flags, uint64_t origin)
{
	return value | prot << 8 | flags << 16 | origin << 32;
}

static void counts(void *given, const struct furlong_vmspace_freed *item)
{
	(void)given;
	if (item->kind == FURLONG_VMSPACE_UNMAPPED)
		pages_of[item->value] -= (int64_t)((item->last - item->start + 1) / PAGE);
}

#define COUNTS counts, NULL

/* The number of free rows from a page on, up to a limit; and the number of equal ones. */
static uint64_t same_from(uint64_t first, uint64_t limit)
{
	uint64_t n = 0;

	while (n < limit && first + n < PAGES && rows[first + n] == rows[first])
		n++;
	return n;
}

static int is_free(uint64_t first, uint64_t len)
{
	return len == 0 || (first + len <= PAGES && rows[first] == 0 && same_from(first, len) == len);
}

/* The place that the space chooses; 0 if there is none. The first page is below the lowest one. */
static uint64_t place(uint64_t len)
{
	uint64_t at;

	if (is_upwards) {
		for (at = 1; at + len <= PAGES; at++)
			if (is_free(at, len))
				return at;
		return 0;
	}
	for (at = len < PAGES ? PAGES - len : 0; at > 0; at--)
		if (is_free(at, len))
			return at;
	return 0;
}

static void fill(uint64_t first, uint64_t len, uint64_t with)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		rows[first + i] = with;
}

static void random_map(struct furlong_vmspace *space, uint64_t first, uint64_t len)
{
	uint64_t value = 1 + below(3), prot = below(8), kind = below(3), want, at, origin = 0;
	uint64_t flags = MEMORY, bits = 0;
	int answer;

	if (below(3) == 0) {
		origin = (below(4) * PAGES - first) & 0xffffffff;
		flags = OBJECT;
		bits = FURLONG_VMSPACE_AREA_OBJECT;
	}
	want = kind == 0 ? place(len) : first;
	if (kind == 0 && bits != 0)
		origin = (0 - want) & 0xffffffff;
	flags |= kind == 0 ? 0 : kind == 1 ? FIXED : FURLONG_VMSPACE_MAP_FIXED_NOREPLACE;
	answer = furlong_vmspace_mmap(space, kind == 0 ? 0 : first * PAGE, len * PAGE, prot, flags,
				      ((first + origin) & 0xffffffff) * PAGE * (kind != 0), value, &at,
				      COUNTS);
	if (kind == 0 ? want == 0 : first + len > PAGES) {
		EQUAL(answer, -ENOMEM);
	} else if (first == 0 && kind != 0) {
		EQUAL(answer, -EPERM);
	} else if (kind == 2 && !is_free(first, len)) {
		EQUAL(answer, -EEXIST);
	} else {
		FINE(answer);
		EQUAL(at, want * PAGE);
		fill(want, len, row(value, prot, bits, origin));
		pages_of[value] += (int64_t)len;
	}
}

/* Gives the rows of a range new fields, if all are mapped. */
static int changed(uint64_t first, uint64_t len, uint64_t clear, uint64_t set)
{
	uint64_t i;

	for (i = first; i < first + len; i++)
		if (i >= PAGES || rows[i] == 0)
			return -ENOMEM;
	for (i = first; i < first + len; i++)
		rows[i] = (rows[i] & ~clear) | set;
	return 0;
}

static void random_change(struct furlong_vmspace *space, uint64_t first, uint64_t len)
{
	uint64_t prot = below(8), own = UINT64_C(0x100) << below(2);
	uint64_t at = first * PAGE, bytes = len * PAGE - below(PAGE);
	int answer;

	switch (below(5)) {
	case 0:
		answer = furlong_vmspace_protect(space, at, bytes, prot, COUNTS);
		EQUAL(answer, changed(first, len, 0x700, prot << 8));
		break;
	case 1:
		answer = furlong_vmspace_advise(space, at, bytes, FURLONG_VMSPACE_MADV_DONTFORK, COUNTS);
		EQUAL(answer, changed(first, len, 0, FURLONG_VMSPACE_AREA_DONTCOPY << 16));
		break;
	case 2:
		answer = furlong_vmspace_advise(space, at, bytes, FURLONG_VMSPACE_MADV_DOFORK, COUNTS);
		EQUAL(answer, changed(first, len, FURLONG_VMSPACE_AREA_DONTCOPY << 16, 0));
		break;
	case 3:
		answer = furlong_vmspace_update(space, at, bytes, (uint32_t)own, 0, COUNTS);
		EQUAL(answer, changed(first, len, own << 16, 0));
		break;
	default:
		answer = furlong_vmspace_update(space, at, bytes, 0, (uint32_t)own, COUNTS);
		EQUAL(answer, changed(first, len, 0, own << 16));
	}
}

static void cut_off(uint64_t first, uint64_t len)
{
	if (first < PAGES)
		fill(first, len < PAGES - first ? len : PAGES - first, 0);
}

static void random_remap(struct furlong_vmspace *space, uint64_t first, uint64_t old_len,
			 uint64_t new_len)
{
	uint64_t old = rows[first], at, to, run = same_from(first, PAGES);
	uint64_t may = below(2);
	int answer = furlong_vmspace_remap(space, first * PAGE, old_len * PAGE, new_len * PAGE, may, 0,
					   &at, COUNTS);

	if (old == 0) {
		EQUAL(answer, -EFAULT);
	} else if (new_len <= old_len) {
		if (new_len < old_len && first + old_len > PAGES) {
			EQUAL(answer, -EINVAL);
			return;
		}
		FINE(answer);
		EQUAL(at, first * PAGE);
		cut_off(first + new_len, old_len - new_len);
	} else if (old_len > run) {
		EQUAL(answer, -EFAULT);
	} else if (old_len == run && is_free(first + old_len, new_len - old_len)) {
		FINE(answer);
		EQUAL(at, first * PAGE);
		fill(first + old_len, new_len - old_len, old);
		pages_of[old & 0xff] += (int64_t)(new_len - old_len);
	} else if (!may || (to = place(new_len)) == 0) {
		EQUAL(answer, -ENOMEM);
	} else {
		FINE(answer);
		EQUAL(at, to * PAGE);
		fill(first, old_len, 0);
		/* Each page keeps its offset. */
		fill(to, new_len, (old & 0xffffffff) | ((old >> 32) + first - to) << 32);
		pages_of[old & 0xff] += (int64_t)new_len;
	}
}

/* Goes on with a child. */
static struct furlong_vmspace *forked(struct furlong_vmspace *parent)
{
	struct furlong_vmspace *child;
	uint64_t i;

	FINE(furlong_vmspace_fork(parent, &child, NULL, NULL, NULL));
	furlong_vmspace_destroy(parent);
	for (i = 0; i < PAGES; i++) {
		if (rows[i] & FURLONG_VMSPACE_AREA_DONTCOPY << 16) {
			pages_of[rows[i] & 0xff]--;
			rows[i] = 0;
		}
	}
	return child;
}

static void compare(const struct furlong_vmspace *space)
{
	struct furlong_vmspace_area area;
	int64_t pages[4] = {0, 0, 0, 0};
	uint64_t i, areas = 0;

	for (i = 0; i < PAGES; i++) {
		int answer = furlong_vmspace_find(space, i * PAGE + i, &area);

		if (rows[i] == 0) {
			EQUAL(answer, -ENOENT);
			continue;
		}
		FINE(answer);
		CHECK(rows[i] == row(area.value, area.prot, area.flags,
				     area.offset / PAGE - area.start / PAGE));
		pages[rows[i] & 0xff]++;
		areas += i == 0 || rows[i - 1] != rows[i];
	}
	EQUAL(furlong_vmspace_len(space), areas);
	for (i = 1; i < 4; i++)
		EQUAL(pages_of[i], pages[i]);
	FINE(furlong_vmspace_check(space));
}

static void does_what_a_table_does(uint32_t direction)
{
	struct furlong_vmspace_layout layout;
	struct furlong_vmspace *space;
	uint64_t first, len;
	int i;

	FINE(furlong_vmspace_layout(&layout));
	layout.low = layout.bottom = PAGE;
	layout.last = layout.top = PAGES * PAGE - 1;
	layout.direction = direction;
	FINE(furlong_vmspace_create(&space, &layout));
	memset(rows, 0, sizeof rows);
	memset(pages_of, 0, sizeof pages_of);
	is_upwards = direction == FURLONG_VMSPACE_BOTTOM_UP;
	state = 1 + direction;
	for (i = 0; i < STEPS; i++) {
		first = below(PAGES);
		len = 1 + below(12);
		switch (below(10)) {
		case 0:
		case 1:
		case 2: random_map(space, first, len); break;
		case 3:
			EQUAL(furlong_vmspace_unmap(space, first * PAGE, len * PAGE, COUNTS),
			      first + len > PAGES ? -EINVAL : 0);
			if (first + len <= PAGES)
				cut_off(first, len);
			break;
		case 4:
		case 5: random_remap(space, first, 1 + below(8), 1 + below(8)); break;
		case 6: if (below(40) == 0)
				space = forked(space);
			break;
		default: random_change(space, first, len);
		}
		compare(space);
	}
	FINE(furlong_vmspace_clear(space, COUNTS));
	memset(rows, 0, sizeof rows);
	compare(space);
	furlong_vmspace_destroy(space);
}

int main(void)
{
	does_what_a_table_does(FURLONG_VMSPACE_TOP_DOWN);
	does_what_a_table_does(FURLONG_VMSPACE_BOTTOM_UP);
	return done("vmspace as a table");
}

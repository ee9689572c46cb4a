/* A heap that fails: each call returns -ENOMEM or succeeds, and nothing leaks or breaks. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"

static long until_failure, living;

void *furlong_port_allocate(size_t size, size_t align)
{
	void *memory = NULL;

	if (until_failure-- == 0)
		return NULL;
	if (align < sizeof(void *))
		align = sizeof(void *);
	if (posix_memalign(&memory, align, size) != 0)
		return NULL;
	living++;
	return memory;
}

void furlong_port_free(void *memory, size_t size, size_t align)
{
	(void)size;
	(void)align;
	living--;
	free(memory);
}

void furlong_port_panic(const uint8_t *message, size_t len)
{
	fwrite(message, 1, len, stderr);
	abort();
}

/* True if the call succeeded; otherwise it was out of memory. */
static int is_done(int answer)
{
	CHECK(answer == 0 || answer == -ENOMEM);
	return answer == 0;
}

static void with_a_map(void)
{
	struct furlong_maple *map, *twin;
	uint64_t at, stored = 0;

	if (!is_done(furlong_maple_create(&map)))
		return;
	for (at = 0; at < 100; at++)
		stored += is_done(furlong_maple_insert(map, at * 4, at * 4 + 1, &living, NULL));
	EQUAL(furlong_maple_len(map), stored);
	if (is_done(furlong_maple_duplicate(map, &twin))) {
		EQUAL(furlong_maple_len(twin), stored);
		furlong_maple_destroy(twin);
	}
	FINE(furlong_maple_check(map));
	furlong_maple_destroy(map);
}

static void with_a_space(void)
{
	struct furlong_iova *space;
	uint64_t at, reserved = 0;

	if (!is_done(furlong_iova_create(&space, 0, 0xffffffff, 4096)))
		return;
	for (at = 0; at < 100; at++)
		reserved += is_done(furlong_iova_reserve_at(space, at * 4096, at * 4096 + 4095, NULL));
	EQUAL(furlong_iova_len(space), reserved);
	FINE(furlong_iova_check(space));
	furlong_iova_destroy(space);
}

static void with_a_table(void)
{
	struct furlong_phys *table;
	struct furlong_phys_reader *reader;
	uint64_t at, plugged = 0;

	if (!is_done(furlong_phys_create(&table)))
		return;
	for (at = 0; at < 50; at++)
		plugged += is_done(furlong_phys_plug(table, at * 16, at * 16 + 7));
	EQUAL(furlong_phys_len(table), plugged);
	if (is_done(furlong_phys_start(table, NULL)))
		EQUAL(furlong_phys_managed(table), plugged * 8);
	if (is_done(furlong_phys_reader_create(table, &reader)))
		furlong_phys_reader_destroy(reader);
	FINE(furlong_phys_check(table));
	furlong_phys_destroy(table);
}

#define AREAS 120

static struct furlong_vmspace_area areas[2][AREAS];
static uint64_t reports;
static int kind;

static void reported(void *context, const struct furlong_vmspace_freed *item)
{
	(void)context;
	(void)item;
	reports++;
}

static int copied(void *context, const struct furlong_vmspace_area *area, uint64_t *value)
{
	(void)area;
	++*value;
	++*(uint64_t *)context;
	return 0;
}

/* Writes the areas of a space, and returns their number. */
static size_t listed(const struct furlong_vmspace *space, struct furlong_vmspace_area *list)
{
	uint64_t at = 0;
	size_t n = 0;

	while (furlong_vmspace_next(space, at, &list[n]) == 0) {
		at = list[n++].last + 1;
		CHECK(n < AREAS);
	}
	EQUAL(n, furlong_vmspace_len(space));
	return n;
}

/* A change of this kind, each in an area of its own. It may cut, merge or add areas. */
static int change(struct furlong_vmspace *space, int number)
{
	uint64_t at, mapped = 0x100000 + (uint64_t)number * 0x8000;

	switch (kind) {
	case 0: return furlong_vmspace_protect(space, mapped + 0x1000, 0x1000, 1, reported, NULL);
	case 1: return furlong_vmspace_unmap(space, mapped + 0x1000, 0x1000, reported, NULL);
	case 2: return furlong_vmspace_advise(space, mapped + 0x1000, 0x1000,
					      FURLONG_VMSPACE_MADV_DONTFORK, reported, NULL);
	case 3: return furlong_vmspace_update(space, mapped, 0x1000, 0, 0x100, reported, NULL);
	case 4: return furlong_vmspace_remap(space, mapped + 0x1000, 0x1000, 0x3000, 1, 0, &at, reported,
					     NULL);
	case 5: return furlong_vmspace_remap(space, mapped, 0x2000, 0x2000, 3, mapped - 0x7000, &at,
					     reported, NULL);
	case 6: return furlong_vmspace_mmap(space, mapped + 0x1000, 0x1000, 1, 0x32, 0, 7, &at, reported,
					    NULL);
	default: return furlong_vmspace_set_brk(space, furlong_vmspace_brk(space) + 0x1000,
						(uint64_t)number, reported, NULL);
	}
}

static void with_a_process(void)
{
	struct furlong_vmspace *space, *child;
	uint64_t at, copies = 0;
	size_t n, i;
	int number, answer, is_made;

	if (!is_done(furlong_vmspace_create(&space, NULL)))
		return;
	FINE(furlong_vmspace_start_brk(space, 0x8000000));
	for (number = 0; number < 32; number++)
		(void)is_done(furlong_vmspace_mmap(space, 0x100000 + (uint64_t)number * 0x8000, 0x3000, 3,
						   0x32, 0, (uint64_t)number, &at, reported, NULL));
	EQUAL(reports, 0);
	for (number = 0; number < 32; number++) {
		uint64_t pages = furlong_vmspace_pages(space, 0), end = furlong_vmspace_brk(space);

		n = listed(space, areas[0]);
		answer = change(space, number);
		is_made = answer == 0;
		/* With an area missing, a call may also be refused for that. */
		CHECK(is_made || answer == -ENOMEM || answer == -EAGAIN || answer == -EFAULT);
		FINE(furlong_vmspace_check(space));
		if (is_made) {
			reports = 0;
			continue;
		}
		EQUAL(reports, 0);
		EQUAL(furlong_vmspace_pages(space, 0), pages);
		EQUAL(furlong_vmspace_brk(space), end);
		EQUAL(listed(space, areas[1]), n);
		for (i = 0; i < n; i++) {
			CHECK(areas[0][i].start == areas[1][i].start);
			CHECK(areas[0][i].last == areas[1][i].last);
			CHECK(areas[0][i].offset == areas[1][i].offset);
			CHECK(areas[0][i].value == areas[1][i].value);
			CHECK(areas[0][i].prot == areas[1][i].prot);
			CHECK(areas[0][i].flags == areas[1][i].flags);
		}
	}
	(void)is_done(furlong_vmspace_prepare(space, 50));
	if (is_done(furlong_vmspace_fork(space, &child, copied, reported, &copies))) {
		EQUAL(furlong_vmspace_len(child), copies);
		FINE(furlong_vmspace_check(child));
		furlong_vmspace_destroy(child);
	} else {
		EQUAL(copies, 0);
	}
	FINE(furlong_vmspace_clear(space, NULL, NULL));
	/* The same, without the areas that a fork leaves out. */
	if (is_done(furlong_vmspace_fork(space, &child, copied, reported, &copies)))
		furlong_vmspace_destroy(child);
	furlong_vmspace_destroy(space);
}

static void with_a_pool(void)
{
	struct furlong_bounce_plan plan;
	struct furlong_bounce_limits limits;
	struct furlong_bounce *pool;
	struct furlong_bounce_device *disk;

	FINE(furlong_bounce_plan(&plan, 512, 4));
	FINE(furlong_bounce_limits(&limits));
	if (!is_done(furlong_bounce_create(&pool, &plan)))
		return;
	if (is_done(furlong_bounce_device_create(pool, 1, &limits, &disk)))
		FINE(furlong_bounce_device_destroy(pool, disk));
	FINE(furlong_bounce_check(pool));
	furlong_bounce_destroy(pool);
}

static void fail_each(void (*work)(void))
{
	long failing = 0;

	do {
		until_failure = failing++;
		work();
		EQUAL(living, 0);
	} while (until_failure < 0);
	CHECK(failing > 2);
}

int main(void)
{
	fail_each(with_a_map);
	fail_each(with_a_space);
	fail_each(with_a_table);
	for (kind = 0; kind < 8; kind++)
		fail_each(with_a_process);
	fail_each(with_a_pool);
	return done("failing heap");
}

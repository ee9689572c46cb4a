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
	fail_each(with_a_pool);
	return done("failing heap");
}

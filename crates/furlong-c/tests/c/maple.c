/* The map: each function with valid and with invalid arguments. */

#include "check.h"

static int words[16];

#define ENTRY(n) ((void *)&words[n])

static struct furlong_maple *map_of(uint64_t count)
{
	struct furlong_maple *map;
	uint64_t at;

	FINE(furlong_maple_create(&map));
	for (at = 0; at < count; at++)
		FINE(furlong_maple_insert(map, at * 0x100, at * 0x100 + 0x7f, ENTRY(at % 16), NULL));
	FINE(furlong_maple_check(map));
	return map;
}

static void refuses_null(void)
{
	struct furlong_maple *map = map_of(1);
	struct furlong_maple_cursor cursor = {0, 0, 0, 0};
	struct furlong_maple_entry entry;
	struct furlong_extent gap;

	EQUAL(furlong_maple_create(NULL), -EINVAL);
	EQUAL(furlong_maple_duplicate(NULL, &map), -EINVAL);
	EQUAL(furlong_maple_duplicate(map, NULL), -EINVAL);
	EQUAL(furlong_maple_len(NULL), 0);
	EQUAL(furlong_maple_clear(NULL), -EINVAL);
	EQUAL(furlong_maple_insert(NULL, 0, 1, ENTRY(0), NULL), -EINVAL);
	EQUAL(furlong_maple_insert(map, 0x1000, 0x1001, NULL, NULL), -EINVAL);
	EQUAL(furlong_maple_store(NULL, 0, 1, ENTRY(0), NULL, 0, NULL), -EINVAL);
	EQUAL(furlong_maple_store(map, 0, 1, NULL, NULL, 0, NULL), -EINVAL);
	EQUAL(furlong_maple_erase(NULL, 0, NULL), -EINVAL);
	EQUAL(furlong_maple_erase_range(NULL, 0, 1, NULL, 0, NULL), -EINVAL);
	EQUAL(furlong_maple_resize(NULL, 0, 0, 1, NULL), -EINVAL);
	CHECK(furlong_maple_load(NULL, 0) == NULL);
	EQUAL(furlong_maple_walk(NULL, 0, &entry), -EINVAL);
	EQUAL(furlong_maple_walk(map, 0, NULL), -EINVAL);
	EQUAL(furlong_maple_find(NULL, 0, &entry), -EINVAL);
	EQUAL(furlong_maple_find(map, 0, NULL), -EINVAL);
	EQUAL(furlong_maple_find_back(NULL, 0, &entry), -EINVAL);
	EQUAL(furlong_maple_find_back(map, 0, NULL), -EINVAL);
	EQUAL(furlong_maple_next(NULL, &cursor, &entry), -EINVAL);
	EQUAL(furlong_maple_next(map, NULL, &entry), -EINVAL);
	EQUAL(furlong_maple_next(map, &cursor, NULL), -EINVAL);
	EQUAL(furlong_maple_prev(NULL, &cursor, &entry), -EINVAL);
	EQUAL(furlong_maple_next_place(NULL, &cursor, &entry), -EINVAL);
	EQUAL(furlong_maple_prev_place(NULL, &cursor, &entry), -EINVAL);
	EQUAL(furlong_maple_largest_gap(NULL), 0);
	EQUAL(furlong_maple_lowest_gap(NULL, 1, 0, 1, &gap), -EINVAL);
	EQUAL(furlong_maple_lowest_gap(map, 1, 0, 1, NULL), -EINVAL);
	EQUAL(furlong_maple_highest_gap(NULL, 1, 0, 1, &gap), -EINVAL);
	EQUAL(furlong_maple_highest_gap(map, 1, 0, 1, NULL), -EINVAL);
	EQUAL(furlong_maple_prepare(NULL, 1), -EINVAL);
	EQUAL(furlong_maple_trim(NULL), -EINVAL);
	EQUAL(furlong_maple_check(NULL), -EINVAL);
	furlong_maple_destroy(NULL);
	EQUAL(furlong_maple_len(map), 1);
	furlong_maple_destroy(map);
}

static void inserts_and_erases(void)
{
	struct furlong_maple *map = map_of(1000);
	struct furlong_extent conflict = {0, 0};
	struct furlong_maple_entry taken;

	EQUAL(furlong_maple_len(map), 1000);
	CHECK(furlong_maple_load(map, 0x17f) == ENTRY(1));
	CHECK(furlong_maple_load(map, 0x180) == NULL);
	EQUAL(furlong_maple_insert(map, 0x17f, 0x180, ENTRY(0), &conflict), -EEXIST);
	CHECK(conflict.start == 0x100 && conflict.last == 0x17f);
	EQUAL(furlong_maple_insert(map, 0x181, 0x180, ENTRY(0), NULL), -EINVAL);
	EQUAL(furlong_maple_len(map), 1000);
	FINE(furlong_maple_insert(map, UINT64_MAX, UINT64_MAX, (void *)1, NULL));
	CHECK(furlong_maple_load(map, UINT64_MAX) == (void *)1);

	FINE(furlong_maple_erase(map, 0x150, &taken));
	CHECK(taken.start == 0x100 && taken.last == 0x17f && taken.entry == ENTRY(1));
	EQUAL(furlong_maple_erase(map, 0x150, &taken), -ENOENT);
	FINE(furlong_maple_erase(map, UINT64_MAX, NULL));
	EQUAL(furlong_maple_len(map), 999);
	FINE(furlong_maple_check(map));
	FINE(furlong_maple_clear(map));
	EQUAL(furlong_maple_len(map), 0);
	FINE(furlong_maple_check(map));
	furlong_maple_destroy(map);
}

static void stores_over_what_is_there(void)
{
	struct furlong_maple *map = map_of(4);
	struct furlong_maple_entry out[2];
	size_t count = 77;

	/* Two entries lie inside, one reaches in. */
	EQUAL(furlong_maple_store(map, 0x40, 0x2ff, ENTRY(9), out, 1, &count), -ENOBUFS);
	EQUAL(count, 2);
	EQUAL(furlong_maple_len(map), 4);
	CHECK(furlong_maple_load(map, 0x40) == ENTRY(0));
	FINE(furlong_maple_store(map, 0x40, 0x2ff, ENTRY(9), out, 2, &count));
	EQUAL(count, 2);
	CHECK(out[0].start == 0x100 && out[0].entry == ENTRY(1));
	CHECK(out[1].start == 0x200 && out[1].entry == ENTRY(2));
	CHECK(furlong_maple_load(map, 0x3f) == ENTRY(0));
	CHECK(furlong_maple_load(map, 0x40) == ENTRY(9));
	EQUAL(furlong_maple_len(map), 3);
	EQUAL(furlong_maple_store(map, 2, 1, ENTRY(9), NULL, 0, NULL), -EINVAL);

	/* A hole in the middle leaves the entry on both sides. */
	FINE(furlong_maple_erase_range(map, 0x80, 0x8f, NULL, 0, &count));
	EQUAL(count, 0);
	CHECK(furlong_maple_load(map, 0x7f) == ENTRY(9) && furlong_maple_load(map, 0x90) == ENTRY(9));
	CHECK(furlong_maple_load(map, 0x88) == NULL);
	EQUAL(furlong_maple_erase_range(map, 0, UINT64_MAX, out, 2, &count), -ENOBUFS);
	EQUAL(count, 4);
	EQUAL(furlong_maple_erase_range(map, 1, 0, NULL, 0, NULL), -EINVAL);
	FINE(furlong_maple_check(map));
	FINE(furlong_maple_erase_range(map, 0, UINT64_MAX, NULL, 0, &count));
	EQUAL(count, 4);
	EQUAL(furlong_maple_len(map), 0);
	furlong_maple_destroy(map);
}

static void resizes(void)
{
	struct furlong_maple *map = map_of(3);
	struct furlong_extent conflict;

	FINE(furlong_maple_resize(map, 0x100, 0xc0, 0x1ff, NULL));
	CHECK(furlong_maple_load(map, 0xc0) == ENTRY(1) && furlong_maple_load(map, 0x1ff) == ENTRY(1));
	EQUAL(furlong_maple_resize(map, 0x100, 0xc0, 0x200, &conflict), -EEXIST);
	CHECK(conflict.start == 0x200 && conflict.last == 0x27f);
	EQUAL(furlong_maple_resize(map, 0x100, 0x110, 0x120, &conflict), -EEXIST);
	EQUAL(furlong_maple_resize(map, 0x90, 0x90, 0x91, NULL), -ENOENT);
	EQUAL(furlong_maple_resize(map, 0x100, 0x101, 0x100, NULL), -EINVAL);
	FINE(furlong_maple_check(map));
	furlong_maple_destroy(map);
}

static void looks(void)
{
	struct furlong_maple *map = map_of(100), *twin;
	struct furlong_maple_entry found;

	FINE(furlong_maple_walk(map, 0x120, &found));
	CHECK(found.start == 0x100 && found.last == 0x17f && found.entry == ENTRY(1));
	FINE(furlong_maple_walk(map, 0x190, &found));
	CHECK(found.start == 0x180 && found.last == 0x1ff && found.entry == NULL);
	FINE(furlong_maple_walk(map, UINT64_MAX, &found));
	CHECK(found.start == 0x6380 && found.last == UINT64_MAX && found.entry == NULL);
	FINE(furlong_maple_find(map, 0x180, &found));
	EQUAL(found.start, 0x200);
	EQUAL(furlong_maple_find(map, 0x6380, &found), -ENOENT);
	FINE(furlong_maple_find_back(map, 0x180, &found));
	EQUAL(found.start, 0x100);
	FINE(furlong_maple_erase(map, 0, NULL));
	EQUAL(furlong_maple_find_back(map, 0xff, &found), -ENOENT);

	FINE(furlong_maple_duplicate(map, &twin));
	FINE(furlong_maple_clear(map));
	EQUAL(furlong_maple_len(twin), 99);
	CHECK(furlong_maple_load(twin, 0x110) == ENTRY(1));
	FINE(furlong_maple_check(twin));
	furlong_maple_destroy(twin);
	furlong_maple_destroy(map);
}

static void goes_through(void)
{
	struct furlong_maple *map = map_of(100);
	struct furlong_maple_cursor cursor = {0, 0, 0, 0};
	struct furlong_maple_entry found;
	uint64_t seen = 0;

	/* An entry may be erased after it was found. */
	while (furlong_maple_next(map, &cursor, &found) == 0) {
		EQUAL(found.start, seen * 0x100);
		if (seen++ % 2 == 1)
			FINE(furlong_maple_erase(map, cursor.start, NULL));
	}
	EQUAL(seen, 100);
	EQUAL(furlong_maple_len(map), 50);
	EQUAL(furlong_maple_next(map, &cursor, &found), -ENOENT);
	/* Downwards it begins with its own range, whose entry is gone. */
	for (seen = 0; furlong_maple_prev(map, &cursor, &found) == 0; seen++)
		EQUAL(found.start, (98 - 2 * seen) * 0x100);
	EQUAL(seen, 50);
	FINE(furlong_maple_next(map, &cursor, &found));
	EQUAL(found.start, 0);

	cursor = (struct furlong_maple_cursor){0x210, 0x210, 0, 0};
	FINE(furlong_maple_next(map, &cursor, &found));
	CHECK(found.start == 0x200 && cursor.last == 0x27f);
	FINE(furlong_maple_next_place(map, &cursor, &found));
	CHECK(found.start == 0x280 && found.last == 0x3ff && found.entry == NULL);
	FINE(furlong_maple_prev_place(map, &cursor, &found));
	CHECK(found.start == 0x200 && found.entry == ENTRY(2));
	cursor = (struct furlong_maple_cursor){0, UINT64_MAX, 1, 1};
	EQUAL(furlong_maple_next_place(map, &cursor, &found), -ENOENT);
	/* A downward search now begins with the range itself. */
	CHECK(cursor.start == 0 && cursor.last == UINT64_MAX);
	FINE(furlong_maple_prev_place(map, &cursor, &found));
	CHECK(found.last == UINT64_MAX && found.entry == NULL);
	cursor = (struct furlong_maple_cursor){0, UINT64_MAX, 1, 1};
	EQUAL(furlong_maple_prev_place(map, &cursor, &found), -ENOENT);
	FINE(furlong_maple_next_place(map, &cursor, &found));
	CHECK(found.start == 0 && found.entry == ENTRY(0));
	cursor = (struct furlong_maple_cursor){0, UINT64_MAX, 1, 1};
	EQUAL(furlong_maple_prev(map, &cursor, &found), -ENOENT);

	cursor = (struct furlong_maple_cursor){2, 1, 0, 0};
	EQUAL(furlong_maple_next(map, &cursor, &found), -EINVAL);
	EQUAL(furlong_maple_prev(map, &cursor, &found), -EINVAL);
	cursor = (struct furlong_maple_cursor){1, 2, 7, 0};
	EQUAL(furlong_maple_next_place(map, &cursor, &found), -EINVAL);
	cursor = (struct furlong_maple_cursor){1, 2, 0, 7};
	EQUAL(furlong_maple_prev_place(map, &cursor, &found), -EINVAL);
	furlong_maple_destroy(map);
}

static void finds_gaps(void)
{
	struct furlong_maple *map;
	struct furlong_extent gap;

	FINE(furlong_maple_create(&map));
	CHECK(furlong_maple_largest_gap(map) == UINT64_MAX);
	FINE(furlong_maple_insert(map, 0x1000, 0x1fff, ENTRY(0), NULL));
	FINE(furlong_maple_insert(map, 0x3000, UINT64_MAX, ENTRY(1), NULL));
	EQUAL(furlong_maple_largest_gap(map), 0x1000);
	FINE(furlong_maple_lowest_gap(map, 0x800, 0, UINT64_MAX, &gap));
	CHECK(gap.start == 0 && gap.last == 0x7ff);
	FINE(furlong_maple_highest_gap(map, 0x800, 0, UINT64_MAX, &gap));
	CHECK(gap.start == 0x2800 && gap.last == 0x2fff);
	EQUAL(furlong_maple_lowest_gap(map, 0x1001, 0, UINT64_MAX, &gap), -ENOSPC);
	EQUAL(furlong_maple_highest_gap(map, 0x1001, 0, UINT64_MAX, &gap), -ENOSPC);
	EQUAL(furlong_maple_lowest_gap(map, 0, 0, UINT64_MAX, &gap), -EINVAL);
	EQUAL(furlong_maple_highest_gap(map, 0, 0, UINT64_MAX, &gap), -EINVAL);
	EQUAL(furlong_maple_lowest_gap(map, 1, 1, 0, &gap), -EINVAL);
	EQUAL(furlong_maple_highest_gap(map, 1, 1, 0, &gap), -EINVAL);
	furlong_maple_destroy(map);
}

static void reserves_nodes(void)
{
	struct furlong_maple *map = map_of(0);
	uint64_t at;

	FINE(furlong_maple_prepare(map, 200));
	for (at = 0; at < 200; at++)
		FINE(furlong_maple_store(map, at, at, ENTRY(at % 16), NULL, 0, NULL));
	FINE(furlong_maple_trim(map));
	FINE(furlong_maple_check(map));
	EQUAL(furlong_maple_len(map), 200);
	furlong_maple_destroy(map);
}

int main(void)
{
	refuses_null();
	inserts_and_erases();
	stores_over_what_is_there();
	resizes();
	looks();
	goes_through();
	finds_gaps();
	reserves_nodes();
	return done("maple");
}

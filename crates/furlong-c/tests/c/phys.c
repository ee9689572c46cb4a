/* Physical segments: each function with valid and with invalid arguments. */

#include "check.h"

/* Two segments, 0x100-0xfff and 0x2000-0x2fff. */
static struct furlong_phys *table_of_two(void)
{
	struct furlong_phys *table;

	FINE(furlong_phys_create(&table));
	FINE(furlong_phys_plug(table, 0x100, 0xfff));
	FINE(furlong_phys_plug(table, 0x2000, 0x2fff));
	return table;
}

static void refuses_null(void)
{
	struct furlong_phys *table = table_of_two();
	struct furlong_phys_segment segment;
	struct furlong_phys_reader *reader;
	uint64_t frame;
	char memory[64];

	EQUAL(furlong_phys_create(NULL), -EINVAL);
	EQUAL(furlong_phys_create_in(NULL, memory, sizeof memory), -EINVAL);
	EQUAL(furlong_phys_create_in(&table, NULL, 1 << 20), -EINVAL);
	EQUAL(furlong_phys_donate(NULL, memory, sizeof memory), -EINVAL);
	EQUAL(furlong_phys_donate(table, NULL, 64), -EINVAL);
	EQUAL(furlong_phys_donate(table, memory, SIZE_MAX), -EINVAL);
	EQUAL(furlong_phys_sweep(NULL), -EINVAL);
	EQUAL(furlong_phys_memory_bytes(NULL), 0);
	EQUAL(furlong_phys_check(NULL), -EINVAL);
	EQUAL(furlong_phys_plug(NULL, 0, 1), -EINVAL);
	EQUAL(furlong_phys_len(NULL), 0);
	EQUAL(furlong_phys_managed(NULL), 0);
	EQUAL(furlong_phys_get(NULL, 0x100, &segment), -EINVAL);
	EQUAL(furlong_phys_get(table, 0x100, NULL), -EINVAL);
	EQUAL(furlong_phys_first(NULL, &segment), -EINVAL);
	EQUAL(furlong_phys_first(table, NULL), -EINVAL);
	EQUAL(furlong_phys_next(NULL, 0, &segment), -EINVAL);
	EQUAL(furlong_phys_next(table, 0, NULL), -EINVAL);
	EQUAL(furlong_phys_set_avail(NULL, 0x100, 0x100, 0), -EINVAL);
	EQUAL(furlong_phys_set_start_hint(NULL, 0x100, 0), -EINVAL);
	EQUAL(furlong_phys_set_node(NULL, 0x100, 0), -EINVAL);
	EQUAL(furlong_phys_set_user(NULL, 0x100, 0), -EINVAL);
	EQUAL(furlong_phys_steal(NULL, 0, &frame), -EINVAL);
	EQUAL(furlong_phys_steal(table, 0, NULL), -EINVAL);
	EQUAL(furlong_phys_start(NULL, NULL), -EINVAL);
	EQUAL(furlong_phys_is_started(NULL), 0);
	EQUAL(furlong_phys_unplug(NULL, 0, 1), -EINVAL);
	EQUAL(furlong_phys_isolate(NULL, 0, 1), -EINVAL);
	EQUAL(furlong_phys_remove(NULL, 0), -EINVAL);
	EQUAL(furlong_phys_abort(NULL, 0), -EINVAL);
	EQUAL(furlong_phys_reader_create(NULL, &reader), -EINVAL);
	EQUAL(furlong_phys_reader_create(table, NULL), -EINVAL);
	EQUAL(furlong_phys_reader_create_in(NULL, &reader, memory, sizeof memory), -EINVAL);
	EQUAL(furlong_phys_reader_create_in(table, NULL, memory, sizeof memory), -EINVAL);
	EQUAL(furlong_phys_reader_create_in(table, &reader, NULL, 64), -EINVAL);
	EQUAL(furlong_phys_reader_create_in(table, &reader, memory, 3), -ENOMEM);
	furlong_phys_reader_destroy(NULL);
	EQUAL(furlong_phys_enter(NULL), -EINVAL);
	EQUAL(furlong_phys_leave(NULL), -EINVAL);
	EQUAL(furlong_phys_find(NULL, 0, NULL), -EINVAL);
	CHECK(furlong_phys_page(NULL, 0) == NULL);
	EQUAL(furlong_phys_pin(NULL), -EINVAL);
	EQUAL(furlong_phys_unpin(NULL), -EINVAL);
	furlong_phys_destroy(NULL);
	EQUAL(furlong_phys_len(table), 2);
	furlong_phys_destroy(table);
}

static void plugs_and_tells(void)
{
	struct furlong_phys *table = table_of_two();
	struct furlong_phys_segment segment;
	int answer, seen = 0;

	EQUAL(furlong_phys_plug(table, 0xfff, 0x1fff), -EEXIST);
	EQUAL(furlong_phys_plug(table, 0x1001, 0x1000), -EINVAL);
	EQUAL(furlong_phys_plug(table, 0x3000, UINT64_C(1) << 40), -EFBIG);
	FINE(furlong_phys_plug(table, 0x1000, 0x1000));

	FINE(furlong_phys_set_avail(table, 0x200, 0, 0));
	FINE(furlong_phys_set_avail(table, 0x200, 0x180, 0x80));
	FINE(furlong_phys_set_start_hint(table, 0x200, 0x80));
	FINE(furlong_phys_set_node(table, 0x200, 3));
	FINE(furlong_phys_set_user(table, 0x200, 77));
	FINE(furlong_phys_get(table, 0xfff, &segment));
	CHECK(segment.start == 0x100 && segment.last == 0xfff);
	CHECK(segment.avail_start == 0x180 && segment.avail_len == 0x80);
	CHECK(segment.start_hint == 0x80 && segment.node == 3 && segment.user == 77);
	EQUAL(furlong_phys_set_avail(table, 0x200, 0x200, UINT64_MAX), -EINVAL);
	EQUAL(furlong_phys_set_avail(table, 0x200, 0x180, 0xe81), -EINVAL);
	EQUAL(furlong_phys_set_start_hint(table, 0x200, 0x81), -ERANGE);
	EQUAL(furlong_phys_set_avail(table, 0x50, 0x50, 1), -ENOENT);
	EQUAL(furlong_phys_set_start_hint(table, 0x50, 0), -ENOENT);
	EQUAL(furlong_phys_set_node(table, 0x50, 0), -ENOENT);
	EQUAL(furlong_phys_set_user(table, 0x50, 0), -ENOENT);
	EQUAL(furlong_phys_get(table, 0x1001, &segment), -ENOENT);

	for (answer = furlong_phys_first(table, &segment); answer == 0;
	     answer = furlong_phys_next(table, segment.last, &segment))
		seen++;
	EQUAL(answer, -ENOENT);
	CHECK(seen == 3 && segment.start == 0x2000);
	FINE(furlong_phys_next(table, 0x1800, &segment));
	EQUAL(segment.start, 0x2000);
	EQUAL(furlong_phys_next(table, UINT64_MAX, &segment), -ENOENT);
	FINE(furlong_phys_check(table));
	furlong_phys_destroy(table);
}

static void steals_until_it_starts(void)
{
	struct furlong_phys *table;
	struct furlong_phys_segment segment;
	uint64_t frame, available;

	FINE(furlong_phys_create(&table));
	EQUAL(furlong_phys_first(table, &segment), -ENOENT);
	FINE(furlong_phys_plug(table, 0x10, 0x11));
	EQUAL(furlong_phys_steal(table, 1, &frame), -ENOENT);
	FINE(furlong_phys_steal(table, 0, &frame));
	EQUAL(frame, 0x10);
	EQUAL(furlong_phys_steal(table, 0, &frame), -EPERM);
	EQUAL(furlong_phys_unplug(table, 0x11, 0x11), -EPERM);
	EQUAL(furlong_phys_isolate(table, 0x11, 0x11), -ENXIO);
	EQUAL(furlong_phys_managed(table), 0);
	EQUAL(furlong_phys_is_started(table), 0);
	FINE(furlong_phys_start(table, &available));
	EQUAL(available, 1);
	EQUAL(furlong_phys_is_started(table), 1);
	EQUAL(furlong_phys_managed(table), 1);
	EQUAL(furlong_phys_start(table, NULL), -EALREADY);
	EQUAL(furlong_phys_steal(table, 0, &frame), -EALREADY);
	CHECK(furlong_phys_memory_bytes(table) > 0);
	FINE(furlong_phys_check(table));
	furlong_phys_destroy(table);
}

static void readers_find_pages(void)
{
	struct furlong_phys *table = table_of_two();
	struct furlong_phys_reader *reader, *readers[64];
	struct furlong_phys_page *page;
	uint64_t offset;
	int i;

	FINE(furlong_phys_reader_create(table, &reader));
	EQUAL(furlong_phys_find(reader, 0x103, &offset), -EPERM);
	EQUAL(furlong_phys_leave(reader), -EPERM);
	FINE(furlong_phys_enter(reader));
	EQUAL(furlong_phys_find(reader, 0x103, &offset), -ENOENT);
	FINE(furlong_phys_start(table, NULL));
	FINE(furlong_phys_find(reader, 0x103, &offset));
	EQUAL(offset, 3);
	FINE(furlong_phys_find(reader, 0x103, NULL));
	EQUAL(furlong_phys_find(reader, 0x1000, &offset), -ENOENT);
	EQUAL(furlong_phys_find(reader, UINT64_MAX, &offset), -ENOENT);
	page = furlong_phys_page(reader, 0x2345678);
	CHECK(page != NULL);
	EQUAL(page->frame, 0x2345);
	EQUAL(page->pins, 0);
	for (i = 0; i < 6; i++)
		EQUAL(page->words[i], 0);
	page->words[5] = 99;
	EQUAL(furlong_phys_page(reader, 0x2345000)->words[5], 99);
	CHECK(furlong_phys_page(reader, 0x1000000) == NULL);
	CHECK(furlong_phys_page(reader, UINT64_MAX) == NULL);

	/* A reader leaves as often as it has entered. */
	FINE(furlong_phys_enter(reader));
	FINE(furlong_phys_leave(reader));
	FINE(furlong_phys_find(reader, 0x103, NULL));
	FINE(furlong_phys_leave(reader));
	EQUAL(furlong_phys_find(reader, 0x103, NULL), -EPERM);
	CHECK(furlong_phys_page(reader, 0x2345678) == NULL);

	for (i = 0; i < 63; i++)
		FINE(furlong_phys_reader_create(table, &readers[i]));
	EQUAL(furlong_phys_reader_create(table, &readers[63]), -EUSERS);
	for (i = 0; i < 63; i++)
		furlong_phys_reader_destroy(readers[i]);
	/* A reader that has entered leaves when it is destroyed. */
	FINE(furlong_phys_enter(reader));
	furlong_phys_reader_destroy(reader);
	FINE(furlong_phys_unplug(table, 0x100, 0x1ff));
	furlong_phys_destroy(table);
}

static void unplugs_in_one_step(void)
{
	struct furlong_phys *table = table_of_two();
	struct furlong_phys_segment segment;

	/* At boot, and after it: the middle of a segment leaves two. */
	FINE(furlong_phys_unplug(table, 0x200, 0x2ff));
	FINE(furlong_phys_start(table, NULL));
	FINE(furlong_phys_unplug(table, 0x400, 0x4ff));
	EQUAL(furlong_phys_len(table), 4);
	FINE(furlong_phys_get(table, 0x300, &segment));
	CHECK(segment.start == 0x300 && segment.last == 0x3ff);
	EQUAL(furlong_phys_unplug(table, 0x401, 0x402), -ENOENT);
	EQUAL(furlong_phys_unplug(table, 0x300, 0x400), -ERANGE);
	EQUAL(furlong_phys_unplug(table, 0x300, 0x2ff), -EINVAL);
	FINE(furlong_phys_unplug(table, 0x100, 0x1ff));
	FINE(furlong_phys_unplug(table, 0x300, 0x3ff));
	FINE(furlong_phys_unplug(table, 0x500, 0xfff));
	EQUAL(furlong_phys_unplug(table, 0x2000, 0x2fff), -EPERM);
	FINE(furlong_phys_plug(table, 0x100, 0x1ff));
	EQUAL(furlong_phys_managed(table), 0x1100);
	FINE(furlong_phys_sweep(table));
	FINE(furlong_phys_check(table));
	furlong_phys_destroy(table);
}

static void unplugs_beside_a_reader(void)
{
	struct furlong_phys *table = table_of_two();
	struct furlong_phys_reader *reader;
	struct furlong_phys_page *page;

	FINE(furlong_phys_start(table, NULL));
	FINE(furlong_phys_reader_create(table, &reader));
	FINE(furlong_phys_enter(reader));
	page = furlong_phys_page(reader, 0x200000);
	CHECK(page != NULL && page->frame == 0x200);
	EQUAL(furlong_phys_unplug(table, 0x200, 0x2ff), -EAGAIN);
	FINE(furlong_phys_find(reader, 0x200, NULL));

	EQUAL(furlong_phys_isolate(table, 0x201, 0x200), -EINVAL);
	FINE(furlong_phys_isolate(table, 0x200, 0x2ff));
	EQUAL(furlong_phys_find(reader, 0x200, NULL), -ENOENT);
	EQUAL(furlong_phys_isolate(table, 0x2ff, 0x300), -EALREADY);
	EQUAL(furlong_phys_unplug(table, 0x2ff, 0x300), -EALREADY);
	EQUAL(furlong_phys_remove(table, 0x200), -EAGAIN);
	EQUAL(page->frame, 0x200);
	FINE(furlong_phys_abort(table, 0x280));
	FINE(furlong_phys_find(reader, 0x200, NULL));
	EQUAL(furlong_phys_abort(table, 0x280), -ENOENT);
	EQUAL(furlong_phys_remove(table, 0x280), -ENOENT);

	FINE(furlong_phys_pin(page));
	FINE(furlong_phys_isolate(table, 0x200, 0x2ff));
	FINE(furlong_phys_leave(reader));
	EQUAL(furlong_phys_remove(table, 0x2ff), -EBUSY);
	FINE(furlong_phys_unpin(page));
	EQUAL(furlong_phys_unpin(page), -EINVAL);
	FINE(furlong_phys_remove(table, 0x2ff));
	EQUAL(furlong_phys_len(table), 3);
	FINE(furlong_phys_check(table));
	furlong_phys_reader_destroy(reader);
	furlong_phys_destroy(table);
}

static void lives_in_memory_that_is_handed_in(void)
{
	static char memory[1 << 17], more[1 << 20], place[256];
	struct furlong_phys *table;
	struct furlong_phys_reader *reader;
	size_t bytes = furlong_phys_bytes();
	uint64_t frame;

	CHECK(bytes > 0 && bytes < sizeof memory);
	EQUAL(furlong_phys_create_in(&table, memory, 8), -ENOMEM);
	EQUAL(furlong_phys_create_in(&table, memory, SIZE_MAX), -EINVAL);
	FINE(furlong_phys_create_in(&table, memory + 1, bytes));
	CHECK((char *)table > memory && (char *)table < memory + sizeof memory);
	for (frame = 0; frame < 32; frame++)
		FINE(furlong_phys_plug(table, frame * 0x10, frame * 0x10 + 7));
	CHECK(furlong_phys_plug(table, 0x1000, 0x1007) < 0);
	EQUAL(furlong_phys_len(table), 32);
	EQUAL(furlong_phys_start(table, NULL), -ENOMEM);
	FINE(furlong_phys_donate(table, more, sizeof more));
	FINE(furlong_phys_plug(table, 0x1000, 0x1007));
	FINE(furlong_phys_start(table, &frame));
	EQUAL(frame, 33 * 8);
	CHECK(furlong_phys_reader_bytes() < sizeof place);
	FINE(furlong_phys_reader_create_in(table, &reader, place + 1, furlong_phys_reader_bytes()));
	FINE(furlong_phys_enter(reader));
	FINE(furlong_phys_find(reader, 0x1007, NULL));
	furlong_phys_reader_destroy(reader);
	memset(place, 0xff, sizeof place);
	FINE(furlong_phys_check(table));
	CHECK(furlong_phys_memory_bytes(table) > 0);
	furlong_phys_destroy(table);
	/* We have the memory back. */
	memset(memory, 0xff, sizeof memory);
	memset(more, 0xff, sizeof more);
	FINE(furlong_phys_create_in(&table, memory, sizeof memory));
	FINE(furlong_phys_plug(table, 0, 7));
	furlong_phys_destroy(table);
}

int main(void)
{
	refuses_null();
	plugs_and_tells();
	steals_until_it_starts();
	readers_find_pages();
	unplugs_in_one_step();
	unplugs_beside_a_reader();
	lives_in_memory_that_is_handed_in();
	return done("phys");
}

/* Hundreds of thousands of invalid arguments: each call returns, and nothing breaks. */

#include "check.h"

#define CALLS 200000

static uint64_t state = 1;

static uint64_t drawn(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Boundary values, and a few between. */
static uint64_t number(void)
{
	static const uint64_t edges[] = {
		0, 1, 2, 7, 0xfff, 0x1000, 0x1fff, 0xffff, 0x10000, 0xffffffff, 0x100000000,
		(UINT64_C(1) << 40) - 1, UINT64_C(1) << 40, INT64_MAX, UINT64_MAX - 1, UINT64_MAX,
	};
	uint64_t at = drawn();

	if (at % 4 == 0)
		return (at >> 8) & 0xffff;
	return edges[(at >> 8) % (sizeof edges / sizeof *edges)];
}

static void answered(int answer)
{
	CHECK(answer <= 0 && answer > -1000);
}

static void asks_a_map(void)
{
	struct furlong_maple_entry found[2];
	struct furlong_maple_cursor cursor;
	struct furlong_extent gap;
	struct furlong_maple *map;
	size_t count;
	int i;

	FINE(furlong_maple_create(&map));
	for (i = 0; i < CALLS; i++) {
		cursor = (struct furlong_maple_cursor){number(), number(), (uint32_t)(drawn() % 3),
						       (uint32_t)(drawn() % 3)};
		switch (drawn() % 12) {
		case 0: answered(furlong_maple_insert(map, number(), number(), found, &gap)); break;
		case 1:
		case 2: answered(furlong_maple_store(map, number(), number(), found, found, 2,
						     &count)); break;
		case 3: answered(furlong_maple_erase(map, number(), found)); break;
		case 4: answered(furlong_maple_erase_range(map, number(), number(), NULL, 7,
							   NULL)); break;
		case 5: answered(furlong_maple_resize(map, number(), number(), number(), &gap)); break;
		case 6: answered(furlong_maple_walk(map, number(), found)); break;
		case 7: answered(furlong_maple_next(map, &cursor, found)); break;
		case 8: answered(furlong_maple_prev(map, &cursor, found)); break;
		case 9: answered(furlong_maple_next_place(map, &cursor, found)); break;
		case 10: answered(furlong_maple_prev_place(map, &cursor, found)); break;
		default: answered(furlong_maple_lowest_gap(map, number(), number(), number(), &gap));
		}
	}
	FINE(furlong_maple_check(map));
	furlong_maple_destroy(map);
}

static void asks_a_space(uint64_t last, uint64_t granule)
{
	struct furlong_iova_request request;
	struct furlong_iova_grant grant;
	struct furlong_iova_owned owned;
	struct furlong_extent gap;
	struct furlong_iova *space;
	size_t count;
	int i;

	FINE(furlong_iova_create(&space, 0, last, granule));
	for (i = 0; i < CALLS; i++) {
		switch (drawn() % 8) {
		case 0:
		case 1:
			request = (struct furlong_iova_request){
				number(), number(), number(), number(), number(), number(), number(),
				number(), number(), number(), number(), (uint32_t)(drawn() % 6),
				(uint32_t)(drawn() % 2)};
			/* Half of the calls may succeed. */
			if (drawn() % 2 == 0) {
				FINE(furlong_iova_request(&request, number()));
				request.policy = (uint32_t)(drawn() % 5);
				request.hint = number();
			}
			answered(furlong_iova_reserve(space, &request, &grant));
			break;
		case 2: answered(furlong_iova_reserve_at(space, number(), number(), &gap)); break;
		case 3: answered(furlong_iova_reserve_fixed(space, number(), number(), &count)); break;
		case 4: answered(furlong_iova_release(space, number(), number())); break;
		case 5: answered(furlong_iova_release_range(space, number(), number(), &count)); break;
		case 6: answered(furlong_iova_next(space, number(), &owned)); break;
		default: answered(furlong_iova_next_free(space, number(), &gap));
		}
	}
	FINE(furlong_iova_check(space));
	furlong_iova_destroy(space);
}

static void asks_a_table(void)
{
	struct furlong_phys_segment segment;
	struct furlong_phys_reader *reader;
	struct furlong_phys *table;
	uint64_t first;
	int i;

	FINE(furlong_phys_create(&table));
	FINE(furlong_phys_plug(table, 0xfff0, 0x10010));
	FINE(furlong_phys_start(table, NULL));
	FINE(furlong_phys_reader_create(table, &reader));
	for (i = 0; i < CALLS; i++) {
		first = number();
		switch (drawn() % 12) {
		/* Few frames at a time, because each gets a descriptor. */
		case 0:
		case 1: answered(furlong_phys_plug(table, first, first + drawn() % 64)); break;
		case 2: answered(furlong_phys_unplug(table, number(), number())); break;
		case 3: answered(furlong_phys_unplug(table, first, first)); break;
		case 4: answered(furlong_phys_isolate(table, first, first + drawn() % 2)); break;
		case 5: answered(furlong_phys_remove(table, first)); break;
		case 6: answered(furlong_phys_abort(table, first)); break;
		case 7: answered(furlong_phys_set_avail(table, number(), number(), number())); break;
		case 8: answered(furlong_phys_set_start_hint(table, number(), number())); break;
		case 9: answered(furlong_phys_next(table, number(), &segment)); break;
		case 10: answered(furlong_phys_enter(reader)); answered(furlong_phys_leave(reader));
			answered(furlong_phys_leave(reader)); break;
		default: answered(furlong_phys_find(reader, number(), NULL));
			(void)furlong_phys_page(reader, number());
		}
	}
	FINE(furlong_phys_check(table));
	furlong_phys_reader_destroy(reader);
	furlong_phys_destroy(table);
}

static void asks_a_pool(void)
{
	static char buffer[0x10000];
	struct furlong_bounce_plan plan;
	struct furlong_bounce_limits limits;
	struct furlong_bounce *pool;
	struct furlong_bounce_device *device;
	uint64_t at = 0, last = 0;
	int i;

	FINE(furlong_bounce_plan(&plan, 512, 4));
	FINE(furlong_bounce_create(&pool, &plan));
	for (i = 0; i < CALLS; i++) {
		limits = (struct furlong_bounce_limits){number(), number(), number(), number(),
							(uint32_t)number()};
		if (drawn() % 2 == 0)
			FINE(furlong_bounce_limits(&limits));
		if (furlong_bounce_device_create(pool, 1, &limits, &device) != 0)
			continue;
		answered(furlong_bounce_map(pool, device, buffer, drawn() % sizeof buffer,
					    (uint32_t)(drawn() % 4), &at));
		last = drawn() % 2 == 0 ? at : number();
		answered(furlong_bounce_sync_for_cpu(pool, device, last, number(),
						     (uint32_t)(drawn() % 4)));
		answered(furlong_bounce_sync_for_device(pool, device, last, number(),
							(uint32_t)(drawn() % 4)));
		answered(furlong_bounce_deallocate(pool, device, last));
		answered(furlong_bounce_unmap(pool, device, last, (uint32_t)(drawn() % 4), number()));
		/* Unmap it, whatever its direction was. */
		answered(furlong_bounce_unmap(pool, device, at, FURLONG_BOUNCE_TO_DEVICE, 0));
		answered(furlong_bounce_unmap(pool, device, at, FURLONG_BOUNCE_FROM_DEVICE, 0));
		answered(furlong_bounce_unmap(pool, device, at, FURLONG_BOUNCE_BOTH, 0));
		FINE(furlong_bounce_device_destroy(pool, device));
	}
	EQUAL(furlong_bounce_used_slots(pool), 0);
	FINE(furlong_bounce_check(pool));
	furlong_bounce_destroy(pool);
}

static void asks_for_pools(void)
{
	struct furlong_bounce_plan plan;
	struct furlong_bounce *pool;
	size_t bytes;
	int i;

	for (i = 0; i < 1000; i++) {
		FINE(furlong_bounce_plan(&plan, number() & 0xfff, number() & 0x1f));
		plan.blocks = drawn() % 4;
		plan.block_slots = number();
		plan.block_min = number();
		plan.growth = (uint32_t)(drawn() % 4);
		plan.is_restricted = (uint32_t)(drawn() % 2);
		answered(furlong_bounce_table_bytes(&plan, &bytes));
		plan.block_slots &= 0xfff;
		if (furlong_bounce_create(&pool, &plan) == 0)
			furlong_bounce_destroy(pool);
	}
}

int main(void)
{
	asks_a_map();
	asks_a_space(0xffffffff, 4096);
	asks_a_space(UINT64_MAX, 1);
	asks_a_space(UINT64_MAX, UINT64_C(1) << 63);
	asks_a_table();
	asks_a_pool();
	asks_for_pools();
	return done("nonsense");
}

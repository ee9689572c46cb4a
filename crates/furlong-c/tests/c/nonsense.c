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

static void takes(void *context, const struct furlong_vmspace_freed *item)
{
	CHECK(context == &state && item->start <= item->last);
	CHECK(item->kind <= FURLONG_VMSPACE_MERGED && item->is_last <= 1);
}

/* Refuses one area in 32, in any way. */
static int copies(void *context, const struct furlong_vmspace_area *area, uint64_t *value)
{
	CHECK(context == &state && area->value == *value);
	*value = number();
	return drawn() % 32 == 0 ? (int)(drawn() % 7) - 3 : 0;
}

/* Any address, or any page. */
static uint64_t address(uint64_t page)
{
	return drawn() % 4 == 0 ? number() : number() & ~(page - 1);
}

static uint64_t flags(void)
{
	static const uint64_t sharing[] = {0x22, 0x22, 0x22, 0x21, 1, 2, 3, 0, 15};

	return sharing[drawn() % 9] | (drawn() % 2) << 4 | (drawn() % 8 == 0) << 8
	       | (drawn() % 8 == 0) << 6 | (drawn() % 8 == 0) << 20 | (drawn() % 16 == 0 ? number() : 0);
}

static void asks_for_a_mapping(struct furlong_vmspace *space, uint64_t page)
{
	struct furlong_vmspace_request request = {
		address(page), number(), number(), flags(), address(page), drawn() % 2, number(),
		number(), number(), (uint32_t)number(), (uint32_t)number()};
	uint64_t at;

	/* Most of the calls may succeed. */
	if (drawn() % 4 != 0) {
		FINE(furlong_vmspace_request(&request, number(), drawn() % 8, drawn() % 2));
		request.address = address(page);
		request.flags = flags();
		request.align = drawn() % 2 == 0 ? number() : 0;
	}
	answered(furlong_vmspace_map(space, &request, &at, takes, &state));
}

static void asks_a_process(const struct furlong_vmspace_layout *layout, int calls)
{
	struct furlong_vmspace_area area;
	struct furlong_vmspace *space, *child;
	uint64_t at, page = layout->page;
	int i;

	if (furlong_vmspace_create(&space, layout) != 0)
		return;
	for (i = 0; i < calls; i++) {
		switch (drawn() % 16) {
		case 0:
		case 1: asks_for_a_mapping(space, page); break;
		case 2: answered(furlong_vmspace_mmap(space, address(page), number(), number(), flags(),
						      address(page), drawn() % 2, &at, takes,
						      &state)); break;
		case 3: answered(furlong_vmspace_unmap(space, address(page), number(), takes,
						       &state)); break;
		case 4: answered(furlong_vmspace_protect(space, address(page), number(), number() & 0xf,
							 takes, &state)); break;
		case 5: answered(furlong_vmspace_protect(space, address(page), number(), number(), NULL,
							 NULL)); break;
		case 6: answered(furlong_vmspace_advise(space, address(page), number(),
							(uint32_t)(9 + drawn() % 12), takes,
							&state)); break;
		case 7: answered(furlong_vmspace_update(space, address(page), number(),
							(uint32_t)number() & 0xff00,
							(uint32_t)number(), takes, &state)); break;
		case 8:
		case 9: answered(furlong_vmspace_remap(space, address(page), number(), number(),
						       drawn() % 9, address(page), &at, takes,
						       &state)); break;
		case 10: FINE(furlong_vmspace_start_brk(space, address(page))); break;
		case 11: at = furlong_vmspace_brk(space) + (number() & 0xffff);
			answered(furlong_vmspace_set_brk(space, drawn() % 2 == 0 ? at : number(),
							 drawn() % 2, takes, &state)); break;
		case 12: answered(furlong_vmspace_fault(space, address(page), (uint32_t)(drawn() % 6),
							&area)); break;
		case 13: answered(furlong_vmspace_find(space, number(), &area));
			(void)furlong_vmspace_pages(space, (uint32_t)number()); break;
		case 14: answered(furlong_vmspace_next(space, number(), &area));
			answered(furlong_vmspace_prepare(space, drawn() % 4)); break;
		default:
			if (drawn() % 64 == 0)
				FINE(furlong_vmspace_clear(space, takes, &state));
			if (furlong_vmspace_fork(space, &child, copies, takes, &state) != 0)
				break;
			CHECK(furlong_vmspace_len(child) <= furlong_vmspace_len(space));
			FINE(furlong_vmspace_check(child));
			furlong_vmspace_destroy(child);
		}
	}
	FINE(furlong_vmspace_check(space));
	furlong_vmspace_destroy(space);
}

static void asks_processes(void)
{
	struct furlong_vmspace_layout layout;
	unsigned long before = checked;
	uint64_t page, old = state;
	int i;

	FINE(furlong_vmspace_layout(&layout));
	asks_a_process(&layout, CALLS);
	layout.low = layout.bottom = 0;
	layout.last = layout.top = UINT64_MAX;
	asks_a_process(&layout, CALLS);
	for (i = 0; i < 1000; i++) {
		page = UINT64_C(2) << drawn() % 63;
		layout = (struct furlong_vmspace_layout){
			page, number() | (page - 1), number() & ~(page - 1), number() & ~(page - 1),
			number() | (page - 1), number(), number(), number(), number(),
			(uint32_t)(drawn() % 2)};
		if (drawn() % 8 == 0)
			layout.page = number();
		if (drawn() % 8 == 0)
			layout.top = number();
		if (drawn() % 8 == 0)
			layout.direction = (uint32_t)number();
		asks_a_process(&layout, 100);
	}
	/* Compilers evaluate arguments in different orders, so the number of callbacks differs, and that
	 * of the numbers drawn in them. */
	checked = before + 2 * CALLS;
	state = old;
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
	asks_processes();
	asks_a_pool();
	asks_for_pools();
	return done("nonsense");
}

/* Bounce buffers: each function with valid and with invalid arguments. */

#include "check.h"

#define SLOT 2048
#define TO FURLONG_BOUNCE_TO_DEVICE
#define FROM FURLONG_BOUNCE_FROM_DEVICE
#define BOTH FURLONG_BOUNCE_BOTH

static struct furlong_bounce *pool_of(size_t slots, size_t areas)
{
	struct furlong_bounce_plan plan;
	struct furlong_bounce *pool;

	FINE(furlong_bounce_plan(&plan, slots, areas));
	FINE(furlong_bounce_create(&pool, &plan));
	return pool;
}

static struct furlong_bounce_device *device_of(struct furlong_bounce *pool, uint32_t id)
{
	struct furlong_bounce_limits limits;
	struct furlong_bounce_device *device;

	FINE(furlong_bounce_limits(&limits));
	FINE(furlong_bounce_device_create(pool, id, &limits, &device));
	return device;
}

static void refuses_null(void)
{
	struct furlong_bounce *pool = pool_of(512, 4);
	struct furlong_bounce_device *device = device_of(pool, 1);
	struct furlong_bounce_plan plan;
	struct furlong_bounce_limits limits;
	char buffer[64] = {0};
	uint64_t at;
	size_t bytes;

	FINE(furlong_bounce_plan(&plan, 512, 4));
	FINE(furlong_bounce_limits(&limits));
	EQUAL(furlong_bounce_plan(NULL, 512, 4), -EINVAL);
	EQUAL(furlong_bounce_limits(NULL), -EINVAL);
	EQUAL(furlong_bounce_create(NULL, &plan), -EINVAL);
	EQUAL(furlong_bounce_create(&pool, NULL), -EINVAL);
	EQUAL(furlong_bounce_table_bytes(NULL, &bytes), -EINVAL);
	EQUAL(furlong_bounce_table_bytes(&plan, NULL), -EINVAL);
	EQUAL(furlong_bounce_create_in(NULL, &plan, buffer, 64, buffer, 64, 0), -EINVAL);
	EQUAL(furlong_bounce_create_in(&pool, NULL, buffer, 64, buffer, 64, 0), -EINVAL);
	EQUAL(furlong_bounce_create_in(&pool, &plan, NULL, 64, buffer, 64, 0), -EINVAL);
	EQUAL(furlong_bounce_create_in(&pool, &plan, buffer, 64, NULL, 64, 0), -EINVAL);
	EQUAL(furlong_bounce_grow(NULL, NULL), -EINVAL);
	EQUAL(furlong_bounce_tend(NULL, NULL, NULL), -EINVAL);
	EQUAL(furlong_bounce_slots(NULL), 0);
	EQUAL(furlong_bounce_free_slots(NULL), 0);
	EQUAL(furlong_bounce_used_slots(NULL), 0);
	EQUAL(furlong_bounce_high_water(NULL), 0);
	EQUAL(furlong_bounce_check(NULL), -EINVAL);
	EQUAL(furlong_bounce_device_create(NULL, 1, &limits, &device), -EINVAL);
	EQUAL(furlong_bounce_device_create(pool, 1, NULL, &device), -EINVAL);
	EQUAL(furlong_bounce_device_create(pool, 1, &limits, NULL), -EINVAL);
	EQUAL(furlong_bounce_device_create_in(NULL, 1, &limits, &device, buffer, 64), -EINVAL);
	EQUAL(furlong_bounce_device_create_in(pool, 1, NULL, &device, buffer, 64), -EINVAL);
	EQUAL(furlong_bounce_device_create_in(pool, 1, &limits, NULL, buffer, 64), -EINVAL);
	EQUAL(furlong_bounce_device_create_in(pool, 1, &limits, &device, NULL, 64), -EINVAL);
	EQUAL(furlong_bounce_device_create_in(pool, 1, &limits, &device, buffer, 3), -ENOMEM);
	EQUAL(furlong_bounce_device_destroy(NULL, device), -EINVAL);
	EQUAL(furlong_bounce_device_destroy(pool, NULL), -EINVAL);
	EQUAL(furlong_bounce_device_used(NULL), 0);
	EQUAL(furlong_bounce_longest(NULL, device), 0);
	EQUAL(furlong_bounce_longest(pool, NULL), 0);
	EQUAL(furlong_bounce_map(NULL, device, buffer, 64, TO, &at), -EINVAL);
	EQUAL(furlong_bounce_map(pool, NULL, buffer, 64, TO, &at), -EINVAL);
	EQUAL(furlong_bounce_map(pool, device, NULL, 64, TO, &at), -EINVAL);
	EQUAL(furlong_bounce_map(pool, device, buffer, 64, TO, NULL), -EINVAL);
	EQUAL(furlong_bounce_unmap(NULL, device, 0, TO, 0), -EINVAL);
	EQUAL(furlong_bounce_unmap(pool, NULL, 0, TO, 0), -EINVAL);
	EQUAL(furlong_bounce_sync_for_device(NULL, device, 0, 1, TO), -EINVAL);
	EQUAL(furlong_bounce_sync_for_device(pool, NULL, 0, 1, TO), -EINVAL);
	EQUAL(furlong_bounce_sync_for_cpu(NULL, device, 0, 1, TO), -EINVAL);
	EQUAL(furlong_bounce_sync_for_cpu(pool, NULL, 0, 1, TO), -EINVAL);
	EQUAL(furlong_bounce_allocate(NULL, device, 1, &at, NULL), -EINVAL);
	EQUAL(furlong_bounce_allocate(pool, NULL, 1, &at, NULL), -EINVAL);
	EQUAL(furlong_bounce_allocate(pool, device, 1, NULL, NULL), -EINVAL);
	EQUAL(furlong_bounce_deallocate(NULL, device, 0), -EINVAL);
	EQUAL(furlong_bounce_deallocate(pool, NULL, 0), -EINVAL);
	EQUAL(furlong_bounce_used_slots(pool), 0);
	FINE(furlong_bounce_device_destroy(pool, device));
	furlong_bounce_destroy(pool);
	furlong_bounce_destroy(NULL);
}

static void refuses_such_plans(void)
{
	struct furlong_bounce_plan plan;
	struct furlong_bounce *pool;

#define NO_POOL(slots, areas, change, error) do { \
		FINE(furlong_bounce_plan(&plan, slots, areas)); \
		change; \
		EQUAL(furlong_bounce_create(&pool, &plan), error); \
	} while (0)
	NO_POOL(0, 1, (void)0, -EINVAL);
	NO_POOL(512, 0, (void)0, -EINVAL);
	NO_POOL(512, 3, (void)0, -EINVAL);
	NO_POOL(500, 4, (void)0, -EINVAL);
	NO_POOL(512, 4, plan.blocks = 0, -EINVAL);
	NO_POOL(512, 4, plan.growth = 3, -EINVAL);
	NO_POOL(512, 4, plan.is_restricted = 1, -EINVAL);
	NO_POOL((size_t)1 << 33, 1, (void)0, -EOVERFLOW);
	NO_POOL(512, 4, plan.reach = 1, -ENOMEM);
}

static void copies_to_the_device(void)
{
	struct furlong_bounce *pool = pool_of(512, 4);
	struct furlong_bounce_device *disk = device_of(pool, 1), *other = device_of(pool, 2);
	char sector[512];
	uint64_t at;
	char *seen;

	memset(sector, 'a', sizeof sector);
	FINE(furlong_bounce_map(pool, disk, sector, sizeof sector, TO, &at));
	seen = (char *)(uintptr_t)at;
	CHECK(seen != sector && memcmp(seen, sector, sizeof sector) == 0);
	CHECK(seen[sizeof sector] == 0);
	EQUAL(furlong_bounce_used_slots(pool), 1);
	memset(sector, 'b', sizeof sector);
	FINE(furlong_bounce_sync_for_device(pool, disk, at + 100, 10, TO));
	CHECK(seen[99] == 'a' && seen[100] == 'b' && seen[109] == 'b' && seen[110] == 'a');
	FINE(furlong_bounce_sync_for_cpu(pool, disk, at, 512, TO));
	CHECK(sector[0] == 'b');

	EQUAL(furlong_bounce_sync_for_device(pool, disk, at, 0, TO), -EINVAL);
	EQUAL(furlong_bounce_sync_for_device(pool, disk, at, 513, TO), -ERANGE);
	EQUAL(furlong_bounce_sync_for_cpu(pool, disk, at + 511, 2, TO), -ERANGE);
	EQUAL(furlong_bounce_sync_for_device(pool, disk, at, SIZE_MAX, TO), -ERANGE);
	EQUAL(furlong_bounce_sync_for_device(pool, disk, at, 1, FROM), -EPROTOTYPE);
	EQUAL(furlong_bounce_sync_for_device(pool, disk, at, 1, 3), -EINVAL);
	EQUAL(furlong_bounce_sync_for_cpu(pool, disk, at, 1, 256), -EINVAL);
	EQUAL(furlong_bounce_sync_for_device(pool, other, at, 1, TO), -EPERM);
	EQUAL(furlong_bounce_sync_for_device(pool, disk, 0, 1, TO), -ENOENT);

	EQUAL(furlong_bounce_unmap(pool, other, at, TO, 0), -EPERM);
	EQUAL(furlong_bounce_unmap(pool, disk, at, BOTH, 0), -EPROTOTYPE);
	EQUAL(furlong_bounce_unmap(pool, disk, at, 9, 0), -EINVAL);
	EQUAL(furlong_bounce_unmap(pool, disk, at + 1, TO, 0), -EDOM);
	EQUAL(furlong_bounce_deallocate(pool, disk, at), -EBADF);
	EQUAL(furlong_bounce_device_destroy(pool, disk), -EBUSY);
	FINE(furlong_bounce_unmap(pool, disk, at, TO, SIZE_MAX));
	EQUAL(furlong_bounce_unmap(pool, disk, at, TO, SIZE_MAX), -ENOENT);
	CHECK(sector[0] == 'b');
	EQUAL(furlong_bounce_used_slots(pool), 0);
	EQUAL(furlong_bounce_high_water(pool), 1);
	FINE(furlong_bounce_check(pool));
	FINE(furlong_bounce_device_destroy(pool, disk));
	FINE(furlong_bounce_device_destroy(pool, other));
	furlong_bounce_destroy(pool);
}

static void copies_back_what_was_written(void)
{
	struct furlong_bounce *pool = pool_of(512, 4);
	struct furlong_bounce_device *disk = device_of(pool, 1);
	char sector[512] = {0};
	uint64_t at;
	uint32_t direction;

	for (direction = FROM; direction <= BOTH; direction++) {
		memset(sector, 'o', sizeof sector);
		FINE(furlong_bounce_map(pool, disk, sector, sizeof sector, direction, &at));
		memset((char *)(uintptr_t)at, 'n', sizeof sector);
		FINE(furlong_bounce_sync_for_cpu(pool, disk, at, 8, direction));
		CHECK(sector[7] == 'n' && sector[8] == 'o');
		/* A length beyond the mapping counts as the mapping's length. */
		FINE(furlong_bounce_unmap(pool, disk, at, direction,
					  direction == FROM ? 100 : 100000));
		CHECK(sector[99] == 'n' && sector[100] == (direction == FROM ? 'o' : 'n'));
	}
	FINE(furlong_bounce_map(pool, disk, sector, sizeof sector, FROM, &at));
	memset((char *)(uintptr_t)at, 'x', sizeof sector);
	FINE(furlong_bounce_unmap(pool, disk, at, FROM, 0));
	CHECK(sector[0] == 'n');
	FINE(furlong_bounce_device_destroy(pool, disk));
	furlong_bounce_destroy(pool);
}

static void refuses_such_maps(void)
{
	struct furlong_bounce *pool = pool_of(256, 1);
	struct furlong_bounce_device *disk = device_of(pool, 1), *small;
	struct furlong_bounce_limits limits;
	static char large[300 * 1024];
	uint64_t at, first, second;

	EQUAL(furlong_bounce_longest(pool, disk), 256 * 1024);
	EQUAL(furlong_bounce_map(pool, disk, large, 0, TO, &at), -EINVAL);
	EQUAL(furlong_bounce_map(pool, disk, large, 1, 3, &at), -EINVAL);
	EQUAL(furlong_bounce_map(pool, disk, large, sizeof large, TO, &at), -EOVERFLOW);
	EQUAL(furlong_bounce_map(pool, disk, large, SIZE_MAX, TO, &at), -EOVERFLOW);
	FINE(furlong_bounce_map(pool, disk, large, 256 * 1024, TO, &first));
	FINE(furlong_bounce_map(pool, disk, large, 256 * 1024, TO, &second));
	EQUAL(furlong_bounce_map(pool, disk, large, 1, TO, &at), -ENOSPC);
	EQUAL(furlong_bounce_free_slots(pool), 0);
	FINE(furlong_bounce_unmap(pool, disk, first, TO, 0));
	FINE(furlong_bounce_unmap(pool, disk, second, TO, 0));

#define NO_DEVICE(change) do { \
		FINE(furlong_bounce_limits(&limits)); \
		change; \
		EQUAL(furlong_bounce_device_create(pool, 2, &limits, &small), -EINVAL); \
	} while (0)
	NO_DEVICE(limits.min_align_mask = 2);
	NO_DEVICE(limits.align_mask = 4);
	NO_DEVICE(limits.boundary_mask = 5);
	NO_DEVICE(limits.boundary_mask = 1023);
#define NO_MAP(change, len, error) do { \
		FINE(furlong_bounce_limits(&limits)); \
		change; \
		FINE(furlong_bounce_device_create(pool, 2, &limits, &small)); \
		EQUAL(furlong_bounce_map(pool, small, large, len, TO, &at), error); \
		FINE(furlong_bounce_device_destroy(pool, small)); \
	} while (0)
	NO_MAP(limits.quota = 2, 3 * SLOT, -EDQUOT);
	NO_MAP(limits.reach = 0xffff, 1, -EADDRNOTAVAIL);
	NO_MAP(limits.boundary_mask = 2 * SLOT - 1, 3 * SLOT, -E2BIG);
	NO_MAP(limits.align_mask = (1 << 20) - 1, 1, -EOPNOTSUPP);
	FINE(furlong_bounce_check(pool));
	FINE(furlong_bounce_device_destroy(pool, disk));
	furlong_bounce_destroy(pool);
}

static void counts_a_quota(void)
{
	struct furlong_bounce *pool = pool_of(512, 4);
	struct furlong_bounce_limits limits;
	struct furlong_bounce_device *disk;
	char page[4096] = {0};
	uint64_t at;

	FINE(furlong_bounce_limits(&limits));
	limits.quota = 4;
	limits.min_align_mask = 0xfff;
	FINE(furlong_bounce_device_create(pool, 1, &limits, &disk));
	FINE(furlong_bounce_map(pool, disk, page + 5, 10, TO, &at));
	EQUAL(at & 0xfff, (uintptr_t)(page + 5) & 0xfff);
	CHECK(furlong_bounce_device_used(disk) > 0);
	FINE(furlong_bounce_unmap(pool, disk, at, TO, 0));
	EQUAL(furlong_bounce_device_used(disk), 0);
	FINE(furlong_bounce_device_destroy(pool, disk));
	furlong_bounce_destroy(pool);
}

static void allocates_without_an_original(void)
{
	struct furlong_bounce *pool = pool_of(512, 4);
	struct furlong_bounce_device *disk = device_of(pool, 1), *other = device_of(pool, 2);
	void *ring;
	uint64_t at;
	int i;

	FINE(furlong_bounce_allocate(pool, disk, 4096, &at, &ring));
	CHECK((uintptr_t)ring == at && at % SLOT == 0);
	for (i = 0; i < 4096; i += 512)
		EQUAL(((char *)ring)[i], 0);
	EQUAL(furlong_bounce_unmap(pool, disk, at, BOTH, 0), -EBADF);
	EQUAL(furlong_bounce_deallocate(pool, other, at), -EPERM);
	EQUAL(furlong_bounce_deallocate(pool, disk, at + SLOT), -EDOM);
	FINE(furlong_bounce_deallocate(pool, disk, at));
	EQUAL(furlong_bounce_deallocate(pool, disk, at), -ENOENT);
	FINE(furlong_bounce_allocate(pool, disk, 1, &at, NULL));
	FINE(furlong_bounce_deallocate(pool, disk, at));
	EQUAL(furlong_bounce_allocate(pool, disk, 0, &at, &ring), -EINVAL);
	FINE(furlong_bounce_device_destroy(pool, disk));
	FINE(furlong_bounce_device_destroy(pool, other));
	furlong_bounce_destroy(pool);
}

static size_t second_cpu(void)
{
	return 1;
}

static void grows_and_shrinks(void)
{
	struct furlong_bounce_plan plan;
	struct furlong_bounce *pool;
	size_t slots, grown, given_back;

	FINE(furlong_bounce_plan(&plan, 512, 4));
	FINE(furlong_bounce_create(&pool, &plan));
	EQUAL(furlong_bounce_grow(pool, &slots), -EPERM);
	furlong_bounce_destroy(pool);

	plan.growth = FURLONG_BOUNCE_GROW_DEFERRED;
	plan.blocks = 2;
	plan.patience = 1;
	plan.cpu = second_cpu;
	FINE(furlong_bounce_create(&pool, &plan));
	FINE(furlong_bounce_grow(pool, &slots));
	EQUAL(slots, 512);
	EQUAL(furlong_bounce_slots(pool), 1024);
	EQUAL(furlong_bounce_grow(pool, NULL), -ENOSPC);
	FINE(furlong_bounce_tend(pool, &grown, &given_back));
	CHECK(grown == 0 && given_back == 512);
	EQUAL(furlong_bounce_slots(pool), 512);
	FINE(furlong_bounce_tend(pool, NULL, NULL));
	FINE(furlong_bounce_check(pool));
	furlong_bounce_destroy(pool);
}

static void keeps_a_restricted_pool_to_its_devices(void)
{
	struct furlong_bounce_plan plan;
	struct furlong_bounce *mine, *others = pool_of(512, 1);
	struct furlong_bounce_device *admitted, *stranger = device_of(others, 1);
	char word[8] = {0};
	uint64_t at;

	FINE(furlong_bounce_plan(&plan, 512, 1));
	plan.is_restricted = 1;
	FINE(furlong_bounce_create(&mine, &plan));
	admitted = device_of(mine, 2);
	FINE(furlong_bounce_map(mine, admitted, word, 8, TO, &at));
	FINE(furlong_bounce_unmap(mine, admitted, at, TO, 0));
	EQUAL(furlong_bounce_map(others, admitted, word, 8, TO, &at), -EACCES);
	EQUAL(furlong_bounce_map(mine, stranger, word, 8, TO, &at), -EACCES);
	FINE(furlong_bounce_device_destroy(mine, admitted));
	FINE(furlong_bounce_device_destroy(others, stranger));
	furlong_bounce_destroy(mine);
	furlong_bounce_destroy(others);
}

static void lives_in_memory_that_is_handed_in(void)
{
	static char region[128 * SLOT], tables[1 << 16], place[256];
	struct furlong_bounce_limits limits;
	struct furlong_bounce_plan plan;
	struct furlong_bounce *pool;
	struct furlong_bounce_device *disk;
	char sector[512];
	const uint64_t bus = 16 << 20;
	uint64_t at;
	size_t bytes;

	FINE(furlong_bounce_plan(&plan, 128, 1));
	FINE(furlong_bounce_table_bytes(&plan, &bytes));
	CHECK(bytes < sizeof tables);
#define IN(table_bytes, region_bytes, address) furlong_bounce_create_in( \
		&pool, &plan, tables + 1, table_bytes, region, region_bytes, address)
	EQUAL(IN(8, sizeof region, bus), -ENOMEM);
	EQUAL(IN(sizeof tables - 1, 127 * SLOT, bus), -ENOMEM);
	EQUAL(IN(sizeof tables - 1, sizeof region, bus + 1), -EADDRNOTAVAIL);
	EQUAL(IN(SIZE_MAX, sizeof region, bus), -EINVAL);
	plan.reach = bus + sizeof region - 2;
	EQUAL(IN(sizeof tables - 1, sizeof region, bus), -EADDRNOTAVAIL);
	plan.reach = UINT64_MAX;
	EQUAL(IN(sizeof tables - 1, sizeof region, UINT64_MAX - SLOT + 1), -EADDRNOTAVAIL);
	plan.areas = 3;
	EQUAL(furlong_bounce_table_bytes(&plan, &bytes), -EINVAL);
	EQUAL(IN(sizeof tables - 1, sizeof region, bus), -EINVAL);
	plan.areas = 1;
	FINE(furlong_bounce_table_bytes(&plan, &bytes));
	FINE(IN(bytes, sizeof region, bus));
	FINE(furlong_bounce_limits(&limits));
	CHECK(furlong_bounce_device_bytes() < sizeof place);
	FINE(furlong_bounce_device_create_in(pool, 1, &limits, &disk, place + 1,
					     furlong_bounce_device_bytes()));
	memset(sector, 'a', sizeof sector);
	FINE(furlong_bounce_map(pool, disk, sector, sizeof sector, BOTH, &at));
	EQUAL(at, bus);
	EQUAL(region[511], 'a');
	memset(region, 'b', 512);
	FINE(furlong_bounce_unmap(pool, disk, at, BOTH, SIZE_MAX));
	EQUAL(sector[511], 'b');
	FINE(furlong_bounce_check(pool));
	FINE(furlong_bounce_device_destroy(pool, disk));
	furlong_bounce_destroy(pool);
	/* We have the memory back. */
	memset(tables, 0xff, sizeof tables);
	FINE(IN(bytes, sizeof region, bus));
	furlong_bounce_destroy(pool);
}

static void makes_the_whole_block_or_none(void)
{
	static char tables[128 << 10];
	static unsigned char region[1023 * SLOT];
	struct furlong_bounce_plan plan;
	struct furlong_bounce *pool = NULL;

	FINE(furlong_bounce_plan(&plan, 1024, 1));
	EQUAL(furlong_bounce_create_in(&pool, &plan, tables, sizeof tables, region, sizeof region, 0),
	      -ENOMEM);
	FINE(furlong_bounce_plan(&plan, 896, 1));
	FINE(furlong_bounce_create_in(&pool, &plan, tables, sizeof tables, region, sizeof region, 0));
	EQUAL(furlong_bounce_slots(pool), 896);
	furlong_bounce_destroy(pool);
}

int main(void)
{
	refuses_null();
	refuses_such_plans();
	copies_to_the_device();
	copies_back_what_was_written();
	refuses_such_maps();
	counts_a_quota();
	allocates_without_an_original();
	grows_and_shrinks();
	keeps_a_restricted_pool_to_its_devices();
	lives_in_memory_that_is_handed_in();
	makes_the_whole_block_or_none();
	return done("bounce");
}

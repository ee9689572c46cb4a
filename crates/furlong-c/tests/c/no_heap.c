/* Objects in memory that the caller supplies never allocate: here there is no heap. */

#include "check.h"

void *furlong_port_allocate(size_t size, size_t align)
{
	fprintf(stderr, "asked for %zu bytes at a multiple of %zu\n", size, align);
	abort();
}

void furlong_port_free(void *memory, size_t size, size_t align)
{
	fprintf(stderr, "given %zu bytes at %p, a multiple of %zu\n", size, memory, align);
	abort();
}

void furlong_port_panic(const uint8_t *message, size_t len)
{
	fwrite(message, 1, len, stderr);
	abort();
}

static char memory[1 << 20], more[1 << 18];

static void reserves_addresses(void)
{
	struct furlong_iova *space;
	struct furlong_iova_request request;
	struct furlong_iova_grant grant;
	int i, answer = 0;

	FINE(furlong_iova_create_in(&space, memory, furlong_iova_bytes(100), 0, 0xffffffff, 4096));
	FINE(furlong_iova_request(&request, 8192));
	for (i = 0; answer == 0; i += answer == 0)
		answer = furlong_iova_reserve(space, &request, &grant);
	CHECK(i >= 100 && answer == -ENOMEM);
	FINE(furlong_iova_release(space, grant.start, grant.last));
	FINE(furlong_iova_reserve(space, &request, &grant));
	furlong_iova_destroy(space);
}

static void plugs_and_unplugs(void)
{
	struct furlong_phys *table;
	struct furlong_phys_reader *reader;

	FINE(furlong_phys_create_in(&table, memory, sizeof memory));
	FINE(furlong_phys_reader_create_in(table, &reader, more, sizeof more));
	FINE(furlong_phys_plug(table, 0, 0xff));
	FINE(furlong_phys_start(table, NULL));
	FINE(furlong_phys_plug(table, 0x1000, 0x10ff));
	FINE(furlong_phys_enter(reader));
	CHECK(furlong_phys_page(reader, 0x1010000)->frame == 0x1010);
	FINE(furlong_phys_leave(reader));
	FINE(furlong_phys_unplug(table, 0x1010, 0x1020));
	furlong_phys_reader_destroy(reader);
	furlong_phys_destroy(table);
}

static void maps_buffers(void)
{
	static char region[128 * 2048], place[256];
	struct furlong_bounce_plan plan;
	struct furlong_bounce_limits limits;
	struct furlong_bounce *pool;
	struct furlong_bounce_device *disk;
	char sector[512] = {0};
	uint64_t at;

	FINE(furlong_bounce_plan(&plan, 128, 1));
	FINE(furlong_bounce_limits(&limits));
	FINE(furlong_bounce_create_in(&pool, &plan, memory, sizeof memory, region, sizeof region,
				      1 << 20));
	FINE(furlong_bounce_device_create_in(pool, 1, &limits, &disk, place, sizeof place));
	FINE(furlong_bounce_map(pool, disk, sector, sizeof sector, FURLONG_BOUNCE_BOTH, &at));
	FINE(furlong_bounce_unmap(pool, disk, at, FURLONG_BOUNCE_BOTH, SIZE_MAX));
	FINE(furlong_bounce_device_destroy(pool, disk));
	furlong_bounce_destroy(pool);
}

int main(void)
{
	reserves_addresses();
	plugs_and_unplugs();
	maps_buffers();
	return done("no heap");
}

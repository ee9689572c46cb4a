/* Concurrent calls: mappings of one pool, and lookups beside plugging. */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sched.h>

#include "check.h"

#define ROUNDS 10000
#define THREADS 3

static struct furlong_bounce *pool;
static struct furlong_phys *table;
static int is_over;

static size_t cpu(void)
{
	static _Thread_local char mine;

	return (uintptr_t)&mine >> 12;
}

/* Each byte copied back is the one that this thread's device has written. */
static void *maps(void *number)
{
	uint32_t id = (uint32_t)(uintptr_t)number;
	struct furlong_bounce_limits limits;
	struct furlong_bounce_device *device;
	unsigned char buffer[3000];
	uintptr_t wrong = 0;
	uint64_t at;
	int round;

	wrong += furlong_bounce_limits(&limits) != 0;
	wrong += furlong_bounce_device_create(pool, id, &limits, &device) != 0;
	for (round = 0; round < ROUNDS; round++) {
		size_t len = 1 + (size_t)round % sizeof buffer;

		memset(buffer, round & 0xff, len);
		if (furlong_bounce_map(pool, device, buffer, len, FURLONG_BOUNCE_BOTH, &at) != 0) {
			wrong++;
			continue;
		}
		wrong += ((unsigned char *)(uintptr_t)at)[len - 1] != (round & 0xff);
		memset((void *)(uintptr_t)at, (int)id, len);
		wrong += furlong_bounce_unmap(pool, device, at, FURLONG_BOUNCE_BOTH, SIZE_MAX) != 0;
		wrong += buffer[0] != id || buffer[len - 1] != id;
	}
	wrong += furlong_bounce_device_destroy(pool, device) != 0;
	return (void *)wrong;
}

/* The lower segment is always there. A page of the upper one is found right or not at all. */
static void *looks(void *unused)
{
	struct furlong_phys_reader *reader;
	struct furlong_phys_page *page;
	uintptr_t wrong = 0;
	uint64_t offset;

	(void)unused;
	wrong += furlong_phys_reader_create(table, &reader) != 0;
	do {
		wrong += furlong_phys_enter(reader) != 0;
		wrong += furlong_phys_find(reader, 0x123, &offset) != 0 || offset != 0x23;
		page = furlong_phys_page(reader, 0x2045000);
		wrong += page != NULL && page->frame != 0x2045;
		wrong += furlong_phys_leave(reader) != 0;
	} while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE));
	furlong_phys_reader_destroy(reader);
	return (void *)wrong;
}

static void run(pthread_t *threads, void *(*work)(void *))
{
	uintptr_t i;

	for (i = 0; i < THREADS; i++)
		FINE(pthread_create(&threads[i], NULL, work, (void *)(i + 1)));
}

static void join(pthread_t *threads)
{
	void *wrong;
	int i;

	for (i = 0; i < THREADS; i++) {
		FINE(pthread_join(threads[i], &wrong));
		EQUAL((uintptr_t)wrong, 0);
	}
}

static void maps_in_many_threads(void)
{
	pthread_t threads[THREADS];
	struct furlong_bounce_plan plan;

	FINE(furlong_bounce_plan(&plan, 512, 4));
	plan.cpu = cpu;
	FINE(furlong_bounce_create(&pool, &plan));
	run(threads, maps);
	join(threads);
	EQUAL(furlong_bounce_used_slots(pool), 0);
	FINE(furlong_bounce_check(pool));
	furlong_bounce_destroy(pool);
}

static void looks_beside_plugging(void)
{
	pthread_t threads[THREADS];
	int round, answer;

	FINE(furlong_phys_create(&table));
	FINE(furlong_phys_plug(table, 0x100, 0x1ff));
	FINE(furlong_phys_start(table, NULL));
	run(threads, looks);
	for (round = 0; round < 500; round++) {
		FINE(furlong_phys_plug(table, 0x2000, 0x20ff));
		FINE(furlong_phys_isolate(table, 0x2000, 0x20ff));
		while ((answer = furlong_phys_remove(table, 0x2000)) == -EAGAIN)
			sched_yield();
		FINE(answer);
	}
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	join(threads);
	EQUAL(furlong_phys_len(table), 1);
	FINE(furlong_phys_check(table));
	furlong_phys_destroy(table);
}

int main(void)
{
	maps_in_many_threads();
	looks_beside_plugging();
	return done("side by side");
}

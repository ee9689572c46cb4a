/* Memory, grace periods and CPUs for Linux's files in a process.
 *
 * Objects come from free lists of the thread, as from a kernel's slab: an allocation pops, a free
 * pushes, and neither takes a lock. The lists of an ended thread go to a list that all share.
 *
 * A reader records the period in which it began, without a fence. A thread that waits for readers
 * lets the system run a fence on every CPU (membarrier). Retired objects wait in two lists: one is
 * being filled, and the other's period has ended for new readers. The latter is freed when no
 * reader is left that began before. No thread ever waits for a reader. */
#define _GNU_SOURCE
#include "kernel.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#define rest() __builtin_ia32_pause()
#else
#define rest() barrier()
#endif

/* Spins as long as a running holder may take; a holder that is not running needs this CPU. */
#define SPINS 200

void furlong_wait_for(spinlock_t *lock)
{
	unsigned int spins = 0;
	int free;

	do {
		while (__atomic_load_n(&lock->locked, __ATOMIC_RELAXED)) {
			if (++spins % SPINS == 0)
				sched_yield();
			else
				rest();
		}
		free = 0;
	} while (!__atomic_compare_exchange_n(&lock->locked, &free, 1, false,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

/* Caches of objects. */

#define CACHES 4
#define CHUNK (64 * 1024)

struct object { struct object *next; };

struct kmem_cache {
	unsigned int number;
	unsigned int size;
	unsigned int align;
	spinlock_t lock;
	struct object *left_behind;
};

static struct kmem_cache caches[CACHES];
static unsigned int caches_made;
static __thread struct object *free_objects[CACHES];
static __thread bool gives_back;
static pthread_key_t thread_end;

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align,
				     slab_flags_t flags, void (*ctor)(void *))
{
	unsigned int number = caches_made++;
	struct kmem_cache *cache = &caches[number];

	(void)name;
	BUG_ON(number >= CACHES || ctor);
	if (flags & SLAB_HWCACHE_ALIGN && align < 64)
		align = 64;
	if (align < sizeof(struct object))
		align = sizeof(struct object);
	*cache = (struct kmem_cache){ .number = number, .size = round_up(size, align), .align = align };
	return cache;
}

/* Caches are created once and never destroyed: the process ends with them. */
void kmem_cache_destroy(struct kmem_cache *cache)
{
	(void)cache;
}

/* Registers the destructor at this thread's end, once. */
static void see_thread_end(void)
{
	if (!gives_back) {
		gives_back = true;
		pthread_setspecific(thread_end, &gives_back);
	}
}

static noinline struct object *refill(struct kmem_cache *cache)
{
	struct object *list;
	char *chunk;

	see_thread_end();
	spin_lock(&cache->lock);
	list = cache->left_behind;
	cache->left_behind = NULL;
	spin_unlock(&cache->lock);
	if (list)
		return list;
	chunk = aligned_alloc(cache->align, round_down((size_t)CHUNK, cache->align));
	if (!chunk)
		return NULL;
	for (size_t at = CHUNK / cache->size; at-- > 0;) {
		struct object *object = (struct object *)(chunk + at * cache->size);

		object->next = list;
		list = object;
	}
	return list;
}

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags)
{
	struct object **list = &free_objects[cache->number];
	struct object *object = *list;

	if (unlikely(!object)) {
		object = refill(cache);
		if (!object)
			return NULL;
	}
	*list = object->next;
	if (flags & __GFP_ZERO)
		memset(object, 0, cache->size);
	return object;
}

void kmem_cache_free(struct kmem_cache *cache, void *freed)
{
	struct object **list = &free_objects[cache->number];
	struct object *object = freed;

	object->next = *list;
	*list = object;
	if (unlikely(!gives_back))
		see_thread_end();
}

int kmem_cache_alloc_bulk(struct kmem_cache *cache, gfp_t flags, size_t count, void **objects)
{
	for (size_t at = 0; at < count; at++) {
		objects[at] = kmem_cache_alloc(cache, flags);
		if (!objects[at]) {
			kmem_cache_free_bulk(cache, at, objects);
			return 0;
		}
	}
	return (int)count;
}

void kmem_cache_free_bulk(struct kmem_cache *cache, size_t count, void **objects)
{
	for (size_t at = 0; at < count; at++)
		kmem_cache_free(cache, objects[at]);
}

/* Grace periods. */

/* The number of retired objects before readers are checked: the same as ours. */
#define BATCH 64

__thread struct furlong_reader furlong_reader;
unsigned long furlong_period = 1;

static DEFINE_SPINLOCK(readers_lock);
static struct furlong_reader *readers;

static DEFINE_SPINLOCK(retired_lock);
static struct callback_head *filling, *waiting;
static unsigned int filled;
static unsigned long waited_for;

void furlong_know_reader(void)
{
	struct furlong_reader *reader = &furlong_reader;

	see_thread_end();
	spin_lock(&readers_lock);
	reader->is_known = true;
	reader->next = readers;
	readers = reader;
	spin_unlock(&readers_lock);
}

static void forget_reader(struct furlong_reader *reader)
{
	struct furlong_reader **link = &readers;

	spin_lock(&readers_lock);
	while (*link != reader)
		link = &(*link)->next;
	*link = reader->next;
	reader->is_known = false;
	spin_unlock(&readers_lock);
}

/* True if no reader is left that began before the period that is waited for. */
static bool have_readers_left(void)
{
	bool have_left = true;

	spin_lock(&readers_lock);
	for (struct furlong_reader *reader = readers; reader && have_left; reader = reader->next) {
		unsigned long since = smp_load_acquire(&reader->since);

		have_left = since == 0 || since >= waited_for;
	}
	spin_unlock(&readers_lock);
	return have_left;
}

/* Ends the period for new readers. Runs a fence on all threads, since readers have none. */
static void end_period(void)
{
	waited_for = furlong_period + 1;
	smp_store_release(&furlong_period, waited_for);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		BUG();
}

void call_rcu(struct callback_head *head, rcu_callback_t func)
{
	struct callback_head *done = NULL;

	head->func = func;
	spin_lock(&retired_lock);
	head->next = filling;
	filling = head;
	if (unlikely(++filled >= BATCH)) {
		if (waiting && have_readers_left()) {
			done = waiting;
			waiting = NULL;
		}
		if (!waiting) {
			waiting = filling;
			filling = NULL;
			filled = 0;
			end_period();
		}
	}
	spin_unlock(&retired_lock);
	while (done) {
		struct callback_head *next = done->next;

		done->func(done);
		done = next;
	}
}

/* CPUs. */

__thread unsigned int furlong_cpu;

void *__alloc_percpu(size_t size, size_t align)
{
	void *all;

	BUG_ON(size > FURLONG_CPU_STRIDE || align > FURLONG_CPU_STRIDE);
	all = aligned_alloc(FURLONG_CPU_STRIDE, FURLONG_CPUS * FURLONG_CPU_STRIDE);
	return all ? memset(all, 0, FURLONG_CPUS * FURLONG_CPU_STRIDE) : NULL;
}

/* Start, and a thread's end. */

static void leave_behind(void *unused)
{
	(void)unused;
	for (unsigned int number = 0; number < caches_made; number++) {
		struct object *first = free_objects[number], *last = first;

		if (!first)
			continue;
		while (last->next)
			last = last->next;
		spin_lock(&caches[number].lock);
		last->next = caches[number].left_behind;
		caches[number].left_behind = first;
		spin_unlock(&caches[number].lock);
		free_objects[number] = NULL;
	}
	gives_back = false;
	if (furlong_reader.is_known)
		forget_reader(&furlong_reader);
}

void maple_tree_init(void);
int iova_cache_get(void);

/* Initialises the library, once, before anything else; 0 on success. */
EXPORT int furlong_linux_begin(void)
{
	if (pthread_key_create(&thread_end, leave_behind))
		return errno;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		return errno;
	maple_tree_init();
	return -iova_cache_get();
}

/* The parts of a kernel that Linux's files need, for a process. Every header that they include and
 * that does not come with them leads here.
 *
 * Assertions are those of a kernel without debugging: BUG_ON ends the process, WARN_ON evaluates
 * its condition. Locks spin. Disabling interrupts does nothing, since a process has none. */
#ifndef FURLONG_KERNEL_H
#define FURLONG_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_64BIT 1
#define CONFIG_SMP 1
#define BITS_PER_LONG 64
#define PAGE_SHIFT 12
#define PAGE_SIZE 4096UL
#define IS_REACHABLE(option) 1
#define IS_ENABLED(option) 0

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef u64 dma_addr_t, phys_addr_t;
typedef unsigned int gfp_t;
typedef unsigned int slab_flags_t;

#define U8_MAX UINT8_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX

/* Attributes for the compiler. */

#define EXPORT __attribute__((visibility("default")))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define noinline __attribute__((noinline))
#define noinline_for_stack noinline
#define __maybe_unused __attribute__((unused))
#define __must_check __attribute__((warn_unused_result))
#define __cold __attribute__((cold))
#define __aligned(bytes) __attribute__((aligned(bytes)))
#define ____cacheline_aligned __aligned(64)
#define ____cacheline_aligned_in_smp __aligned(64)
#define fallthrough __attribute__((fallthrough))
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define __init
#define __initdata
#define __read_mostly
#define __percpu
#define __rcu
#define __force
#define __user
#define __acquires(lock)
#define __releases(lock)
#define __must_hold(lock)
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
#define MODULE_AUTHOR(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)

/* Numbers and types. */

#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define FURLONG_PICK(type, a, op, b) ({ \
	type pick_a = (a); \
	type pick_b = (b); \
	pick_a op pick_b ? pick_a : pick_b; })
#define min(a, b) FURLONG_PICK(__auto_type, a, <, b)
#define max(a, b) FURLONG_PICK(__auto_type, a, >, b)
#define min_t(type, a, b) FURLONG_PICK(type, a, <, b)
#define max_t(type, a, b) FURLONG_PICK(type, a, >, b)
#define swap(a, b) do { __auto_type swapped = (a); (a) = (b); (b) = swapped; } while (0)

#define round_up(number, to) ((((number) - 1) | ((__typeof__(number))(to) - 1)) + 1)
#define round_down(number, to) ((number) & ~((__typeof__(number))(to) - 1))
#define ALIGN(number, to) (((number) + (to) - 1) & ~((__typeof__(number))(to) - 1))
#define DIV_ROUND_UP(number, by) (((number) + (by) - 1) / (by))
#define BIT(at) (1UL << (at))

static inline int fls64(u64 word)
{
	return word ? 64 - __builtin_clzll(word) : 0;
}

#define fls_long(word) fls64(word)
#define fls(word) fls64((unsigned int)(word))
#define ilog2(number) (fls64(number) - 1)
#define __fls(word) ((unsigned long)(fls64(word) - 1))
#define __ffs(word) ((unsigned long)__builtin_ctzl(word))
#define ffs(word) __builtin_ffs(word)
#define is_power_of_2(number) ((number) != 0 && ((number) & ((number) - 1)) == 0)
#define order_base_2(number) ((number) > 1 ? fls64((u64)(number) - 1) : 0)
#define roundup_pow_of_two(number) (1UL << order_base_2(number))

/* Errors in pointers. */

#define MAX_ERRNO 4095UL
#define IS_ERR_VALUE(word) unlikely((unsigned long)(word) >= -MAX_ERRNO)
#define IS_ERR(pointer) IS_ERR_VALUE(pointer)
#define IS_ERR_OR_NULL(pointer) (!(pointer) || IS_ERR(pointer))
#define PTR_ERR(pointer) ((long)(pointer))
#define ERR_PTR(error) ((void *)(long)(error))

/* Mistakes. */

#define BUG() __builtin_trap()
#define BUG_ON(condition) do { if (unlikely(condition)) BUG(); } while (0)
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define WARN_ON(condition) ({ bool warned = !!(condition); unlikely(warned); })
#define WARN_ON_ONCE(condition) WARN_ON(condition)
#define VM_BUG_ON(condition) do { } while (0)
#define VM_WARN_ON(condition) do { } while (0)
#define VM_WARN_ON_ONCE(condition) do { } while (0)
#define pr_err(...) do { } while (0)
#define pr_warn(...) do { } while (0)
#define pr_info(...) do { } while (0)
#define pr_debug(...) do { } while (0)
#define pr_err_once(...) do { } while (0)
#define trace_ma_op(...) do { } while (0)
#define trace_ma_read(...) do { } while (0)
#define trace_ma_write(...) do { } while (0)

/* Words that other threads see. */

#define barrier() __asm__ volatile("" ::: "memory")
#define READ_ONCE(word) (*(const volatile __typeof__(word) *)&(word))
#define WRITE_ONCE(word, value) (*(volatile __typeof__(word) *)&(word) = (value))
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_load_acquire(pointer) __atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#define smp_store_release(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELEASE)

/* Locks: one compare-and-swap, as in the kernel if there is no contention. */

typedef struct { int locked; } spinlock_t;
struct lockdep_map { };
struct lock_class_key { };

void furlong_wait_for(spinlock_t *lock);

static inline void spin_lock(spinlock_t *lock)
{
	int free = 0;

	if (unlikely(!__atomic_compare_exchange_n(&lock->locked, &free, 1, false,
						  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		furlong_wait_for(lock);
}

static inline void spin_unlock(spinlock_t *lock)
{
	__atomic_store_n(&lock->locked, 0, __ATOMIC_RELEASE);
}

#define spin_lock_init(lock) ((void)((lock)->locked = 0))
#define DEFINE_SPINLOCK(name) spinlock_t name = { 0 }
#define spin_lock_irqsave(lock, flags) do { (flags) = 0; spin_lock(lock); } while (0)
#define spin_unlock_irqrestore(lock, flags) do { (void)(flags); spin_unlock(lock); } while (0)
#define lock_is_held(map) 1
#define lockdep_is_held(lock) 1
#define lockdep_assert_held(lock) do { } while (0)
#define assert_spin_locked(lock) do { } while (0)
#define might_sleep() do { } while (0)
#define cond_resched() do { } while (0)

struct mutex { spinlock_t lock; };
#define DEFINE_MUTEX(name) struct mutex name = { { 0 } }
#define mutex_lock(mutex) spin_lock(&(mutex)->lock)
#define mutex_unlock(mutex) spin_unlock(&(mutex)->lock)

/* Read-copy-update: see kernel.c. */

struct callback_head {
	struct callback_head *next;
	void (*func)(struct callback_head *head);
};
#define rcu_head callback_head
typedef void (*rcu_callback_t)(struct callback_head *head);

struct furlong_reader {
	unsigned long since;
	unsigned int depth;
	bool is_known;
	struct furlong_reader *next;
};
extern __thread struct furlong_reader furlong_reader;
extern unsigned long furlong_period;
void furlong_know_reader(void);
void call_rcu(struct callback_head *head, rcu_callback_t func);

static inline void rcu_read_lock(void)
{
	struct furlong_reader *reader = &furlong_reader;

	if (reader->depth++)
		return;
	if (unlikely(!reader->is_known))
		furlong_know_reader();
	WRITE_ONCE(reader->since, smp_load_acquire(&furlong_period));
	barrier();
}

static inline void rcu_read_unlock(void)
{
	struct furlong_reader *reader = &furlong_reader;

	if (--reader->depth == 0)
		smp_store_release(&reader->since, 0);
}

#define rcu_dereference(pointer) READ_ONCE(pointer)
#define rcu_dereference_raw(pointer) READ_ONCE(pointer)
#define rcu_dereference_check(pointer, condition) READ_ONCE(pointer)
#define rcu_dereference_protected(pointer, condition) (pointer)
#define rcu_access_pointer(pointer) READ_ONCE(pointer)
#define rcu_assign_pointer(pointer, value) smp_store_release(&(pointer), value)
#define RCU_INIT_POINTER(pointer, value) WRITE_ONCE(pointer, value)

/* Memory: see kernel.c. */

#define __GFP_ZERO 1U
#define __GFP_NOWARN 2U
#define __GFP_DIRECT_RECLAIM 4U
#define __GFP_ACCOUNT 0U
#define GFP_NOWAIT 0U
#define GFP_ATOMIC 0U
#define GFP_KERNEL __GFP_DIRECT_RECLAIM
#define gfpflags_allow_blocking(flags) (((flags) & __GFP_DIRECT_RECLAIM) != 0)
#define SLAB_HWCACHE_ALIGN 1U
#define SLAB_PANIC 2U

struct kmem_cache;
struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align,
				     slab_flags_t flags, void (*ctor)(void *));
void kmem_cache_destroy(struct kmem_cache *cache);
void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags);
void kmem_cache_free(struct kmem_cache *cache, void *object);
int kmem_cache_alloc_bulk(struct kmem_cache *cache, gfp_t flags, size_t count, void **objects);
void kmem_cache_free_bulk(struct kmem_cache *cache, size_t count, void **objects);
#define kmem_cache_zalloc(cache, flags) kmem_cache_alloc(cache, (flags) | __GFP_ZERO)
#define kmalloc(size, flags) malloc(size)
#define kzalloc(size, flags) calloc(1, size)
#define kcalloc(count, size, flags) calloc(count, size)
#define kfree(object) free(object)
#define kvfree(object) free(object)

/* CPUs: a thread is on the CPU that it was told. Each CPU's own memory is two cache lines away
 * from the next one's. */

#define FURLONG_CPUS 8
#define FURLONG_CPU_STRIDE 128
#define NR_CPUS FURLONG_CPUS
extern __thread unsigned int furlong_cpu;
void *__alloc_percpu(size_t size, size_t align);
#define alloc_percpu(type) ((type *)__alloc_percpu(sizeof(type), __alignof__(type)))
#define free_percpu(pointer) free(pointer)
#define cache_line_size() 64
#define per_cpu_ptr(pointer, cpu) \
	((__typeof__(*(pointer)) *)((char *)(pointer) + (size_t)(cpu) * FURLONG_CPU_STRIDE))
#define raw_cpu_ptr(pointer) per_cpu_ptr(pointer, furlong_cpu)
#define this_cpu_ptr(pointer) raw_cpu_ptr(pointer)
#define smp_processor_id() furlong_cpu
#define raw_smp_processor_id() furlong_cpu
#define num_online_cpus() FURLONG_CPUS
#define num_possible_cpus() FURLONG_CPUS
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < FURLONG_CPUS; (cpu)++)
#define for_each_online_cpu(cpu) for_each_possible_cpu(cpu)

/* CPU hotplug: CPUs never come or go. */

struct hlist_node { struct hlist_node *next, **pprev; };
#define hlist_entry_safe(pointer, type, member) \
	((pointer) ? container_of(pointer, type, member) : NULL)
enum { CPUHP_IOMMU_IOVA_DEAD };
#define cpuhp_setup_state_multi(state, name, up, down) ((void)(up), (void)(down), 0)
#define cpuhp_remove_multi_state(state) do { } while (0)
#define cpuhp_state_add_instance_nocalls(state, node) ((void)(node), 0)
#define cpuhp_state_remove_instance_nocalls(state, node) do { } while (0)

/* Numbers in place of pointers, as in an xarray: odd words are the user's, words that end in binary
 * 10 are the tree's own. */

#define xa_mk_value(number) ((void *)((unsigned long)(number) << 1 | 1))
#define xa_to_value(entry) ((unsigned long)(entry) >> 1)
#define xa_is_value(entry) (((unsigned long)(entry) & 1) != 0)
#define xa_mk_internal(number) ((void *)((unsigned long)(number) << 2 | 2))
#define xa_to_internal(entry) ((unsigned long)(entry) >> 2)
#define xa_is_internal(entry) (((unsigned long)(entry) & 3) == 2)
#define xa_is_node(entry) (xa_is_internal(entry) && (unsigned long)(entry) > 4096)
#define XA_RETRY_ENTRY xa_mk_internal(256)
#define XA_ZERO_ENTRY xa_mk_internal(257)
#define xa_is_zero(entry) unlikely((void *)(entry) == XA_ZERO_ENTRY)
#define xa_is_advanced(entry) \
	(xa_is_internal(entry) && (unsigned long)(entry) <= (unsigned long)XA_RETRY_ENTRY)
#define xa_is_err(entry) \
	unlikely(xa_is_internal(entry) && \
		 (unsigned long)(entry) >= (unsigned long)xa_mk_internal(-MAX_ERRNO))
#define xa_err(entry) (xa_is_err(entry) ? (int)((long)(entry) >> 2) : 0)

#endif

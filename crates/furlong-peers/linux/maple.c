/* Linux's maple tree for the lab: trees of areas as in mm, each area a number.
 *
 * A `shared` tree has readers without a lock and writers that take the tree's own. The other kind
 * has one owner, who needs no lock. Both store their gaps. */
#include <linux/maple_tree.h>

struct tree {
	struct maple_tree areas;
	bool shared;
	unsigned long count;
};

#define KIND(shared) (MT_FLAGS_ALLOC_RANGE | ((shared) ? 0 : MT_FLAGS_LOCK_EXTERN))

static void lock(struct tree *tree)
{
	if (tree->shared)
		mtree_lock(&tree->areas);
}

static void unlock(struct tree *tree)
{
	if (tree->shared)
		mtree_unlock(&tree->areas);
}

/* A new tree. It becomes an RCU tree only once others can see it. */
static struct tree *made(bool shared)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (tree) {
		mt_init_flags(&tree->areas, KIND(shared));
		tree->shared = shared;
	}
	return tree;
}

EXPORT struct tree *furlong_linux_maple_new(bool shared)
{
	struct tree *tree = made(shared);

	if (tree && shared)
		mt_set_in_rcu(&tree->areas);
	return tree;
}

EXPORT void furlong_linux_maple_drop(struct tree *tree)
{
	lock(tree);
	__mt_destroy(&tree->areas);
	unlock(tree);
	free(tree);
}

EXPORT bool furlong_linux_maple_store(struct tree *tree, u64 first, u64 last, u32 number)
{
	MA_STATE(at, &tree->areas, first, last);
	int refused;

	lock(tree);
	refused = mas_store_gfp(&at, xa_mk_value(number), GFP_KERNEL);
	tree->count++;
	unlock(tree);
	return !refused;
}

/* Erases an area; returns its number plus 1, or 0 if there is no area. */
EXPORT u64 furlong_linux_maple_erase(struct tree *tree, u64 address)
{
	MA_STATE(at, &tree->areas, address, address);
	void *erased;

	lock(tree);
	erased = mas_erase(&at);
	tree->count -= erased != NULL;
	unlock(tree);
	return erased ? (u64)xa_to_value(erased) + 1 : 0;
}

/* Finds an area; returns its number plus 1, or 0 if there is no area. */
EXPORT u64 furlong_linux_maple_find(struct tree *tree, u64 address)
{
	void *found = mtree_load(&tree->areas, address);

	return found ? (u64)xa_to_value(found) + 1 : 0;
}

/* The sum of the results for all addresses, in one read-side critical section. */
EXPORT u64 furlong_linux_maple_look_up(struct tree *tree, const u64 *addresses, size_t count)
{
	u64 sum = 0;

	rcu_read_lock();
	for (size_t at = 0; at < count; at++)
		sum += furlong_linux_maple_find(tree, addresses[at]);
	rcu_read_unlock();
	return sum;
}

/* The sum over all areas of the number and of first XOR last address. */
EXPORT u64 furlong_linux_maple_sum(struct tree *tree)
{
	MA_STATE(at, &tree->areas, 0, 0);
	void *area;
	u64 sum = 0;

	rcu_read_lock();
	mas_for_each(&at, area, ULONG_MAX)
		sum += (at.index ^ at.last) + xa_to_value(area);
	rcu_read_unlock();
	return sum;
}

/* Copies the areas that `keeps` selects, as a fork does: first nodes for all of them, then one area
 * after the other. */
EXPORT struct tree *furlong_linux_maple_duplicate(struct tree *from,
						  bool (*keeps)(const void *, u32),
						  const void *context)
{
	struct tree *to = made(from->shared);
	void *area;

	if (!to)
		return NULL;
	MA_STATE(in, &from->areas, 0, 0);
	MA_STATE(out, &to->areas, 0, 0);
	lock(from);
	lock(to);
	if (mas_expected_entries(&out, from->count))
		goto refused;
	mas_for_each(&in, area, ULONG_MAX) {
		if (keeps && !keeps(context, xa_to_value(area)))
			continue;
		out.index = in.index;
		out.last = in.last;
		mas_store(&out, area);
		if (mas_is_err(&out))
			goto refused;
		to->count++;
	}
	mas_destroy(&out);
	unlock(to);
	unlock(from);
	if (to->shared)
		mt_set_in_rcu(&to->areas);
	return to;
refused:
	mas_destroy(&out);
	unlock(to);
	unlock(from);
	furlong_linux_maple_drop(to);
	return NULL;
}

EXPORT void furlong_linux_maple_lock(struct tree *tree)
{
	lock(tree);
}

EXPORT void furlong_linux_maple_unlock(struct tree *tree)
{
	unlock(tree);
}

/* The start of the lowest or highest gap of `len`, or the last address of all; under the lock. A
 * length above the window's is not passed on, because 6.1 would find room before the window. Nor is
 * a window of one address, which it refuses. */
EXPORT u64 furlong_linux_maple_gap(struct tree *tree, u64 first, u64 last, u64 len, bool lowest)
{
	MA_STATE(at, &tree->areas, first, first);

	if (len - 1 > last - first)
		return ULONG_MAX;
	if (first == last)
		return mas_walk(&at) ? ULONG_MAX : first;
	if (lowest)
		return mas_empty_area(&at, first, last, len) ? ULONG_MAX : at.index;
	return mas_empty_area_rev(&at, first, last, len) ? ULONG_MAX : at.last - (len - 1);
}

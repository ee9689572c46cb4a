/* Linux's red-black tree for the lab: preallocated nodes are inserted and removed, with or without
 * a summary of each node's subtree: the first and the last address, and the largest gap. */
#include <linux/rbtree_augmented.h>

struct summary { u64 first, last, gap; };

struct page_node {
	struct rb_node links;
	u64 start, last;
	struct summary below;
};

struct tree {
	struct rb_root root;
	struct page_node *nodes;
	size_t count;
	bool has_summaries;
};

static struct page_node *node_of(struct rb_node *links)
{
	return rb_entry(links, struct page_node, links);
}

static struct summary summed(const struct page_node *node)
{
	struct summary sum = { node->start, node->last, 0 };

	if (node->links.rb_left) {
		const struct summary *left = &node_of(node->links.rb_left)->below;

		sum.first = left->first;
		sum.gap = max(left->gap, node->start - left->last - 1);
	}
	if (node->links.rb_right) {
		const struct summary *right = &node_of(node->links.rb_right)->below;
		u64 beside = max(right->gap, right->first - node->last - 1);

		sum.last = right->last;
		sum.gap = max(sum.gap, beside);
	}
	return sum;
}

/* Updates a summary. Returns true if it was unchanged, so that the propagation may end. */
static bool sum_up(struct page_node *node, bool may_end)
{
	struct summary sum = summed(node);

	if (may_end && sum.first == node->below.first && sum.last == node->below.last &&
	    sum.gap == node->below.gap)
		return true;
	node->below = sum;
	return false;
}

RB_DECLARE_CALLBACKS(static, summaries, struct page_node, links, below, sum_up)

EXPORT struct tree *furlong_linux_rbtree_new(size_t count, bool has_summaries)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->nodes = aligned_alloc(64, round_up(count * sizeof(*tree->nodes), 64));
	if (!tree->nodes) {
		free(tree);
		return NULL;
	}
	memset(tree->nodes, 0, count * sizeof(*tree->nodes));
	tree->count = count;
	tree->has_summaries = has_summaries;
	return tree;
}

EXPORT void furlong_linux_rbtree_drop(struct tree *tree)
{
	free(tree->nodes);
	free(tree);
}

/* Sets the extent of a node that is not in the tree. */
EXPORT void furlong_linux_rbtree_place(struct tree *tree, size_t at, u64 start, u64 last)
{
	tree->nodes[at].start = start;
	tree->nodes[at].last = last;
}

EXPORT void furlong_linux_rbtree_insert(struct tree *tree, size_t at)
{
	struct page_node *node = &tree->nodes[at];
	struct rb_node **link = &tree->root.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = node->last < node_of(parent)->last ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&node->links, parent, link);
	if (!tree->has_summaries) {
		rb_insert_color(&node->links, &tree->root);
		return;
	}
	node->below = (struct summary){ node->start, node->last, 0 };
	if (parent)
		summaries_propagate(parent, NULL);
	rb_insert_augmented(&node->links, &tree->root, &summaries);
}

EXPORT void furlong_linux_rbtree_remove(struct tree *tree, size_t at)
{
	struct rb_node *links = &tree->nodes[at].links;

	if (tree->has_summaries)
		rb_erase_augmented(links, &tree->root, &summaries);
	else
		rb_erase(links, &tree->root);
}

/* The node with this last address, or the number of nodes if there is none. */
EXPORT size_t furlong_linux_rbtree_find(struct tree *tree, u64 last)
{
	struct rb_node *links = tree->root.rb_node;

	while (links) {
		struct page_node *node = node_of(links);

		if (last == node->last)
			return node - tree->nodes;
		links = last < node->last ? links->rb_left : links->rb_right;
	}
	return tree->count;
}

EXPORT void furlong_linux_rbtree_clear(struct tree *tree)
{
	tree->root = RB_ROOT;
}

static struct rb_node *moved(struct rb_node *links, ptrdiff_t by)
{
	return links ? (struct rb_node *)((char *)links + by) : NULL;
}

/* Makes the tree a copy of `from`, which has as many nodes. */
EXPORT void furlong_linux_rbtree_copy(struct tree *tree, const struct tree *from)
{
	ptrdiff_t by = (char *)tree->nodes - (char *)from->nodes;

	for (size_t at = 0; at < tree->count; at++) {
		struct page_node node = from->nodes[at];

		node.links.rb_left = moved(node.links.rb_left, by);
		node.links.rb_right = moved(node.links.rb_right, by);
		/* The colour is in the lowest bits, which adding a multiple of 64 does not change. */
		if (node.links.__rb_parent_color & ~3UL)
			node.links.__rb_parent_color += by;
		tree->nodes[at] = node;
	}
	tree->root.rb_node = moved(from->root.rb_node, by);
}

/* Writes the nodes in order, up to `room` of them. Returns their number, or SIZE_MAX if their order
 * or a summary is wrong. */
EXPORT size_t furlong_linux_rbtree_list(const struct tree *tree, u32 *nodes, size_t room)
{
	const struct page_node *before = NULL;
	size_t count = 0;

	for (struct rb_node *links = rb_first(&tree->root); links; links = rb_next(links)) {
		struct page_node *node = node_of(links);
		struct summary sum = summed(node);

		if (before && before->last >= node->start)
			return SIZE_MAX;
		if (tree->has_summaries && memcmp(&sum, &node->below, sizeof(sum)))
			return SIZE_MAX;
		if (count < room)
			nodes[count] = (u32)(node - tree->nodes);
		count++;
		before = node;
	}
	return count;
}

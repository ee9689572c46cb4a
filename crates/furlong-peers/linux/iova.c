/* Linux's allocator of device addresses for the lab: a domain's tree, and the magazines over it. */
#include <linux/iova.h>

struct domain {
	struct iova_domain pages;
	unsigned long last;
	bool has_magazines;
};

/* A domain over pages `first` to `last`, with nothing reserved. */
EXPORT struct domain *furlong_linux_iova_new(u64 first, u64 last, bool has_magazines)
{
	struct domain *domain = aligned_alloc(64, round_up(sizeof(*domain), 64));

	if (!domain)
		return NULL;
	memset(domain, 0, sizeof(*domain));
	domain->last = last;
	domain->has_magazines = has_magazines;
	init_iova_domain(&domain->pages, PAGE_SIZE, first);
	if (has_magazines && iova_domain_init_rcaches(&domain->pages)) {
		free(domain);
		return NULL;
	}
	return domain;
}

EXPORT void furlong_linux_iova_drop(struct domain *domain)
{
	put_iova_domain(&domain->pages);
	free(domain);
}

/* Reserves exactly these pages, which must be free. */
EXPORT struct iova *furlong_linux_iova_reserve_at(struct domain *domain, u64 first, u64 last)
{
	return reserve_iova(&domain->pages, first, last);
}

/* Reserves a number of pages at or below page `limit`, from the tree. */
EXPORT struct iova *furlong_linux_iova_reserve(struct domain *domain, u64 pages, u64 limit,
					       bool aligned)
{
	return alloc_iova(&domain->pages, pages, limit, aligned);
}

EXPORT u64 furlong_linux_iova_first(const struct iova *iova)
{
	return iova->pfn_lo;
}

EXPORT void furlong_linux_iova_release(struct domain *domain, struct iova *iova)
{
	__free_iova(&domain->pages, iova);
}

/* Reserves pages through a CPU's magazines. Returns the first page, or 0. */
EXPORT u64 furlong_linux_iova_reserve_fast(struct domain *domain, unsigned int cpu, u64 pages)
{
	furlong_cpu = cpu;
	return alloc_iova_fast(&domain->pages, pages, domain->last, true);
}

EXPORT void furlong_linux_iova_release_fast(struct domain *domain, unsigned int cpu, u64 first,
					    u64 pages)
{
	furlong_cpu = cpu;
	free_iova_fast(&domain->pages, first, pages);
}

/* Writes first and last page of each reserved range in ascending order, up to `room` of them.
 * Returns their number. First it empties the magazines into the tree, by a request that must fail:
 * for more pages than the space has. */
EXPORT size_t furlong_linux_iova_list(struct domain *domain, u64 (*extents)[2], size_t room)
{
	size_t count = 0;

	if (domain->has_magazines)
		(void)alloc_iova_fast(&domain->pages, domain->last + 2, domain->last, true);
	for (struct rb_node *node = rb_first(&domain->pages.rbroot); node; node = rb_next(node)) {
		const struct iova *iova = rb_entry(node, struct iova, node);

		if (iova == &domain->pages.anchor)
			continue;
		if (count < room) {
			extents[count][0] = iova->pfn_lo;
			extents[count][1] = iova->pfn_hi;
		}
		count++;
	}
	return count;
}

/* Device addresses: each function with valid and with invalid arguments. */

#include "check.h"

#define PAGE 4096

static struct furlong_iova *below_4g(void)
{
	struct furlong_iova *space;

	FINE(furlong_iova_create(&space, 0, 0xffffffff, PAGE));
	return space;
}

static void refuses_null(void)
{
	struct furlong_iova *space = below_4g();
	struct furlong_iova_request request;
	struct furlong_iova_grant grant;
	struct furlong_iova_owned owned;
	struct furlong_extent gap;
	char memory[64];

	FINE(furlong_iova_request(&request, 1));
	EQUAL(furlong_iova_create(NULL, 0, 0xfff, PAGE), -EINVAL);
	EQUAL(furlong_iova_create_in(NULL, memory, sizeof memory, 0, 0xfff, PAGE), -EINVAL);
	EQUAL(furlong_iova_create_in(&space, NULL, 1 << 20, 0, 0xfff, PAGE), -EINVAL);
	EQUAL(furlong_iova_request(NULL, 1), -EINVAL);
	EQUAL(furlong_iova_reserve(NULL, &request, &grant), -EINVAL);
	EQUAL(furlong_iova_reserve(space, NULL, &grant), -EINVAL);
	EQUAL(furlong_iova_reserve(space, &request, NULL), -EINVAL);
	EQUAL(furlong_iova_reserve_at(NULL, 0, 0xfff, NULL), -EINVAL);
	EQUAL(furlong_iova_reserve_fixed(NULL, 0, 0xfff, NULL), -EINVAL);
	EQUAL(furlong_iova_fill(NULL, 0, 0xfff, NULL), -EINVAL);
	EQUAL(furlong_iova_release(NULL, 0, 0xfff), -EINVAL);
	EQUAL(furlong_iova_release_range(NULL, 0, 0xfff, NULL), -EINVAL);
	EQUAL(furlong_iova_owner(NULL, 0, &owned), -EINVAL);
	EQUAL(furlong_iova_owner(space, 0, NULL), -EINVAL);
	EQUAL(furlong_iova_next(NULL, 0, &owned), -EINVAL);
	EQUAL(furlong_iova_next(space, 0, NULL), -EINVAL);
	EQUAL(furlong_iova_next_free(NULL, 0, &gap), -EINVAL);
	EQUAL(furlong_iova_next_free(space, 0, NULL), -EINVAL);
	EQUAL(furlong_iova_prepare(NULL, 1), -EINVAL);
	EQUAL(furlong_iova_len(NULL), 0);
	EQUAL(furlong_iova_check(NULL), -EINVAL);
	furlong_iova_destroy(NULL);
	EQUAL(furlong_iova_len(space), 0);
	furlong_iova_destroy(space);
}

static void refuses_such_spaces(void)
{
	struct furlong_iova *space;

	EQUAL(furlong_iova_create(&space, 0, 0xffff, 0), -EINVAL);
	EQUAL(furlong_iova_create(&space, 0, 0xffff, 3000), -EINVAL);
	EQUAL(furlong_iova_create(&space, 0x800, 0xffff, PAGE), -EINVAL);
	EQUAL(furlong_iova_create(&space, 0, 0xfffe, PAGE), -EINVAL);
	EQUAL(furlong_iova_create(&space, 0x10000, 0xffff, PAGE), -EINVAL);
	FINE(furlong_iova_create(&space, 0, UINT64_MAX, 1));
	furlong_iova_destroy(space);
}

static void places_what_is_asked_for(void)
{
	struct furlong_iova *space = below_4g();
	struct furlong_iova_request request;
	struct furlong_iova_grant grant;

	FINE(furlong_iova_request(&request, 9000));
	request.align = 1 << 16;
	request.low = 1;
	FINE(furlong_iova_reserve(space, &request, &grant));
	CHECK(grant.start == 0x10000 && grant.last == 0x12fff);
	CHECK(grant.data_start == 0x10000 && grant.data_last == 0x10000 + 8999);

	FINE(furlong_iova_request(&request, 100));
	request.offset = 8;
	request.policy = FURLONG_IOVA_HIGHEST;
	FINE(furlong_iova_reserve(space, &request, &grant));
	CHECK(grant.start == 0xfffff000 && grant.data_start == 0xfffff008);
	request.policy = FURLONG_IOVA_NEAR;
	request.hint = 0x20000000;
	FINE(furlong_iova_reserve(space, &request, &grant));
	EQUAL(grant.start, 0x20000000);
	request.policy = FURLONG_IOVA_BEST;
	FINE(furlong_iova_reserve(space, &request, &grant));
	EQUAL(grant.start, 0);
	request.policy = FURLONG_IOVA_RANDOM;
	request.exclude_low = 0xfffff;
	request.exclude_high = 0x7fffffff;
	for (request.hint = 0; request.hint < 50; request.hint++) {
		FINE(furlong_iova_reserve(space, &request, &grant));
		CHECK(grant.last <= 0xfffff || grant.start > 0x7fffffff);
	}
	EQUAL(furlong_iova_len(space), 54);
	FINE(furlong_iova_check(space));

	FINE(furlong_iova_request(&request, PAGE));
	request.low = 0x40000000;
	request.guard_before = 2;
	request.guard_after = 1;
	FINE(furlong_iova_reserve(space, &request, &grant));
	FINE(furlong_iova_reserve(space, &request, &grant));
	EQUAL(grant.start, 0x40003000);
	furlong_iova_destroy(space);
}

static void refuses_such_requests(void)
{
	struct furlong_iova *space;
	struct furlong_iova_request request;
	struct furlong_iova_grant grant;

	FINE(furlong_iova_create(&space, 0, 0xffff, PAGE));
#define REFUSED(change, error) do { \
		FINE(furlong_iova_request(&request, PAGE)); \
		change; \
		EQUAL(furlong_iova_reserve(space, &request, &grant), error); \
	} while (0)
	REFUSED(request.size = 0, -EINVAL);
	REFUSED(request.align = 0, -EINVAL);
	REFUSED(request.align = 3, -EINVAL);
	REFUSED(request.offset = PAGE, -EINVAL);
	REFUSED(request.boundary = 3, -EINVAL);
	REFUSED((request.low = 2, request.high = 1), -EINVAL);
	REFUSED(request.policy = 99, -EINVAL);
	REFUSED((request.size = 3 * PAGE, request.boundary = PAGE), -E2BIG);
	REFUSED((request.size = UINT64_MAX, request.offset = 2), -EOVERFLOW);
	REFUSED(request.guard_after = UINT64_MAX, -EOVERFLOW);
	REFUSED(request.size = 0x10001, -ENOSPC);
	REFUSED(request.low = 0x10000, -ENOSPC);
	EQUAL(furlong_iova_len(space), 0);

	/* If it may be split, it is shorter instead. */
	FINE(furlong_iova_request(&request, 3 * PAGE));
	request.boundary = PAGE;
	request.is_split = 1;
	FINE(furlong_iova_reserve(space, &request, &grant));
	CHECK(grant.data_last == PAGE - 1 && furlong_iova_len(space) == 1);
	furlong_iova_destroy(space);
}

static void reserves_and_releases_by_address(void)
{
	struct furlong_iova *space = below_4g();
	struct furlong_extent conflict;
	size_t count;

	FINE(furlong_iova_reserve_at(space, 0x1000, 0x3fff, NULL));
	EQUAL(furlong_iova_reserve_at(space, 0x3000, 0x4fff, &conflict), -EEXIST);
	CHECK(conflict.start == 0x1000 && conflict.last == 0x3fff);
	EQUAL(furlong_iova_reserve_at(space, 0x4000, 0x4ffe, NULL), -EINVAL);
	EQUAL(furlong_iova_reserve_at(space, 0x5000, 0x4fff, NULL), -EINVAL);
	EQUAL(furlong_iova_reserve_at(space, 0x100000000, 0x100000fff, NULL), -ERANGE);

	EQUAL(furlong_iova_release(space, 0x1000, 0x1fff), -EBUSY);
	EQUAL(furlong_iova_release(space, 0x5000, 0x5fff), -ENOENT);
	EQUAL(furlong_iova_release(space, 0x1001, 0x3fff), -EINVAL);
	EQUAL(furlong_iova_release(space, 0x2000, 0x1fff), -EINVAL);
	FINE(furlong_iova_release_range(space, 0x2000, 0x2fff, &count));
	EQUAL(count, 1);
	EQUAL(furlong_iova_len(space), 2);
	FINE(furlong_iova_release_range(space, 0x2000, 0x2fff, &count));
	EQUAL(count, 0);
	EQUAL(furlong_iova_release_range(space, 0x2000, 0x2ffe, NULL), -EINVAL);
	EQUAL(furlong_iova_release_range(space, 0xfffff000, 0x100000fff, NULL), -ERANGE);
	FINE(furlong_iova_fill(space, 0, 0x4fff, &count));
	EQUAL(count, 3);
	EQUAL(furlong_iova_fill(space, 1, 0x4fff, NULL), -EINVAL);
	EQUAL(furlong_iova_fill(space, 0, 0x100000fff, NULL), -ERANGE);
	FINE(furlong_iova_release(space, 0x1000, 0x1fff));
	EQUAL(furlong_iova_release(space, 0x1000, 0x1fff), -ENOENT);
	FINE(furlong_iova_check(space));
	furlong_iova_destroy(space);
}

static void keeps_fixed_regions(void)
{
	struct furlong_iova *space = below_4g();
	struct furlong_iova_owned owned;
	size_t count;

	FINE(furlong_iova_reserve_fixed(space, 0x3000, 0x4fff, &count));
	EQUAL(count, 1);
	FINE(furlong_iova_reserve_fixed(space, 0x1000, 0x8fff, &count));
	EQUAL(count, 2);
	FINE(furlong_iova_reserve_at(space, 0x9000, 0x9fff, NULL));
	EQUAL(furlong_iova_reserve_fixed(space, 0x8000, 0x9fff, NULL), -EEXIST);
	EQUAL(furlong_iova_reserve_fixed(space, 1, 0x9fff, NULL), -EINVAL);
	EQUAL(furlong_iova_reserve_fixed(space, 0, 0x100000fff, NULL), -ERANGE);
	FINE(furlong_iova_release_range(space, 0, 0xffff, &count));
	EQUAL(count, 1);
	FINE(furlong_iova_owner(space, 0x3fff, &owned));
	CHECK(owned.start == 0x3000 && owned.last == 0x4fff && owned.kind == FURLONG_IOVA_FIXED);
	EQUAL(furlong_iova_release(space, 0x3000, 0x4fff), -EPERM);
	EQUAL(furlong_iova_release(space, 0x3000, 0x3fff), -EBUSY);
	FINE(furlong_iova_release_fixed(space, 0x3000, 0x4fff));
	EQUAL(furlong_iova_release_fixed(space, 0x3000, 0x4fff), -ENOENT);
	EQUAL(furlong_iova_release_fixed(NULL, 0x3000, 0x4fff), -EINVAL);
	EQUAL(furlong_iova_owner(space, 0x3fff, &owned), -ENOENT);
	FINE(furlong_iova_reserve_at(space, 0x3000, 0x4fff, NULL));
	EQUAL(furlong_iova_release_fixed(space, 0x3000, 0x4fff), -EPERM);
	FINE(furlong_iova_release(space, 0x3000, 0x4fff));
	EQUAL(furlong_iova_owner(space, UINT64_MAX, &owned), -ENOENT);
	furlong_iova_destroy(space);
}

static void goes_through(void)
{
	struct furlong_iova *space = below_4g();
	struct furlong_iova_owned owned = {0, 0, 0, 0};
	struct furlong_extent gap = {0, 0};
	uint64_t seen, at;

	for (at = 0; at < 100; at++)
		FINE(furlong_iova_reserve_at(space, at * 0x2000, at * 0x2000 + 0xfff, NULL));
	for (seen = 0, at = 0; furlong_iova_next(space, at, &owned) == 0; at = owned.last + 1) {
		EQUAL(owned.start, seen++ * 0x2000);
		EQUAL(owned.kind, FURLONG_IOVA_GRANTED);
	}
	EQUAL(seen, 100);
	for (seen = 0, at = 0; furlong_iova_next_free(space, at, &gap) == 0; at = gap.last + 1)
		EQUAL(gap.start, seen++ * 0x2000 + 0x1000);
	EQUAL(seen, 100);
	EQUAL(gap.last, 0xffffffff);
	FINE(furlong_iova_next_free(space, 0x1800, &gap));
	CHECK(gap.start == 0x1800 && gap.last == 0x1fff);
	FINE(furlong_iova_release_range(space, 0x4000, 0x4fff, NULL));
	EQUAL(furlong_iova_next(space, 99 * 0x2000 + 0x1000, &owned), -ENOENT);
	EQUAL(furlong_iova_next(space, UINT64_MAX, &owned), -ENOENT);
	furlong_iova_destroy(space);
}

static void lives_in_memory_that_is_handed_in(void)
{
	static char memory[1 << 14];
	struct furlong_iova *space;
	size_t bytes = furlong_iova_bytes(10), reserved;
	int answer = 0;

	CHECK(bytes > 0 && bytes < sizeof memory);
	EQUAL(furlong_iova_bytes(SIZE_MAX), -1);
	EQUAL(furlong_iova_create_in(&space, memory, 8, 0, 0xffffffff, PAGE), -ENOMEM);
	EQUAL(furlong_iova_create_in(&space, memory, SIZE_MAX, 0, 0xffff, PAGE), -EINVAL);
	EQUAL(furlong_iova_create_in(&space, memory, bytes, 0, 0xffff, 5), -EINVAL);
	/* The memory need not be aligned. */
	FINE(furlong_iova_create_in(&space, memory + 1, bytes, 0, 0xffffffff, PAGE));
	CHECK((char *)space > memory && (char *)space < memory + sizeof memory);
	FINE(furlong_iova_prepare(space, 10));
	for (reserved = 0; answer == 0; reserved += answer == 0)
		answer = furlong_iova_reserve_at(space, reserved * 0x2000, reserved * 0x2000 + 0xfff,
						 NULL);
	EQUAL(answer, -ENOMEM);
	CHECK(reserved >= 10 && furlong_iova_len(space) == reserved);
	EQUAL(furlong_iova_prepare(space, 1), -ENOMEM);
	EQUAL(furlong_iova_release_range(space, 0, 0xffffffff, NULL), 0);
	FINE(furlong_iova_check(space));
	furlong_iova_destroy(space);
	/* We have the memory back. */
	memset(memory, 0xff, sizeof memory);
	FINE(furlong_iova_create_in(&space, memory, bytes, 0, 0xffffffff, PAGE));
	FINE(furlong_iova_reserve_at(space, 0, 0xfff, NULL));
	furlong_iova_destroy(space);
}

int main(void)
{
	refuses_null();
	refuses_such_spaces();
	places_what_is_asked_for();
	refuses_such_requests();
	reserves_and_releases_by_address();
	keeps_fixed_regions();
	goes_through();
	lives_in_memory_that_is_handed_in();
	return done("iova");
}

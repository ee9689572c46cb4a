/* The output of a test: the number of right results, or the first wrong one. */

#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <furlong.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long checked;

static inline void check_that(int is_so, const char *what, const char *file, int line)
{
	if (!is_so) {
		fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
		exit(1);
	}
	checked++;
}

static inline void check_equal(int64_t got, int64_t want, const char *what, const char *file,
			       int line)
{
	if (got != want) {
		fprintf(stderr, "%s:%d: %s is %" PRId64 ", not %" PRId64 "\n", file, line, what, got,
			want);
		exit(1);
	}
	checked++;
}

#define CHECK(what) check_that((what) ? 1 : 0, #what, __FILE__, __LINE__)
#define EQUAL(got, want) \
	check_equal((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
#define FINE(answer) EQUAL(answer, 0)

static inline int done(const char *system)
{
	printf("%s: %lu answers as expected\n", system, checked);
	return 0;
}

#endif

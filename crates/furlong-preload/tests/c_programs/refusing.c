/* Replaces mmap and mremap, and refuses calls: from the call that REFUSE_FROM names on, or as
   refuse_from says. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNKNOWN = -2, NEVER = -1 };

/* The number of calls that are still served. */
static long served = UNKNOWN;
static int once;

void refuse_from(long call, int only_that) {
  served = call;
  once = only_that;
}

static int is_refused(void) {
  if (served == UNKNOWN) {
    char *from = getenv("REFUSE_FROM");
    served = from ? atol(from) : NEVER;
  }
  if (served == NEVER) return 0;
  if (served > 0) {
    served--;
    return 0;
  }
  if (once) served = NEVER;
  errno = ENOMEM;
  return 1;
}

void *mmap(void *start, size_t len, int protection, int flags, int file, off_t offset) {
  if (is_refused()) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, start, len, protection, flags, file, offset);
}

void *mremap(void *start, size_t old, size_t len, int flags, ...) {
  va_list more;
  va_start(more, flags);
  void *to = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
  va_end(more);
  if (is_refused()) return MAP_FAILED;
  return (void *)syscall(SYS_mremap, start, old, len, flags, to);
}

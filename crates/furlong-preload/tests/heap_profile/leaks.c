// Three functions that leak, for a program that loads this library.
#include <stdlib.h>

static char *volatile last;

static inline __attribute__((always_inline)) void leak(int count, size_t size) {
  for (int i = 0; i < count; i++) last = malloc(size);
}

void leak_10_mb(void) { leak(100000, 100); }

void leak_20_mb(void) { leak(100000, 200); }

void leak_30_mb(void) { leak(100000, 300); }

/* Works while the system refuses memory. Existing blocks stay unchanged, failed requests are
   refused as C says, and afterwards everything works as before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 30, CALLS = 8 };

static const size_t sizes[] = {1,     16,    100,    1000,    5000,
                               20000, 65000, 200000, 2300000, 3 << 20};

struct held {
  unsigned char *block;
  size_t size;
};

static long refused;

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  abort();
}

/* True if a call returned no block, and reported that correctly. */
static int nothing(void *block, int said) {
  if (block) return 0;
  if (said != ENOMEM) fail("null without ENOMEM");
  refused++;
  return 1;
}

static void *allocate(int number, size_t size) {
  size_t align = (size_t)16 << number % 14;
  void *block = NULL;
  int said;
  errno = 0;
  switch (number % 4) {
    case 0: block = malloc(size); break;
    case 1: block = calloc(size, 1); break;
    case 2: block = aligned_alloc(align, size); break;
    default:
      said = posix_memalign(&block, align, size);
      if (said && block) fail("a block and an error");
      return nothing(block, said) ? NULL : block;
  }
  if (number % 4 == 1 && block && ((char *)block)[size - 1]) fail("not zero");
  return nothing(block, errno) ? NULL : block;
}

static void *work(void *unused) {
  struct held held[BLOCKS];
  (void)unused;
  for (int number = 0; number < BLOCKS; number++) {
    size_t size = sizes[number % (sizeof sizes / sizeof *sizes)];
    unsigned char *block = allocate(number, size);
    held[number] = (struct held){block, size};
    if (!block) continue;
    memset(block, number, size);
    errno = 0;
    unsigned char *longer = realloc(block, size * 2 + 1);
    if (!nothing(longer, errno)) held[number].block = longer;
  }
  for (int number = 0; number < BLOCKS; number++) {
    struct held *here = &held[number];
    for (size_t at = 0; here->block && at < here->size; at++)
      if (here->block[at] != number) fail("a block was overwritten");
    errno = 77;
    free(here->block);
    if (errno != 77) fail("free changed errno");
  }
  return NULL;
}

int main(void) {
  void (*refuse_from)(long, int) = (void (*)(long, int))dlsym(RTLD_DEFAULT, "refuse_from");
  if (!refuse_from) fail("nobody refuses");
  work(NULL);
  long first = refused;
  for (long call = 0; call < 2 * CALLS; call++) {
    pthread_t made;
    /* A new thread needs a heap, if there is no ended one. */
    refuse_from(call / 2, (int)call % 2);
    work(NULL);
    int error = pthread_create(&made, NULL, work, NULL);
    if (!error) pthread_join(made, NULL);
    refuse_from(-1, 0);
    malloc_trim(0);
  }
  long before = refused;
  work(NULL);
  if (refused != before) fail("refused without need");
  printf("%ld at first, %ld then\n", first, refused - first);
  return 0;
}

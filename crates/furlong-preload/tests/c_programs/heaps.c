/* What furlong_malloc.h declares: heaps COMMAND. Most commands end with a line of what they have
   seen; those of the second kind make a mistake that must stop the program. */
#define _GNU_SOURCE
#include <errno.h>
#include <furlong_malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MUST(fact) \
  do { \
    if (!(fact)) { \
      fprintf(stderr, "line %d: not %s\n", __LINE__, #fact); \
      exit(3); \
    } \
  } while (0)

static struct furlong_malloc_statistics now(void) {
  struct furlong_malloc_statistics now;
  furlong_malloc_statistics(&now, sizeof now);
  return now;
}

static int all(const unsigned char *bytes, size_t len, unsigned char value) {
  for (size_t at = 0; at < len; at++)
    if (bytes[at] != value) return 0;
  return 1;
}

/* Blocks of all kinds; with free_some a part of them is freed one by one. */
static size_t fill(struct furlong_heap *heap, int free_some) {
  static const size_t sizes[] = {1, 16, 100, 1000, 5000, 40000, 70000, 500000, 3000000};
  size_t count = 0;
  for (int round = 0; round < 10; round++) {
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; at++) {
      size_t size = sizes[at];
      unsigned char *block = furlong_heap_malloc(heap, size);
      unsigned char *zeros = furlong_heap_calloc(heap, size, 1);
      unsigned char *aligned = furlong_heap_aligned_alloc(heap, 4096, size);
      MUST(block && zeros && aligned);
      MUST((uintptr_t)block % 16 == 0 && (uintptr_t)aligned % 4096 == 0);
      MUST(all(zeros, size, 0));
      memset(block, 1, size);
      memset(zeros, 2, size);
      memset(aligned, 3, size);
      block = furlong_heap_realloc(heap, block, 2 * size);
      MUST(block && all(block, size, 1) && all(zeros, size, 2) && all(aligned, size, 3));
      count += 3;
      if (free_some && round % 2) {
        furlong_heap_free(heap, zeros);
        MUST(!furlong_heap_realloc(heap, aligned, 0));
        count -= 2;
      }
    }
  }
  return count;
}

static void *destroys(void *heap) {
  memset(furlong_heap_malloc(heap, 100000), 4, 100000);
  furlong_heap_destroy(heap);
  return NULL;
}

static void blocks(void) {
  struct furlong_malloc_statistics before = now(), after;
  size_t counted = 0;
  for (int round = 0; round < 10; round++) {
    struct furlong_heap *heap = furlong_heap_create();
    MUST(heap);
    counted = fill(heap, round % 2);
    after = now();
    /* The handle is a block, too. */
    MUST(after.used_blocks == before.used_blocks + counted + 1);
    MUST(after.heaps == before.heaps + 1 && after.huge_blocks > before.huge_blocks);
    pthread_t thread;
    if (round % 3 == 0) {
      MUST(!pthread_create(&thread, NULL, destroys, heap));
      pthread_join(thread, NULL);
    } else {
      furlong_heap_destroy(heap);
    }
    after = now();
    /* What a thread's start allocated may stay. */
    MUST(after.used_blocks <= before.used_blocks + 4 && after.huge_blocks == before.huge_blocks);
    before = after;
    /* A heap that is left is kept for the next one. */
    before.heaps -= 1;
  }
  printf("%zu blocks\n", counted);
}

static int told;
static char *note;

static void nonsense(void) {
  struct furlong_heap *heap = furlong_heap_create();
  unsigned char raw[sizeof(struct furlong_malloc_statistics) + 16];
  struct furlong_malloc_statistics own = now();
  MUST(heap);
  errno = 0;
  MUST(!furlong_heap_malloc(heap, SIZE_MAX) && errno == ENOMEM);
  errno = 0;
  MUST(!furlong_heap_malloc(heap, PTRDIFF_MAX) && errno == ENOMEM);
  errno = 0;
  MUST(!furlong_heap_calloc(heap, SIZE_MAX / 2, 3) && errno == ENOMEM);
  errno = 0;
  MUST(!furlong_heap_aligned_alloc(heap, 48, 100) && errno == EINVAL);
  errno = 0;
  MUST(!furlong_heap_aligned_alloc(heap, 0, 100) && errno == EINVAL);
  errno = 0;
  MUST(!furlong_heap_malloc(NULL, 1) && errno == EINVAL);
  MUST(!furlong_heap_calloc(NULL, 1, 1) && !furlong_heap_aligned_alloc(NULL, 16, 1));
  MUST(!furlong_heap_realloc(NULL, NULL, 1));
  furlong_heap_free(NULL, NULL);
  furlong_heap_free(heap, NULL);
  furlong_heap_destroy(NULL);
  void *block = furlong_heap_realloc(heap, NULL, 100), *none = furlong_heap_malloc(heap, 0);
  MUST(block && none && block != none);
  memset(block, 7, 100);
  errno = 0;
  MUST(!furlong_heap_realloc(heap, block, SIZE_MAX) && errno == ENOMEM && all(block, 100, 7));
  /* Each failure was told once, and what was allocated meanwhile is not of the heap. */
  MUST(told == 4 && note);
  /* A shorter structure, none, and a longer one. */
  memset(raw, 9, sizeof raw);
  furlong_malloc_statistics((void *)raw, sizeof(size_t));
  MUST(*(size_t *)raw >= own.used_bytes && all(raw + sizeof(size_t), 16, 9));
  furlong_malloc_statistics((void *)raw, 0);
  furlong_malloc_statistics(NULL, sizeof raw);
  furlong_malloc_statistics((void *)raw, sizeof raw);
  MUST(all(raw + sizeof own, 16, 0));
  MUST(furlong_heap_profile("/nowhere/at/all") == -1);
  furlong_heap_destroy(heap);
  MUST((heap = furlong_heap_create()) && furlong_heap_malloc(heap, 100));
  furlong_heap_destroy(heap);
  MUST(all((unsigned char *)note, 100, 5));
  free(note);
  printf("nothing is wrong\n");
}

/* Of a refusal the hook may allocate, even in vain, and keep a block. */
static void tell(int trouble, const void *address) {
  told++;
  if (trouble == FURLONG_MALLOC_REFUSED) {
    MUST(!address && !malloc(SIZE_MAX / 4));
    free(note);
    note = malloc(100);
    if (note) memset(note, 5, 100);
    return;
  }
  char line[64];
  int len = snprintf(line, sizeof line, "trouble %d %s\n", trouble, address ? "there" : "nowhere");
  if (write(1, line, len) != len) _exit(4);
}

/* Makes heaps until there is no more memory. */
static void full(void) {
  enum { MOST = 20000 };
  static struct furlong_heap *heaps[MOST];
  struct rlimit limit = {400 << 20, 400 << 20};
  int made = 0;
  furlong_malloc_on_trouble(tell);
  MUST(!setrlimit(RLIMIT_AS, &limit));
  while (made < MOST && (heaps[made] = furlong_heap_create())) {
    void *block = furlong_heap_malloc(heaps[made++], 50000);
    if (!block) break;
    memset(block, 1, 50000);
  }
  MUST(errno == ENOMEM && made > 50 && made < MOST && told == 1);
  furlong_malloc_on_trouble(NULL);
  int before = told;
  MUST(!malloc(SIZE_MAX / 4) && told == before);
  for (int at = 0; at < made; at++) furlong_heap_destroy(heaps[at]);
  for (int at = 0; at < made / 2; at++) {
    MUST((heaps[at] = furlong_heap_create()));
    MUST(furlong_heap_malloc(heaps[at], 50000));
  }
  printf("there is room again\n");
}

int main(int count, char **arguments) {
  const char *command = count > 1 ? arguments[1] : "";
  struct furlong_heap *heap = furlong_heap_create(), *other = furlong_heap_create();
  MUST(heap && other);
  char *block = furlong_heap_malloc(heap, 100), *large = furlong_heap_malloc(heap, 200000);
  char *plain = malloc(100);
  MUST(block && large && plain);
  furlong_malloc_on_trouble(tell);
  if (!strcmp(command, "blocks")) blocks();
  else if (!strcmp(command, "nonsense")) nonsense();
  else if (!strcmp(command, "full")) full();
  else if (!strcmp(command, "destroyed-twice")) {
    furlong_heap_destroy(other);
    furlong_heap_destroy(other);
  } else if (!strcmp(command, "of-another-heap")) furlong_heap_free(other, block);
  else if (!strcmp(command, "large-of-another-heap")) furlong_heap_free(other, large);
  else if (!strcmp(command, "of-malloc")) furlong_heap_free(heap, plain);
  else if (!strcmp(command, "freed-twice")) {
    furlong_heap_free(heap, block);
    furlong_heap_free(heap, block);
  } else if (!strcmp(command, "freed-inside")) {
    /* The compiler must not see it. */
    char *volatile inside = plain + 16;
    free(inside);
  } else return 2;
  return 0;
}

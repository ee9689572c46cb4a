/* What the rest of a process costs a thread in malloc: latency MODE [COUNT]. Prints one line of
   figures a run. The first three are the longest wait that other threads cause.
   realtime   a SCHED_FIFO thread beside a normal one, both on one CPU.
   middle     as realtime, beside a third thread of a priority between them that never sleeps.
   purge      malloc(100000) beside a thread that frees 300 MB at once, each on a CPU of its own;
              both are SCHED_FIFO, so that nothing else of the machine is measured.
   threads    2,000 threads that start, allocate, free and exit.
   sleepers   malloc(1000) beside 4,000 threads that sleep with a block each, and the blocks that
              one more thread left when it ended.
   holes      a pair of malloc(700000) and free among 16,000 blocks of 600,000 bytes, every second
              of which has been freed: no hole is long enough.
   zones      a heap that is made, gets 100 blocks and goes, beside 4 GiB in use; with allocators that
              have such heaps. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static atomic_int stop, freeing;

static void fail(const char *what) {
  perror(what);
  exit(2);
}

static long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static unsigned next(unsigned *state) {
  *state = *state * 1664525 + 1013904223;
  return *state >> 8;
}

/* Mostly small, sometimes medium, now and then large. */
static size_t size_of(unsigned random) {
  switch (random % 64) {
    case 0: return 70000 + random % 400000;
    case 1 ... 6: return 1024 + random % 60000;
    default: return 16 + random % 1008;
  }
}

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
}

static pthread_t start(void *(*run)(void *), void *with, int priority) {
  pthread_attr_t how;
  pthread_t thread;
  struct sched_param param = {.sched_priority = priority};
  pthread_attr_init(&how);
  pthread_attr_setinheritsched(&how, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&how, priority ? SCHED_FIFO : SCHED_OTHER);
  pthread_attr_setschedparam(&how, &param);
  if (pthread_create(&thread, &how, run, with)) fail("a thread (as root?)");
  return thread;
}

/* Allocates and frees at random among so many places; returns the time of the slowest malloc. */
static long churn(void **places, int count, unsigned *random, int times) {
  long worst = 0;
  for (int round = 0; round < times; round++) {
    int at = next(random) % count;
    size_t size = size_of(next(random));
    free(places[at]);
    long before = now_ns();
    char *block = malloc(size);
    long took = now_ns() - before;
    if (!block) fail("malloc");
    block[0] = block[size - 1] = 1;
    places[at] = block;
    if (took > worst) worst = took;
  }
  return worst;
}

static void *normal(void *unused) {
  void *places[2000] = {0};
  unsigned random = 7;
  (void)unused;
  while (!stop) churn(places, 2000, &random, 100);
  return NULL;
}

static void *middle(void *unused) {
  (void)unused;
  while (!stop) {
  }
  return NULL;
}

static void *urgent(void *times) {
  void *places[200] = {0};
  unsigned random = 11;
  long worst = 0;
  for (int round = 0; round < *(int *)times; round++) {
    struct timespec pause = {.tv_nsec = 100000 + next(&random) % 200000};
    nanosleep(&pause, NULL);
    long took = churn(places, 200, &random, 4);
    /* The first rounds find an empty heap. */
    if (round > 100 && took > worst) worst = took;
  }
  stop = 1;
  printf("worst_us %.1f\n", worst / 1e3);
  return NULL;
}

static void realtime(int times, int with_middle) {
  pin(0);
  pthread_t thread = start(urgent, &times, 80);
  start(normal, NULL, 0);
  if (with_middle) {
    usleep(100000);
    start(middle, NULL, 40);
  }
  pthread_join(thread, NULL);
}

enum { PURGED = 3000, LARGE = 100000 };

static void *purger(void *times) {
  static char *blocks[PURGED];
  pin(1);
  for (int round = 0; round < *(int *)times; round++) {
    for (int at = 0; at < PURGED; at++) memset(blocks[at] = malloc(LARGE), 1, LARGE);
    usleep(30000);
    freeing = 1;
    for (int at = 0; at < PURGED; at++) free(blocks[at]);
    freeing = 0;
  }
  stop = 1;
  return NULL;
}

static int compare(const void *a, const void *b) {
  return (*(long *)a > *(long *)b) - (*(long *)a < *(long *)b);
}

/* Records the worst of each purge; the median and the worst of these are printed. */
static void *asker(void *counted) {
  long *worst = counted;
  int count = 0;
  pin(0);
  while (!stop) {
    if (!freeing) {
      usleep(50);
      continue;
    }
    while (freeing) {
      long before = now_ns();
      char *block = malloc(LARGE);
      long took = now_ns() - before;
      block[0] = 1;
      free(block);
      if (took > worst[count]) worst[count] = took;
    }
    count++;
  }
  return (void *)(size_t)count;
}

static void purge(int times) {
  long *worst = calloc(times + 1, sizeof *worst);
  void *counted;
  pthread_t asks = start(asker, worst, 10), thread = start(purger, &times, 10);
  pthread_join(thread, NULL);
  pthread_join(asks, &counted);
  int count = (int)(size_t)counted;
  if (!count) return;
  qsort(worst, count, sizeof *worst, compare);
  printf("purges %d median_us %.1f worst_us %.1f\n", count, worst[count / 2] / 1e3,
         worst[count - 1] / 1e3);
}

static void *guest(void *seed) {
  void *places[100] = {0};
  unsigned random = (unsigned)(size_t)seed;
  churn(places, 100, &random, 1000);
  for (int at = 0; at < 100; at++) free(places[at]);
  return NULL;
}

static void threads(int times) {
  pthread_t *all = calloc(times, sizeof *all);
  struct rusage usage;
  long before = now_ns();
  for (int at = 0; at < times; at++) all[at] = start(guest, (void *)(size_t)at, 0);
  for (int at = 0; at < times; at++) pthread_join(all[at], NULL);
  double took = (now_ns() - before) / 1e6;
  getrusage(RUSAGE_SELF, &usage);
  printf("ms %.0f rss_mb %.0f switches %ld\n", took, usage.ru_maxrss / 1024.0,
         usage.ru_nvcsw + usage.ru_nivcsw);
}

static pthread_barrier_t asleep;

static void *sleeper(void *unused) {
  char *block = malloc(1000);
  (void)unused;
  if (!block) fail("malloc");
  block[0] = 1;
  pthread_barrier_wait(&asleep);
  pause();
  return block;
}

static void *leaver(void *blocks) {
  for (int at = 0; at < 1000; at++) ((char **)blocks)[at] = malloc(1000);
  return NULL;
}

enum { KEPT = 20000 };

static void sleepers(int times) {
  static char *left[1000], *kept[KEPT];
  pthread_barrier_init(&asleep, NULL, times + 1);
  for (int at = 0; at < times; at++) start(sleeper, NULL, 0);
  pthread_barrier_wait(&asleep);
  pthread_join(start(leaver, left, 0), NULL);
  long before = now_ns();
  for (int at = 0; at < KEPT; at++) {
    kept[at] = malloc(1000);
    if (!kept[at]) fail("malloc");
    kept[at][0] = 1;
  }
  printf("ns %.0f\n", (double)(now_ns() - before) / KEPT);
}

static void holes(int times) {
  char **blocks = calloc(times, sizeof *blocks);
  enum { PAIRS = 20000 };
  for (int at = 0; at < times; at++)
    if (!(blocks[at] = malloc(600000))) fail("malloc");
  for (int at = 0; at < times; at += 2) free(blocks[at]);
  long before = now_ns();
  for (int at = 0; at < PAIRS; at++) {
    char *block = malloc(700000);
    if (!block) fail("malloc");
    *(volatile char *)block = 1;
    free(block);
  }
  printf("ns %.0f\n", (double)(now_ns() - before) / PAIRS);
}

/* A function that the allocator has under one of two names. */
static void *named(const char *one, const char *other) {
  void *found = dlsym(RTLD_DEFAULT, one);
  return found ? found : dlsym(RTLD_DEFAULT, other);
}

static void zones(int times) {
  void *(*create)(void) = (void *(*)(void))named("furlong_heap_create", "mi_heap_new");
  void *(*allocate)(void *, size_t) =
      (void *(*)(void *, size_t))named("furlong_heap_malloc", "mi_heap_malloc");
  void (*destroy)(void *) = (void (*)(void *))named("furlong_heap_destroy", "mi_heap_destroy");
  enum { PIECE = 50000, PIECES = (4L << 30) / PIECE };
  unsigned random = 5;
  long took = 0;
  if (!create || !allocate || !destroy) {
    printf("has no heaps\n");
    return;
  }
  for (int at = 0; at < PIECES; at++) {
    char *piece = malloc(PIECE);
    if (!piece) fail("malloc");
    memset(piece, 1, PIECE);
  }
  long before = now_ns();
  for (int round = 0; round < times; round++) {
    void *heap = create();
    if (!heap) fail("a heap");
    for (int at = 0; at < 100; at++) {
      char *block = allocate(heap, 16 + next(&random) % 1008);
      if (!block) fail("a block of a heap");
      block[0] = 1;
    }
    long end = now_ns();
    destroy(heap);
    took += now_ns() - end;
  }
  printf("ns %.0f drop_ns %.0f\n", (double)(now_ns() - before) / times, (double)took / times);
}

int main(int count, char **arguments) {
  const char *mode = count > 1 ? arguments[1] : "";
  int times = count > 2 ? atoi(arguments[2]) : 0;
  if (!strcmp(mode, "realtime")) realtime(times ? times : 20000, 0);
  else if (!strcmp(mode, "middle")) realtime(times ? times : 20000, 1);
  else if (!strcmp(mode, "purge")) purge(times ? times : 100);
  else if (!strcmp(mode, "threads")) threads(times ? times : 2000);
  else if (!strcmp(mode, "sleepers")) sleepers(times ? times : 4000);
  else if (!strcmp(mode, "holes")) holes(times ? times : 16000);
  else if (!strcmp(mode, "zones")) zones(times ? times : 20000);
  else {
    fprintf(stderr, "usage: latency realtime|middle|purge|threads|sleepers|holes|zones [COUNT]\n");
    return 2;
  }
  return 0;
}

/* Allocations and frees of many threads that run one at a time, for a tool that sees each access to
   memory: lines WORKLOAD THREADS ROUNDS. In a round each thread runs once, in turn.
   own    each frees what it has allocated.
   pass   each frees what the thread before it has allocated.
   one    the first allocates, all others free.
   kept   each keeps what it has allocated.
   The tool learns what happens from stores to `mark`, whose address is printed first. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, BATCH = 16, KEPT = 64 };

/* A store to mark[0] says that a call of the allocator begins, to mark[1] that it has ended, to
   mark[2] that counting begins, to mark[3] that a pair is done, to mark[4 + N] that thread N runs. */
static volatile char mark[4 + MOST];

static void *boxes[MOST][BATCH], *kept[MOST][KEPT][BATCH];
static sem_t go[MOST], done;
static int threads, rounds, round_now;
static const char *workload;

static unsigned next(unsigned *state) {
  *state = *state * 1664525 + 1013904223;
  return *state >> 8;
}

static void *allocated(unsigned *random) {
  size_t size = 16 + next(random) % 497;
  mark[0] = 1;
  char *block = malloc(size);
  mark[1] = 1;
  if (!block) exit(2);
  block[0] = block[size - 1] = 1;
  return block;
}

static void freed(void **place) {
  if (!*place) return;
  *(volatile char *)*place += 1;
  mark[0] = 1;
  free(*place);
  mark[1] = 1;
  mark[3] = 1;
  *place = NULL;
}

static void step(int thread, unsigned *random) {
  int before = (thread + threads - 1) % threads;
  for (int at = 0; at < BATCH; at++) {
    if (!strcmp(workload, "own")) {
      boxes[thread][at] = allocated(random);
    } else if (!strcmp(workload, "pass")) {
      freed(&boxes[before][at]);
      boxes[thread][at] = allocated(random);
    } else if (!strcmp(workload, "one")) {
      if (thread) freed(&boxes[thread][at]);
      else
        for (int other = 1; other < threads; other++) boxes[other][at] = allocated(random);
    } else {
      kept[thread][round_now % KEPT][at] = allocated(random);
      mark[3] = 1;
    }
  }
  if (!strcmp(workload, "own"))
    for (int at = BATCH; at-- > 0;) freed(&boxes[thread][at]);
}

static void *run(void *number) {
  int thread = (int)(size_t)number;
  unsigned random = thread * 7919 + 1;
  for (int round = 0; round < rounds; round++) {
    sem_wait(&go[thread]);
    mark[4 + thread] = 1;
    step(thread, &random);
    sem_post(&done);
  }
  return NULL;
}

int main(int count, char **arguments) {
  static pthread_t all[MOST];
  workload = count > 1 ? arguments[1] : "";
  threads = count > 2 ? atoi(arguments[2]) : 0;
  rounds = count > 3 ? atoi(arguments[3]) : 0;
  int known = !strcmp(workload, "own") || !strcmp(workload, "pass") || !strcmp(workload, "one") ||
              !strcmp(workload, "kept");
  if (!known || threads < 2 || threads > MOST ||
      rounds < 2 || rounds > KEPT) {
    fprintf(stderr, "usage: lines own|pass|one|kept THREADS ROUNDS, at most %d and %d\n", MOST, KEPT);
    return 2;
  }
  printf("%p\n", (void *)mark);
  fflush(stdout);
  sem_init(&done, 0, 0);
  for (int at = 0; at < threads; at++) {
    sem_init(&go[at], 0, 0);
    if (pthread_create(&all[at], NULL, run, (void *)(size_t)at)) return 2;
  }
  /* The first half of the rounds fills caches of all kinds. */
  for (round_now = 0; round_now < rounds; round_now++) {
    if (round_now == rounds / 2) mark[2] = 1;
    for (int at = 0; at < threads; at++) {
      sem_post(&go[at]);
      sem_wait(&done);
    }
  }
  return 0;
}

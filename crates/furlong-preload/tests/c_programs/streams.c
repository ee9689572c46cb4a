/* Threads that fork, read lines from a file, and flush all streams: a fork takes the C library's
   lock of its streams, a flush holds it and waits for a stream, and the reader of that one waits for
   memory. Then, with one thread again, forks from a handler of signals that come at any moment. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEN = 200000, READERS = 3 };
static int stop;
static volatile sig_atomic_t forked;

static int goes_on(void) { return !__atomic_load_n(&stop, __ATOMIC_SEQ_CST); }

static void fork_once(void) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child || status) _exit(3);
}

static void *reads(void *name) {
  FILE *file = fopen(name, "r");
  if (!file) abort();
  while (goes_on()) {
    char *line = NULL;
    size_t room = 0;
    rewind(file);
    if (getline(&line, &room, file) != LEN + 1) abort();
    free(line);
  }
  fclose(file);
  return NULL;
}

static void *flushes(void *unused) {
  /* Not always: others have to get the lock. */
  for (; goes_on(); usleep(20)) fflush(NULL);
  return unused;
}

static void handler(int number) {
  forked += number == SIGALRM;
  fork_once();
}

int main(int arguments, char **argument) {
  if (arguments < 2) return 2;
  if (argument[1][0] == '/') {
    pthread_t readers[READERS], flusher;
    FILE *file = fopen(argument[1], "w");
    if (!file) return 2;
    for (int at = 0; at < LEN; at++) fputc('x', file);
    fputc('\n', file);
    fclose(file);
    for (int at = 0; at < READERS; at++) pthread_create(&readers[at], NULL, reads, argument[1]);
    pthread_create(&flusher, NULL, flushes, NULL);
    alarm(60);
    for (int round = 0; round < 40; round++) fork_once();
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    for (int at = 0; at < READERS; at++) pthread_join(readers[at], NULL);
    pthread_join(flusher, NULL);
  } else {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}};
    void *blocks[64] = {0};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned round = 0; forked < 300; round++) {
      void **block = &blocks[round * 2654435761u >> 26];
      free(*block);
      /* Most are objects above the size classes, and each call of these takes a latch. */
      *block = malloc(round * 40503u % 300000);
      if (!*block) abort();
    }
  }
  puts("it ends");
  return 0;
}

/* A program whose blocks outlive the code that allocated them: a constructor before main,
   destructors of keys that allocate in every round, signal handlers and exit handlers. It prints
   its findings, which should be the same with any allocator. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { KEYS = 40, ROUNDS = 4, THREADS = 300 };

static char *early;

__attribute__((constructor)) static void before_main(void) {
  early = malloc(1000);
  memset(early, 7, 1000);
}

__attribute__((destructor)) static void after_main(void) {
  printf("early block: %d\n", early[999]);
  free(early);
  free(malloc(100));
}

static void at_exit(void) {
  free(malloc(100000));
  puts("exit");
}

struct kept {
  size_t round, key;
  char more[1000];
};

static pthread_key_t keys[KEYS];
static size_t ended;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct kept *keep(size_t round, size_t key) {
  struct kept *kept = malloc(sizeof *kept);
  memset(kept, 0, sizeof *kept);
  kept->round = round;
  kept->key = key;
  pthread_setspecific(keys[key], kept);
  return kept;
}

static void at_thread_end(void *block) {
  struct kept kept = *(struct kept *)block;
  free(block);
  free(calloc(3, 70000));
  if (kept.round < ROUNDS) {
    keep(kept.round + 1, kept.key);
    return;
  }
  pthread_mutex_lock(&mutex);
  ended++;
  pthread_mutex_unlock(&mutex);
}

static void *thread(void *block) {
  free(block);
  /* One of the keys that need no memory, and one that needs some. */
  keep(1, 0);
  keep(1, KEYS - 1);
  return malloc(200);
}

static volatile sig_atomic_t handled;

static void on_signal(int signal) {
  (void)signal;
  char *block = malloc(500);
  memset(block, 1, 500);
  free(block);
  handled++;
}

static void interrupt(void) {
  struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  signal(SIGALRM, on_signal);
  setitimer(ITIMER_REAL, &often, NULL);
  /* Interrupts no allocation, but everything else. */
  while (handled < 20) {
  }
  setitimer(ITIMER_REAL, &never, NULL);
  signal(SIGALRM, SIG_IGN);
}

int main(void) {
  /* The system fills only a part of them. */
  sigset_t before = {0}, after = {0};
  struct sigaction fault;
  atexit(at_exit);
  sigprocmask(SIG_BLOCK, NULL, &before);
  for (size_t key = 0; key < KEYS; key++) pthread_key_create(&keys[key], at_thread_end);
  for (size_t number = 0; number < THREADS; number++) {
    pthread_t made;
    void *block;
    if (pthread_create(&made, NULL, thread, malloc(64))) return 2;
    pthread_join(made, &block);
    free(block);
  }
  interrupt();
  sigprocmask(SIG_BLOCK, NULL, &after);
  sigaction(SIGSEGV, NULL, &fault);
  printf("%zu ends, same mask: %d, no handler of faults: %d\n", ended,
         !memcmp(&before, &after, sizeof before), fault.sa_handler == SIG_DFL);
  return 0;
}

/* Forks COUNT times from each of THREADS threads, beside one that allocates all the time under the
   lock of a library with fork handlers. Each child allocates, and starts a thread that does. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern int handled[3];
void under_lock(int is_child);

static int count, stop;

static void *work(void *unused) {
  for (size_t size = 16; size < 200000; size *= 3) {
    char *block = malloc(size);
    if (!block) abort();
    free(memset(block, 3, 16));
  }
  return unused;
}

static void *beside(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
    under_lock(0);
    work(NULL);
    /* The lock goes to the first thread that tries, and that must not always be this one. */
    usleep(100);
  }
  return unused;
}

static void *forks(void *unused) {
  for (int round = 0; round < count; round++) {
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
      pthread_t thread;
      /* Ends a child that waits for ever. */
      alarm(30);
      under_lock(1);
      if (pthread_create(&thread, NULL, work, NULL)) _exit(1);
      work(NULL);
      pthread_join(thread, NULL);
      _exit(handled[2] == 1 ? 0 : 2);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status) {
      printf("a child ended with %d\n", status);
      exit(1);
    }
    work(NULL);
  }
  return unused;
}

int main(int arguments, char **argument) {
  int threads = arguments > 2 ? atoi(argument[2]) : 1;
  pthread_t other, all[threads];
  count = atoi(argument[1]);
  alarm(300);
  /* A single thread has no other beside it. */
  if (threads > 1) pthread_create(&other, NULL, beside, NULL);
  for (int at = 1; at < threads; at++) pthread_create(&all[at], NULL, forks, NULL);
  forks(NULL);
  for (int at = 1; at < threads; at++) pthread_join(all[at], NULL);
  __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
  if (threads > 1) pthread_join(other, NULL);
  printf("%d forks, handlers %d %d\n", count * threads, handled[0], handled[1]);
  return handled[0] == count * threads && handled[1] == count * threads ? 0 : 1;
}

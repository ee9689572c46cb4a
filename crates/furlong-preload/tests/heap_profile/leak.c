// Leaks 20 MB in one function and frees 40 MB in another, in four threads; asks for profiles before
// that by a signal and afterwards by a call; and forks a child that leaks 10 MB more.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[4][50000];

__attribute__((noinline)) void *planted_leak(size_t size) {
  char *block = malloc(size);
  return block ? memset(block, 1, size) : block;
}

__attribute__((noinline)) void frees_all(void) {
  for (int i = 0; i < 100000; i++) {
    char *volatile block = malloc(100);
    *block = 1;
    free(block);
  }
}

static void *work(void *place) {
  void **place_of_own = place;
  for (int i = 0; i < 25000; i++) place_of_own[i] = planted_leak(200);
  frees_all();
  return NULL;
}

int main(int count, char **arguments) {
  raise(SIGUSR2);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, kept[i]);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  int (*profile)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "furlong_heap_profile");
  if (!profile || profile(arguments[count - 1]) != 0 || profile("/nowhere/x") != -1) return 1;
  // Another process may clobber what the environment was.
  memset(getenv("FURLONG_MALLOC_HEAP_PROFILE"), 'x', 3);
  if (fork() == 0) {
    for (int i = 0; i < 50000; i++) kept[0][i] = planted_leak(200);
    exit(0);
  }
  int status;
  return wait(&status) < 0 || status != 0;
}

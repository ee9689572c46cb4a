/* A library whose constructor registers fork handlers. They allocate, and hold a lock under which
   threads allocate, too. This is allowed, since the lock is the library's own. With PAST_ALL they
   are registered directly with the C library, as by a program that was linked with it before any
   other; then they hold no lock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int past_all;
enum { KEPT = 24 };
static __thread char *kept[KEPT];
int handled[3];

/* Blocks of all kinds, some of which are kept until the next fork. */
static void allocate(void) {
  for (size_t at = 0; at < KEPT; at++) {
    size_t size = 16 + at * at * at * 10;
    free(kept[at]);
    kept[at] = malloc(size);
    if (!kept[at]) abort();
    memset(kept[at], 1, 16);
    free(malloc(size + 100));
  }
}

/* The work of a thread meanwhile. A thread that forks without the lock may have left it taken. */
void under_lock(int is_child) {
  if (is_child && past_all) return;
  pthread_mutex_lock(&lock);
  for (size_t size = 16; size < 300000; size *= 2) free(memset(malloc(size), 2, 16));
  pthread_mutex_unlock(&lock);
}

static void before(void) {
  if (!past_all) pthread_mutex_lock(&lock);
  __atomic_fetch_add(&handled[0], 1, __ATOMIC_SEQ_CST);
  allocate();
}

static void after(int which) {
  __atomic_fetch_add(&handled[which], 1, __ATOMIC_SEQ_CST);
  allocate();
  if (!past_all) pthread_mutex_unlock(&lock);
}

static void in_parent(void) { after(1); }
static void in_child(void) { after(2); }

__attribute__((constructor)) static void told(void) {
  typedef int told_of(void (*)(void), void (*)(void), void (*)(void), void *);
  past_all = getenv("PAST_ALL") != NULL;
  if (!past_all) {
    pthread_atfork(before, in_parent, in_child);
    return;
  }
  void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  told_of *direct = (told_of *)dlsym(library, "__register_atfork");
  direct(before, in_parent, in_child, NULL);
}

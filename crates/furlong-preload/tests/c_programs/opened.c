/* Opens an allocator as one library among others, uses it in a thread, and closes it before the
   thread ends. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void *library;

static void *thread(void *nothing) {
  void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(library, "malloc");
  void (*release)(void *) = (void (*)(void *))dlsym(library, "free");
  if (!allocate || !release) return nothing;
  for (size_t size = 1; size < 300000; size = size * 3 + 1) {
    char *block = allocate(size);
    memset(block, 1, size);
    release(block);
  }
  dlclose(library);
  return &library;
}

int main(int count, char **arguments) {
  pthread_t made;
  void *done = NULL;
  library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  if (pthread_create(&made, NULL, thread, NULL)) return 3;
  pthread_join(made, &done);
  return done ? 0 : 4;
}

/* mixed COUNT: random mixed, like hakmem's bench_random_mixed, with 256 slots and seed 42. With
   NOTHING each call is to a function that does nothing. */
#include <stdint.h>
#include <stdlib.h>

enum { SLOTS = 256 };

#ifdef NOTHING
static char block[4096];
__attribute__((noipa)) static void *allocate(size_t size) {
  (void)size;
  return block;
}
__attribute__((noipa)) static void release(void *block) { (void)block; }
#else
#define allocate malloc
#define release free
#endif

int main(int argc, char **argv) {
  static char *slots[SLOTS];
  if (argc != 2) return 2;
  uint32_t random = 42;
  for (long left = atol(argv[1]); left > 0; left--) {
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    char **slot = &slots[random % SLOTS];
    if (*slot) {
      release(*slot);
      *slot = NULL;
    } else {
      char *new = allocate(16 + (random & 0x3ff));
      if (!new) return 1;
      *new = 1;
      *slot = new;
    }
  }
  return 0;
}

/* pairs COUNT SIZE LIVE: COUNT pairs of malloc and free, beside LIVE blocks in use. The loop is in
   assembly, so that it is the same six instructions with any compiler. */
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  long count = atol(argv[1]), size = atol(argv[2]);
  for (long live = atol(argv[3]); live > 0; live--)
    if (!malloc(size)) return 1;
  if (count == 0) return 0;
  __asm__ volatile(
      "1: mov %1, %%rdi\n"
      "call *malloc@GOTPCREL(%%rip)\n"
      "mov %%rax, %%rdi\n"
      "call *free@GOTPCREL(%%rip)\n"
      "dec %0\n"
      "jnz 1b\n"
      : "+b"(count)
      : "r"(size)
      : "rax", "rcx", "rdx", "rdi", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
  return 0;
}

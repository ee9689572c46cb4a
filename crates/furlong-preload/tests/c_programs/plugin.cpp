/* A plugin in C++ for a program in C, which has no C++ library that all see. */
#include <cstdint>
#include <cstdio>
#include <new>

static int asked;

extern "C" int out_of_memory() {
  std::set_new_handler([] { if (++asked == 2) std::set_new_handler(nullptr); });
  int caught = 0;
  try { ::operator delete(::operator new(PTRDIFF_MAX - 4096)); } catch (std::bad_alloc &) { caught++; }
  std::set_new_handler([] { throw std::bad_alloc(); });
  if (!::operator new(PTRDIFF_MAX - 4096, std::nothrow)) caught++;
  std::printf("%d asked, %d caught\n", asked, caught);
  return 0;
}

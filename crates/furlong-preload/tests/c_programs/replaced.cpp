/* A program with basic operators of its own, whose blocks have a header that `free` must not see, and
   every other form of `new` and `delete`, which call them. With ONLY_NEW it has no `delete`, and asks
   for more than it was asked for. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

const std::size_t HEADER = 64;
const std::size_t NEVER = 1000;
long made, gone;

void *make(std::size_t size, std::size_t align) {
  if (size == NEVER) throw std::bad_alloc();
#ifdef ONLY_NEW
  made++, gone++;
  return std::aligned_alloc(4096, (2 * size + 4095) / 4096 * 4096);
#endif
  void *start;
  std::size_t header = align > HEADER ? align : HEADER;
  if (posix_memalign(&start, header, header + size)) throw std::bad_alloc();
  made++;
  return static_cast<char *>(start) + header;
}

[[maybe_unused]] void give(void *block, std::size_t align) {
  if (!block) return;
  gone++;
  std::free(static_cast<char *>(block) - (align > HEADER ? align : HEADER));
}

}  // namespace

void *operator new(std::size_t size) { return make(size, 1); }
void *operator new(std::size_t size, std::align_val_t at) { return make(size, std::size_t(at)); }
#ifndef ONLY_NEW
void operator delete(void *block) noexcept { give(block, 1); }
void operator delete(void *block, std::align_val_t at) noexcept { give(block, std::size_t(at)); }
#endif

int main() {
  const std::align_val_t at{4096};
  long before = made;
  const std::size_t sizes[] = {1, 48, 2000, 100000};
  for (std::size_t size : sizes) {
    ::operator delete(::operator new(size), size);
    ::operator delete(::operator new(size, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](size));
    ::operator delete[](::operator new[](size), size);
    ::operator delete[](::operator new[](size, std::nothrow), std::nothrow);
    ::operator delete(::operator new(size, at), size, at);
    ::operator delete(::operator new(size, at, std::nothrow), at, std::nothrow);
    ::operator delete[](::operator new[](size, at), at);
    ::operator delete[](::operator new[](size, at), size, at);
    ::operator delete[](::operator new[](size, at, std::nothrow), at, std::nothrow);
  }
  bool none = !::operator new(NEVER, std::nothrow) && !::operator new[](NEVER, std::nothrow) &&
              !::operator new(NEVER, at, std::nothrow) && !::operator new[](NEVER, at, std::nothrow);
  int thrown = 0;
  try { ::operator delete[](::operator new[](NEVER)); } catch (std::bad_alloc &) { thrown++; }
  try { ::operator delete[](::operator new[](NEVER, at), at); } catch (std::bad_alloc &) { thrown++; }
  std::printf("%ld made, %s, %s, %d thrown\n", made - before, made == gone ? "all gone" : "some lost",
              none ? "none at the end" : "too many", thrown);
}

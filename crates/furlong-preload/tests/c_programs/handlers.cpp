/* The result of each form of `new` if out of memory, with each kind of new-handler, a line each. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <sys/resource.h>

namespace {

const std::size_t NEVER = PTRDIFF_MAX - 4096;
const std::size_t ALIGN = 4096;

int calls;
void *reserve;

struct Mine : std::bad_alloc {
  static int alive;
  Mine() { alive++; }
  Mine(const Mine &other) : std::bad_alloc(other) { alive++; }
  ~Mine() override { alive--; }
};
int Mine::alive;

/* A frame between the handler and `new` with a destructor. */
struct Undone {
  static int count;
  ~Undone() { count++; }
};
int Undone::count;

void throws_bad_alloc() { Undone undone; calls++; throw std::bad_alloc(); }
void throws_derived() { Undone undone; calls++; throw Mine(); }
void throws_number() { Undone undone; calls++; throw 7; }
void installs_null() { calls++; std::set_new_handler(nullptr); }
void throws_later() { if (++calls == 3) throw std::bad_alloc(); }
void frees() {
  calls++;
  if (!reserve) std::set_new_handler(nullptr);
  std::free(reserve);
  reserve = nullptr;
}

struct Form {
  const char *name;
  void *(*get)(std::size_t);
  void (*give)(void *);
};

const std::align_val_t at{ALIGN};
void drop(void *block) { ::operator delete(block); }
void drop_row(void *block) { ::operator delete[](block); }
void drop_at(void *block) { ::operator delete(block, at); }
void drop_row_at(void *block) { ::operator delete[](block, at); }

const Form FORMS[] = {
    {"new", [](std::size_t size) { return ::operator new(size); }, drop},
    {"new[]", [](std::size_t size) { return ::operator new[](size); }, drop_row},
    {"new at", [](std::size_t size) { return ::operator new(size, at); }, drop_at},
    {"new[] at", [](std::size_t size) { return ::operator new[](size, at); }, drop_row_at},
    {"nothrow", [](std::size_t size) { return ::operator new(size, std::nothrow); }, drop},
    {"nothrow[]", [](std::size_t size) { return ::operator new[](size, std::nothrow); }, drop_row},
    {"nothrow at", [](std::size_t size) { return ::operator new(size, at, std::nothrow); }, drop_at},
    {"nothrow[] at", [](std::size_t size) { return ::operator new[](size, at, std::nothrow); },
     drop_row_at},
};

const struct {
  const char *name;
  std::new_handler handler;
} HANDLERS[] = {
    {"none", nullptr},           {"bad_alloc", throws_bad_alloc}, {"derived", throws_derived},
    {"number", throws_number},   {"null", installs_null},         {"third", throws_later},
    {"frees", frees},
};

void ask(const Form &form, std::size_t size) {
  try {
    void *block = form.get(size);
    std::printf("%s", block ? "a block" : "null");
    form.give(block);
  } catch (const Mine &) {
    std::printf("its own bad_alloc");
  } catch (const std::bad_alloc &) {
    std::printf("bad_alloc");
  } catch (...) {
    std::printf("something");
  }
}

} // namespace

int main() {
  const std::size_t LARGE = std::size_t(300) << 20;
  for (const Form &form : FORMS) {
    for (const auto &with : HANDLERS) {
      bool may_succeed = with.handler == frees;
      calls = 0;
      Undone::count = 0;
      if (may_succeed) {
        rlimit limit = {};
        reserve = std::malloc(LARGE);
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = std::size_t(500) << 20;
        setrlimit(RLIMIT_AS, &limit);
      }
      std::set_new_handler(with.handler);
      std::printf("%s, %s: ", form.name, with.name);
      ask(form, may_succeed ? LARGE : NEVER);
      std::printf(", %d calls, %d undone, %d alive, %d flying\n", calls, Undone::count, Mine::alive,
                  std::uncaught_exceptions());
      if (may_succeed) {
        rlimit limit = {};
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_AS, &limit);
      }
      std::set_new_handler(nullptr);
    }
  }
}

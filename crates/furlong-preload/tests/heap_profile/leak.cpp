// Leaks 20 MB through `new` in one method, and frees 40 MB of vectors in another function.
#include <string>
#include <vector>

struct Cache {
  std::vector<std::string *> kept;

  __attribute__((noinline)) void planted_leak(int at) {
    kept.push_back(new std::string(200 + at % 2, 'x'));
  }
};

__attribute__((noinline)) long frees_all(int at) {
  std::vector<long> numbers(50, at);
  return numbers[at % 50];
}

int main() {
  auto *cache = new Cache;
  long sum = 0;
  for (int i = 0; i < 100000; i++) cache->planted_leak(i), sum += frees_all(i);
  return sum == 0;
}

/* Prints if the system trusts this process's environment, and a variable from it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

int main(void) {
  char *value = getenv("FURLONG_MALLOC_STATISTICS");
  void *block = malloc(100);
  if (!block) return 2;
  free(block);
  printf("%lu %s\n", getauxval(AT_SECURE), value ? value : "nothing");
  return 0;
}

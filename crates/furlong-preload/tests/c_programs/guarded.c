/* A mistake with a block that has guard pages: guarded MISTAKE. Every block that can have guard
   pages must have them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void handled(int signal) {
  (void)signal;
  _exit(7);
}

int main(int count, char **arguments) {
  const char *mistake = count > 1 ? arguments[1] : "";
  /* The first call of the slow path only chooses which is the first with guard pages. */
  free(malloc(50));
  volatile char *block = malloc(100);
  memset((char *)block, 1, 100);
  if (!strcmp(mistake, "none")) {
    for (int at = 0; at < 20000; at++) {
      char *other = malloc(1 + at % 3000);
      if (!other || !(other = realloc(other, 1 + at % 5000))) return 2;
      memset(other, 3, 1 + at % 5000);
      free(other);
    }
    puts("right");
  } else if (!strcmp(mistake, "past")) block[112] = 2;
  else if (!strcmp(mistake, "before")) block[-4096] = 2;
  else if (!strcmp(mistake, "freed")) {
    free((char *)block);
    block[5] = 2;
  } else if (!strcmp(mistake, "read")) {
    free((char *)block);
    return block[5];
  } else if (!strcmp(mistake, "null")) *(volatile char *)NULL = 1;
  else if (!strcmp(mistake, "sent")) kill(getpid(), SIGSEGV), sleep(10);
  else if (!strcmp(mistake, "own")) {
    signal(SIGSEGV, handled);
    block[112] = 2;
  }
  return 0;
}

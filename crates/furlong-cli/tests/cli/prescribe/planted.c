/* Programs whose memory is known; the argument names one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static void *filled(size_t bytes) {
    void *block = malloc(bytes);
    if (!block)
        exit(9);
    return memset(block, 1, bytes);
}

static void *fills(void *blocks) {
    void **kept = blocks;
    for (int at = 0; at < 16; at++)
        kept[at] = filled(MIB / 2);
    return NULL;
}

int main(int count, char **words) {
    const char *name = count > 1 ? words[1] : "";
    if (!strcmp(name, "sparse")) {
        /* One of 256 MiB is touched. */
        char *block = calloc(256, MIB);
        memset(block + 100 * MIB, 1, MIB);
        free(block);
    } else if (!strcmp(name, "threads")) {
        /* Four threads fill 8 MiB each, which the first one frees. */
        pthread_t threads[4];
        static void *kept[4][16];
        for (int at = 0; at < 4; at++)
            pthread_create(&threads[at], NULL, fills, kept[at]);
        for (int at = 0; at < 4; at++)
            pthread_join(threads[at], NULL);
        for (int at = 0; at < 64; at++)
            free(kept[at / 16][at % 16]);
    } else if (!strcmp(name, "fork")) {
        /* A child adds 16 MiB to the 32 of its parent. */
        char *block = filled(32 * MIB);
        if (fork() == 0) {
            char *more = filled(16 * MIB);
            _exit(more[5] + block[7] == 2 ? 0 : 1);
        }
        int status;
        wait(&status);
        return status != 0;
    } else if (!strcmp(name, "realloc")) {
        /* A block grows to 24 MiB, and shrinks to one. */
        char *block = NULL;
        for (size_t bytes = 4096; bytes <= 24 * MIB; bytes += 64 * 4096) {
            block = realloc(block, bytes);
            memset(block, 1, bytes);
        }
        block = realloc(block, MIB);
        for (size_t at = 0; at < MIB; at++)
            if (block[at] != 1)
                return 1;
    } else if (!strcmp(name, "leak")) {
        /* 20 MiB in small blocks stay, a quarter each tenth of a second, and the program ends at
           once. */
        for (int at = 0; at < 20480; at++) {
            if (at && at % 5120 == 0)
                usleep(100000);
            filled(1000);
        }
        _exit(0);
    } else if (!strcmp(name, "mapped")) {
        /* 48 MiB lie outside the heap. */
        void *map = mmap(NULL, 48 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(map, 1, 48 * MIB);
        munmap(map, 48 * MIB);
        free(filled(MIB));
    } else {
        return 2;
    }
    puts("done");
    return 0;
}

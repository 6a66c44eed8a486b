/* Threads that the VM does not know, and that allocate and free memory all the time. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, BLOCKS = 64 };

static void *storm(void *seed) {
    unsigned random = (unsigned)(size_t)seed;
    char *blocks[BLOCKS] = {0};
    for (;;) {
        unsigned block = rand_r(&random) % BLOCKS;
        size_t size = rand_r(&random) % 30000;
        free(blocks[block]);
        blocks[block] = malloc(size);
        if (blocks[block] != NULL) memset(blocks[block], 1, size);
    }
    return NULL;
}

__attribute__((constructor)) static void start(void) {
    for (size_t i = 1; i <= THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, storm, (void *)i) == 0) pthread_detach(thread);
    }
}

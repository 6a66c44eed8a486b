/* The native methods of Native.java. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void Environment;
typedef void Class;

/* So that compilers do not leave out what is not used. */
void *volatile used;

__attribute__((noinline)) static void *take(size_t bytes) {
    void *block = malloc(bytes);
    used = block;
    memset(block, 1, bytes);
    return block;
}

void Java_Native_leak(Environment *environment, Class *class, int blocks, int bytes) {
    for (int at = 0; at < blocks; at++) {
        take(bytes);
    }
}

void Java_Native_balance(Environment *environment, Class *class, int blocks, int bytes) {
    for (int at = 0; at < blocks; at++) {
        free(take(bytes));
    }
}

void Java_Native_grow(Environment *environment, Class *class, int blocks) {
    for (int at = 0; at < blocks; at++) {
        void *block = calloc(10, 10);
        used = block;
        for (int bytes = 200; bytes <= 6400; bytes *= 2) {
            block = realloc(block, bytes);
            used = block;
        }
    }
}

struct amount {
    int blocks;
    int bytes;
};

static void *thread_leaks(void *amount) {
    struct amount *wanted = amount;
    for (int at = 0; at < wanted->blocks; at++) {
        take(wanted->bytes);
    }
    return NULL;
}

static void *thread_balances(void *amount) {
    struct amount *wanted = amount;
    for (int at = 0; at < wanted->blocks; at++) {
        free(take(wanted->bytes));
    }
    return NULL;
}

static void run(int threads, void *(*body)(void *), struct amount amount) {
    for (int at = 0; at < threads; at++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, body, &amount) == 0) {
            pthread_join(thread, NULL);
        }
    }
}

void Java_Native_threads(Environment *environment, Class *class, int threads, int blocks, int bytes) {
    run(threads, thread_leaks, (struct amount){blocks, bytes});
}

void Java_Native_balancedThreads(Environment *environment, Class *class, int threads, int blocks, int bytes) {
    run(threads, thread_balances, (struct amount){blocks, bytes});
}

struct functions {
    void *reserved[169];
    const char *(*get_string)(void *, void *, void *);
    void (*release_string)(void *, void *, const char *);
};

int Java_Native_load(struct functions **environment, Class *class, void *path, int times) {
    const char *name = (*environment)->get_string(environment, path, NULL);
    int loaded = 0;
    for (int at = 0; at < times; at++) {
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            continue;
        }
        void *(*other)(void *, void *, int, int) = dlsym(library, "Java_Native_balance");
        if (other != NULL) {
            other(environment, class, 100, 64);
            loaded++;
        }
        dlclose(library);
    }
    (*environment)->release_string(environment, path, name);
    return loaded;
}

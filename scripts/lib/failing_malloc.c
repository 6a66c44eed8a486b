/*
 * Fails allocations of the agent, and of nobody else: preloaded into a JVM, it answers null to calls that come from the code of
 * libhprof.so, and to those that the C library makes on its behalf, such as for its thread-local data. For tests alone.
 *
 *   HPROF_MALLOC_ONE_IN=N   fails one call in N, at random, by HPROF_MALLOC_SEED
 *   HPROF_MALLOC_FROM=N     fails from the Nth call on, HPROF_MALLOC_TIMES calls in a row (for ever by default)
 *   HPROF_MALLOC_LEAST=N    fails only calls for N bytes or more
 *   HPROF_MALLOC_THREADS=1  fails only calls of the C library for thread-local data and its destructors
 *   HPROF_MALLOC_SIGN=FILE  creates this file at the first failure
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { CALLS = 16 };

struct code {
    _Atomic uintptr_t begin, end;
};

static struct code agent, c_library, loader;
static _Atomic uint64_t calls, state;
static const char *_Atomic sign;
static uint64_t one_in, from, times, least, threads;

static uint64_t number(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static int is_in(struct code *code, void *address) {
    uintptr_t at = (uintptr_t)address;
    uintptr_t begin = atomic_load_explicit(&code->begin, memory_order_relaxed);
    return begin && at >= begin && at < atomic_load_explicit(&code->end, memory_order_relaxed);
}

static int look(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    struct code *code = strstr(name, "/libhprof.so") ? &agent
                        : strstr(name, "/libc.so.")  ? &c_library
                        : strstr(name, "/ld-linux")  ? &loader
                                                     : NULL;
    for (int i = 0; code && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            uintptr_t first = info->dlpi_addr + part->p_vaddr;
            atomic_store(&code->end, first + part->p_memsz);
            atomic_store(&code->begin, first);
        }
    }
    return 0;
}

void *dlopen(const char *name, int flags) {
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    void *library = next(name, flags);
    if (library && name && strstr(name, "libhprof.so") && !atomic_load(&agent.begin)) {
        // The first call allocates.
        void *calls[1];
        backtrace(calls, 1);
        one_in = number("HPROF_MALLOC_ONE_IN", 0);
        from = number("HPROF_MALLOC_FROM", UINT64_MAX);
        times = number("HPROF_MALLOC_TIMES", UINT64_MAX);
        least = number("HPROF_MALLOC_LEAST", 0);
        threads = number("HPROF_MALLOC_THREADS", 0);
        atomic_store(&sign, getenv("HPROF_MALLOC_SIGN"));
        atomic_store(&state, number("HPROF_MALLOC_SEED", 1) * 0x9e3779b97f4a7c15u);
        dl_iterate_phdr(look, NULL);
    }
    return library;
}

static int is_system(void *address) {
    return is_in(&c_library, address) || is_in(&loader, address);
}

/* Whether the C library allocates on behalf of the agent, with no other library's code in between. */
static int is_for_agent(void) {
    void *calls[CALLS];
    int count = backtrace(calls, CALLS), i = 0;
    while (i < count && !is_system(calls[i]))
        i++;
    while (i < count && is_system(calls[i]))
        i++;
    if (i == count || !is_in(&agent, calls[i]))
        return 0;
    /* All that a program calls in the loader itself is the function that finds thread-local data. */
    Dl_info called;
    return !threads || is_in(&loader, calls[i - 1]) ||
           (dladdr(calls[i - 1], &called) && called.dli_sname && !strcmp(called.dli_sname, "__cxa_thread_atexit_impl"));
}

static int is_chosen(uint64_t call) {
    if (call >= from)
        return call - from < times;
    if (!one_in)
        return 0;
    uint64_t random = atomic_fetch_add(&state, 0x9e3779b97f4a7c15u);
    random = (random ^ random >> 30) * 0xbf58476d1ce4e5b9u;
    random = (random ^ random >> 27) * 0x94d049bb133111ebu;
    return (random ^ random >> 31) % one_in == 0;
}

static int fails(void *caller, size_t size) {
    if (!atomic_load_explicit(&agent.begin, memory_order_relaxed) || size < least)
        return 0;
    if (is_in(&agent, caller) ? threads : !is_system(caller) || !is_for_agent())
        return 0;
    if (!is_chosen(atomic_fetch_add(&calls, 1)))
        return 0;
    const char *file = atomic_exchange(&sign, NULL);
    if (file)
        close(open(file, O_CREAT | O_WRONLY, 0600));
    return 1;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) {
    return fails(CALLER, size) ? (errno = ENOMEM, NULL) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails(CALLER, count * size) ? (errno = ENOMEM, NULL) : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    return fails(CALLER, size) ? (errno = ENOMEM, NULL) : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails(CALLER, size) ? (errno = ENOMEM, NULL) : __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    if (fails(CALLER, size))
        return ENOMEM;
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

/* The agent maps its large blocks itself. */
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    if (fails(CALLER, size))
        return errno = ENOMEM, MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

void *mremap(void *block, size_t size, size_t wanted, int flags, ...) {
    if (fails(CALLER, wanted))
        return errno = ENOMEM, MAP_FAILED;
    va_list rest;
    va_start(rest, flags);
    void *address = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    return (void *)syscall(SYS_mremap, block, size, wanted, flags, address);
}

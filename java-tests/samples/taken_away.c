/*
 * Takes a page of the VM's memory away while the agent's handler reads it. Preloaded into a JVM, it is called where the handler calls
 * `syscall` to find out whether it may read, makes the page of one method unreadable just after the answer, and brings it back where
 * the handler asks for the time, at the latest at its end. TakenAway loads it, too, and says which method.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The distance from the frame pointer of an interpreted frame to its method, in words. */
enum { METHOD = -3 };

static void *_Atomic page;
static size_t page_size;
static atomic_int left;
static atomic_int taken;
static atomic_int faults;
static _Atomic int is_behind;
static __thread int has_taken __attribute__((tls_model("initial-exec")));
static struct sigaction before;

static long (*real_syscall)(long, ...);
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    page_size = (size_t)sysconf(_SC_PAGESIZE);
}

/* A question of the handler: which handler of faults there is, if the agent's is in front, or whether a word can be read. */
static int is_asked_by_handler(long number, long first, long second, long third) {
    if (!atomic_load(&page) || atomic_load(&left) <= 0)
        return 0;
    if (!atomic_load(&is_behind))
        return number == SYS_rt_sigaction && (int)first == SIGSEGV && second == 0 && third != 0;
    return number == SYS_rt_sigprocmask && (int)first == -1 &&
           (uintptr_t)second - (uintptr_t)atomic_load(&page) < page_size;
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (!real_syscall)
        begin();
    long answer = real_syscall(number, a, b, c, d, e, f);
    /* mprotect sets errno only if it fails. */
    if (is_asked_by_handler(number, a, b, c) && mprotect(atomic_load(&page), page_size, PROT_NONE) == 0)
        has_taken = 1;
    return answer;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (has_taken && mprotect(atomic_load(&page), page_size, PROT_READ | PROT_WRITE) == 0) {
        has_taken = 0;
        atomic_fetch_add(&taken, 1);
        atomic_fetch_sub(&left, 1);
    }
    if (!real_clock_gettime)
        begin();
    return real_clock_gettime(clock, time);
}

/* A handler as a program may install it later: it passes on what is not its own. */
static void on_fault(int number, siginfo_t *info, void *context) {
    if ((uintptr_t)info->si_addr - (uintptr_t)atomic_load(&page) < page_size)
        atomic_fetch_add(&faults, 1);
    before.sa_sigaction(number, info, context);
}

/* Begins with the method that calls this, which is interpreted. */
void Java_TakenAway_00024Computes_begin(void *env, void *of_class, int times, int handler_behind) {
    (void)env, (void)of_class;
    void **own = __builtin_frame_address(0);
    void **native = *own;
    void **caller = *native;
    if (handler_behind) {
        struct sigaction action;
        sigaction(SIGSEGV, NULL, &before);
        action = before;
        action.sa_sigaction = on_fault;
        sigaction(SIGSEGV, &action, NULL);
    }
    atomic_store(&is_behind, handler_behind);
    atomic_store(&left, times);
    atomic_store(&page, (void *)((uintptr_t)caller[METHOD] & ~(page_size - 1)));
}

int Java_TakenAway_00024Computes_taken(void *env, void *of_class) {
    (void)env, (void)of_class;
    return atomic_load(&taken);
}

int Java_TakenAway_00024Computes_faults(void *env, void *of_class) {
    (void)env, (void)of_class;
    return atomic_load(&faults);
}

/*
 * Sends the signals of the agent's timers far more often than the kernel does, which looks at CPU timers only at its ticks: preloaded
 * into a JVM, it notes each timer that the agent creates, and sends the same signal with the same value to the timer's thread each
 * time that the thread has used some more CPU time. For tests alone.
 *
 *   HPROF_STORM_NANOS=N     sends a signal for each N nanoseconds of CPU time (50000 by default)
 *   HPROF_STORM_SIGN=FILE   writes the number of signals sent to this file at the end
 *   HPROF_STORM_TIMES=FILE  writes how long the agent's handler ran, in ns: the median, the 99.9th percentile, the number of times
 *
 * It measures the handler by standing before it, and so before `sigaction`, by the thread's CPU clock, whose question is part of
 * the time: some 300 ns.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4096, MARK = 0x4850524f, LEAST_PAUSE = 10000 };

/* A thread with a timer; the value is 0 in a free place. */
static struct timed {
    _Atomic uint64_t value;
    _Atomic pid_t thread;
    uint64_t used;
} timed[THREADS];

/* No place from here on has ever been taken. */
static _Atomic int most;
static _Atomic uint64_t sent;
static uint64_t interval;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Handlers by their time: STEPS for each power of two of nanoseconds. */
enum { POWERS = 40, STEPS = 16 };
static _Atomic uint64_t times[POWERS * STEPS];

typedef void handler_function(int, siginfo_t *, void *);
static handler_function *_Atomic handler;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void measure(int number, siginfo_t *info, void *context) {
    uint64_t begin = now();
    atomic_load(&handler)(number, info, context);
    uint64_t took = now() - begin;
    /* The first STEPS places are for single nanoseconds, and the last bits of a longer time do not count. */
    unsigned power = took < STEPS ? 0 : 59u - (unsigned)__builtin_clzll(took);
    unsigned place = took < STEPS ? (unsigned)took : power * STEPS + (unsigned)(took >> power);
    if (place < POWERS * STEPS)
        atomic_fetch_add_explicit(&times[place], 1, memory_order_relaxed);
}

/* The time below which that share of the handlers ran. */
static uint64_t percentile(double share) {
    uint64_t all = 0, seen = 0;
    for (int i = 0; i < POWERS * STEPS; i++)
        all += atomic_load(&times[i]);
    for (unsigned i = 0; i < POWERS * STEPS; i++) {
        seen += atomic_load(&times[i]);
        if (seen && (double)seen >= share * (double)all)
            return i < STEPS ? i : (uint64_t)(i % STEPS + STEPS) << (i / STEPS - 1);
    }
    return 0;
}

/* By which the agent installs its handler, and asks whether it is still there. */
int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
    static int (*real)(int, const struct sigaction *, struct sigaction *);
    if (!real)
        real = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    if (number != SIGVTALRM)
        return real(number, new, old);
    struct sigaction measured;
    handler_function *before = atomic_load(&handler);
    if (new && (new->sa_flags & SA_SIGINFO)) {
        atomic_store(&handler, new->sa_sigaction);
        measured = *new;
        measured.sa_sigaction = measure;
        new = &measured;
    }
    int status = real(number, new, old);
    if (status == 0 && old && before && (old->sa_flags & SA_SIGINFO))
        old->sa_sigaction = before;
    return status;
}

/* The system call itself: the agent's handler calls `syscall`, so it must stay what it is there. */
static long call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#endif
}

/* The number of the CPU clock of a thread, as the kernel makes it. */
static clockid_t clock_of(pid_t thread) {
    return (clockid_t)(~(unsigned)thread << 3 | 6);
}

static void look_at(struct timed *one) {
    uint64_t value = atomic_load(&one->value);
    struct timespec now;
    if (!value)
        return;
    pid_t thread = atomic_load(&one->thread);
    if (call(SYS_clock_gettime, clock_of(thread), (long)&now, 0, 0, 0, 0) != 0) {
        atomic_store(&one->value, 0);
        return;
    }
    uint64_t used = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (used - one->used < interval)
        return;
    one->used = used;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGVTALRM;
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr = (void *)(uintptr_t)value;
    if (call(SYS_rt_tgsigqueueinfo, getpid(), thread, SIGVTALRM, (long)&info, 0, 0) == 0)
        atomic_fetch_add_explicit(&sent, 1, memory_order_relaxed);
}

static void *send_signals(void *unused) {
    const struct timespec pause = {0, (long)(interval > 2 * LEAST_PAUSE ? interval / 2 : LEAST_PAUSE)};
    prctl(PR_SET_TIMERSLACK, 1);
    /* Next to idle, but wanted in time: `nice` is for the program. Refused to all but root. */
    setpriority(PRIO_PROCESS, (id_t)call(SYS_gettid, 0, 0, 0, 0, 0, 0), 0);
    for (;;) {
        int end = atomic_load(&most);
        for (int i = 0; i < end; i++)
            look_at(&timed[i]);
        nanosleep(&pause, NULL);
    }
    return unused;
}

static void begin(void) {
    const char *nanos = getenv("HPROF_STORM_NANOS");
    pthread_t sender;
    sigset_t all, before;
    interval = nanos ? strtoull(nanos, NULL, 10) : 50000;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&sender, NULL, send_signals, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void note(pid_t thread, uint64_t value) {
    pthread_once(&once, begin);
    for (int i = 0; i < THREADS; i++) {
        uint64_t none = 0;
        if (atomic_load(&timed[i].value) == value) {
            atomic_store(&timed[i].thread, thread);
            return;
        }
        if (atomic_compare_exchange_strong(&timed[i].value, &none, value)) {
            atomic_store(&timed[i].thread, thread);
            int before = atomic_load(&most);
            while (before <= i && !atomic_compare_exchange_weak(&most, &before, i + 1))
                ;
            return;
        }
    }
}

__attribute__((destructor)) static void end(void) {
    const char *name = getenv("HPROF_STORM_SIGN");
    /* The commands that only start the JVM have sent nothing. */
    FILE *file = name && atomic_load(&sent) ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%llu\n", (unsigned long long)atomic_load(&sent));
        fclose(file);
    }
    name = getenv("HPROF_STORM_TIMES");
    file = name && atomic_load(&sent) ? fopen(name, "w") : NULL;
    if (file) {
        uint64_t handlers = 0;
        for (int i = 0; i < POWERS * STEPS; i++)
            handlers += atomic_load(&times[i]);
        fprintf(file, "%llu %llu %llu\n", (unsigned long long)percentile(0.5), (unsigned long long)percentile(0.999),
                (unsigned long long)handlers);
        fclose(file);
    }
}

/* By which the agent creates its timers, and its handler asks who it is. */
long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (number == SYS_timer_create) {
        const struct sigevent *event = (const struct sigevent *)b;
        long status = call(number, a, b, c, d, e, f);
        uint64_t value = (uint64_t)(uintptr_t)event->sigev_value.sival_ptr;
        /* The last number is that of a timer which is only tried. */
        if (status == 0 && event->sigev_signo == SIGVTALRM && value >> 32 == MARK && (uint32_t)value != UINT32_MAX)
            note(event->_sigev_un._tid, value);
        if (status == 0)
            return status;
        return *__errno_location() = (int)-status, -1;
    }
    long result = call(number, a, b, c, d, e, f);
    if (result < 0 && result > -4096)
        return *__errno_location() = (int)-result, -1;
    return result;
}

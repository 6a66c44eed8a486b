/* The native method of OtherStack. */
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

/* As small as a stack can be on which a signal arrives. */
#define BYTES (32 << 10)

static __thread ucontext_t caller;
static __thread long wanted;

static long used(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void spin(void) {
    volatile unsigned sum = 0;
    for (long end = used() + wanted; used() < end;)
        for (int i = 0; i < 100000; i++)
            sum += i ^ sum;
}

void Java_OtherStack_spin(void *env, void *own_class, long millis) {
    (void)env, (void)own_class;
    ucontext_t other;
    char *stack = malloc(BYTES);
    if (!stack || getcontext(&other))
        return;
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = BYTES;
    other.uc_link = &caller;
    wanted = millis;
    makecontext(&other, spin, 0);
    swapcontext(&caller, &other);
    free(stack);
}

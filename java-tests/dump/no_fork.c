/* A process that may not fork, as under RLIMIT_NPROC or a seccomp filter. */
#include <errno.h>
#include <sys/types.h>

pid_t fork(void) {
    errno = EAGAIN;
    return -1;
}

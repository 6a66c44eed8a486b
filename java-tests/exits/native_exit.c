/* The native methods of NativeExit. They use nothing of the VM's, so they need no header of its. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void Java_NativeExit_exit(void *env, void *own_class, int status) {
    (void)env, (void)own_class;
    exit(status);
}

int Java_NativeExit_exitOfChild(void *env, void *own_class, int status) {
    (void)env, (void)own_class;
    pid_t child = fork();
    if (child == 0)
        exit(status);
    int answer;
    if (child < 0 || waitpid(child, &answer, 0) != child || !WIFEXITED(answer))
        return -1;
    return WEXITSTATUS(answer);
}

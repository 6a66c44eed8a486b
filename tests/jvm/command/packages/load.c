/* Loads the agent as a VM does: load LIBRARY OPTIONS. Its VM is one that knows nothing. */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*on_load)(void *vm, const char *options, void *reserved);

int main(int count, char **arguments) {
    if (count != 3)
        return 2;
    void *library = dlopen(arguments[1], RTLD_NOW);
    on_load start = library ? (on_load)dlsym(library, "Agent_OnLoad") : NULL;
    if (start == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    void *functions[16] = {0};
    void *vm = functions;
    return start(&vm, arguments[2], NULL) == 0 ? 0 : 1;
}

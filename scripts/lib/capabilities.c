/* An agent that takes one capability and does nothing else: its option is the capability's bit in jvmtiCapabilities. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define JVMTI_VERSION_11 0x300B0000

typedef const void *const *Table;

enum { GET_ENV = 6, ADD_CAPABILITIES = 141 };

int Agent_OnLoad(void *vm, char *options, void *reserved) {
    (void)reserved;
    void *env;
    uint32_t capabilities[4] = {0};
    int bit = options ? atoi(options) : 0;
    capabilities[bit / 32] = UINT32_C(1) << bit % 32;
    int (*get_env)(void *, void **, int) = (int (*)(void *, void **, int))(*(Table *)vm)[GET_ENV];
    if (get_env(vm, &env, JVMTI_VERSION_11))
        return 1;
    int (*add)(void *, const void *) = (int (*)(void *, const void *))(*(Table *)env)[ADD_CAPABILITIES];
    return add(env, capabilities);
}

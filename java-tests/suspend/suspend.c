/* The native methods of Suspended: SuspendThread and ResumeThread of JVMTI, by their places in its table. */
#include <stdint.h>
#include <stddef.h>

#define JVMTI_VERSION_11 0x300B0000
#define JNI_VERSION_1_6 0x00010006

typedef const void *const *Table;
typedef int (*GetEnv)(void *vm, void **env, int version);
typedef int (*AddCapabilities)(void *env, const void *capabilities);
typedef int (*OfThread)(void *env, void *thread);

enum { GET_ENV = 6, SUSPEND_THREAD = 4, RESUME_THREAD = 5, ADD_CAPABILITIES = 141 };

static void *env;

static const void *function(void *object, int place) {
    return (*(Table *)object)[place];
}

int JNI_OnLoad(void *vm, void *reserved) {
    (void)reserved;
    /* The bit of can_suspend. */
    uint32_t capabilities[4] = {UINT32_C(1) << 20};
    if (((GetEnv)function(vm, GET_ENV))(vm, &env, JVMTI_VERSION_11))
        return -1;
    return ((AddCapabilities)function(env, ADD_CAPABILITIES))(env, capabilities) ? -1 : JNI_VERSION_1_6;
}

int Java_Suspended_suspend(void *jni, void *own_class, void *thread) {
    (void)jni, (void)own_class;
    return ((OfThread)function(env, SUSPEND_THREAD))(env, thread);
}

int Java_Suspended_resume(void *jni, void *own_class, void *thread) {
    (void)jni, (void)own_class;
    return ((OfThread)function(env, RESUME_THREAD))(env, thread);
}

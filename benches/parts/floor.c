/* What the VM alone takes of each allocation: its event, with an empty callback. With the option `references` each object also gets a
 * weak reference, as the agent makes them; a thread looks at those after collections, and deletes them where the object
 * has died. Nothing is counted, and nothing written. */
#include <jvmti.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 256

struct chunk {
    struct chunk *next;
    size_t length;
    jweak objects[CHUNK];
};

static jvmtiEnv *jvmti;
static int with_references;
static __thread struct chunk *nursery;
static pthread_mutex_t pile_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sweep_lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *pile, *old;
static sem_t collected;

static void pile_up(struct chunk *chunk) {
    pthread_mutex_lock(&pile_lock);
    chunk->next = pile;
    pile = chunk;
    pthread_mutex_unlock(&pile_lock);
}

static void JNICALL allocated(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object, jclass class, jlong size) {
    if (!with_references)
        return;
    if (nursery == NULL && (nursery = calloc(1, sizeof *nursery)) == NULL)
        return;
    nursery->objects[nursery->length++] = (*jni)->NewWeakGlobalRef(jni, object);
    if (nursery->length == CHUNK) {
        pile_up(nursery);
        nursery = NULL;
    }
}

static void sweep(JNIEnv *jni) {
    pthread_mutex_lock(&sweep_lock);
    pthread_mutex_lock(&pile_lock);
    struct chunk *next, *chunk = pile;
    pile = NULL;
    pthread_mutex_unlock(&pile_lock);
    for (; chunk != NULL; chunk = next) {
        size_t living = 0;
        next = chunk->next;
        for (size_t i = 0; i < chunk->length; i++) {
            if ((*jni)->IsSameObject(jni, chunk->objects[i], NULL))
                (*jni)->DeleteWeakGlobalRef(jni, chunk->objects[i]);
            else
                chunk->objects[living++] = chunk->objects[i];
        }
        chunk->length = living;
        if (living == 0) {
            free(chunk);
        } else {
            chunk->next = old;
            old = chunk;
        }
    }
    pthread_mutex_unlock(&sweep_lock);
}

static void JNICALL run_sweeper(jvmtiEnv *env, JNIEnv *jni, void *argument) {
    for (;;) {
        while (sem_wait(&collected) != 0)
            ;
        sweep(jni);
    }
}

/* The agent looks at the rest, too. */
static void JNICALL vm_death(jvmtiEnv *env, JNIEnv *jni) { sweep(jni); }

static void JNICALL gc_finished(jvmtiEnv *env) { sem_post(&collected); }

static void start_sweeper(JNIEnv *jni) {
    jclass class = (*jni)->FindClass(jni, "java/lang/Thread");
    jmethodID constructor = (*jni)->GetMethodID(jni, class, "<init>", "(Ljava/lang/String;)V");
    jobject thread = (*jni)->NewObject(jni, class, constructor, (*jni)->NewStringUTF(jni, "floor sweeper"));
    (*jvmti)->RunAgentThread(jvmti, thread, run_sweeper, NULL, JVMTI_THREAD_NORM_PRIORITY);
}

static void JNICALL vm_init(jvmtiEnv *env, JNIEnv *jni, jthread thread) {
    if (with_references) {
        start_sweeper(jni);
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, NULL);
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL);
    }
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
    /* Threads have allocation buffers that were handed out before the event was on. */
    (*jvmti)->ForceGarbageCollection(jvmti);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    jvmtiCapabilities capabilities = {
        .can_generate_sampled_object_alloc_events = 1,
        .can_generate_garbage_collection_events = 1,
    };
    jvmtiEventCallbacks callbacks = {
        .VMInit = vm_init,
        .VMDeath = vm_death,
        .SampledObjectAlloc = allocated,
        .GarbageCollectionFinish = gc_finished,
    };
    with_references = options != NULL && strcmp(options, "references") == 0;
    sem_init(&collected, 0, 0);
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
        (*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetHeapSamplingInterval(jvmti, 0) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE)
        return JNI_ERR;
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
    return JNI_OK;
}

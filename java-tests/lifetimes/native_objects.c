/* The native methods of Lifetimes and Births, which make objects by JNI. The functions of JNI stand in a table in the order
   of its specification, so no header of the VM's is needed: AllocObject is number 27. */

typedef void *(*AllocObject)(void *env, void *type);

static void *allocate(void **env, void *type) {
    void **functions = *(void ***)env;
    return ((AllocObject)functions[27])(env, type);
}

void *Java_Lifetimes_allocate(void **env, void *own_class, void *type) {
    (void)own_class;
    return allocate(env, type);
}

void *Java_Births_allocate(void **env, void *own_class, void *type) {
    (void)own_class;
    return allocate(env, type);
}

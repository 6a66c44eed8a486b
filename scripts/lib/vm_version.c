/* An agent that makes HotSpot claim, in the tables that it exports for debuggers, the version that is the agent's option:
 * what a release looks like that nobody has tested. It is loaded before the agent under test. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the tables, as every HotSpot from 11 on has them. */
struct field {
    const char *type, *name, *type_string;
    int32_t is_static;
    uint64_t offset;
    void *address;
};

/* The VM's table of functions; the fourth is DestroyJavaVM. */
int32_t Agent_OnLoad(void ***vm, const char *options, void *reserved) {
    (void)reserved;
    Dl_info library;
    if (dladdr((*vm)[3], &library) == 0)
        return -1;
    void *handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    struct field **fields = handle == NULL ? NULL : dlsym(handle, "gHotSpotVMStructs");
    if (fields == NULL)
        return -1;
    for (struct field *field = *fields; field->type != NULL; field++)
        if (strcmp(field->name, "_vm_major_version") == 0) {
            *(int32_t *)field->address = atoi(options);
            return 0;
        }
    return -1;
}

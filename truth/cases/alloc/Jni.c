/* The native methods of Jni. The functions of JNI stand in a table in the order of its specification, so no header of a JDK is needed. */

#include <stddef.h>
#include <stdint.h>

typedef void *Object;
typedef void *Method;
typedef void **Functions;

enum {
    ALLOC_OBJECT = 27, NEW_OBJECT_A = 30, GET_METHOD_ID = 33, NEW_STRING = 163, NEW_STRING_UTF = 167, NEW_OBJECT_ARRAY = 172,
    NEW_BYTE_ARRAY = 176, NEW_LONG_ARRAY = 180
};

typedef Object (*AllocObject)(Functions *, Object type);
typedef Object (*NewObjectA)(Functions *, Object type, Method, const void *arguments);
typedef Method (*GetMethodId)(Functions *, Object type, const char *name, const char *signature);
typedef Object (*NewString)(Functions *, const uint16_t *, int32_t length);
typedef Object (*NewStringUtf)(Functions *, const char *);
typedef Object (*NewObjectArray)(Functions *, int32_t length, Object type, Object initial);
typedef Object (*NewArray)(Functions *, int32_t length);

Object Java_Jni_allocObject(Functions *env, Object own, Object type) {
    (void)own;
    return ((AllocObject)(*env)[ALLOC_OBJECT])(env, type);
}

Object Java_Jni_newObject(Functions *env, Object own, Object type) {
    (void)own;
    Method constructor = ((GetMethodId)(*env)[GET_METHOD_ID])(env, type, "<init>", "()V");
    return ((NewObjectA)(*env)[NEW_OBJECT_A])(env, type, constructor, NULL);
}

Object Java_Jni_newObjectArray(Functions *env, Object own, Object type, int32_t length) {
    (void)own;
    return ((NewObjectArray)(*env)[NEW_OBJECT_ARRAY])(env, length, type, NULL);
}

Object Java_Jni_newByteArray(Functions *env, Object own, int32_t length) {
    (void)own;
    return ((NewArray)(*env)[NEW_BYTE_ARRAY])(env, length);
}

Object Java_Jni_newLongArray(Functions *env, Object own, int32_t length) {
    (void)own;
    return ((NewArray)(*env)[NEW_LONG_ARRAY])(env, length);
}

Object Java_Jni_newString(Functions *env, Object own) {
    static const uint16_t text[] = {'n', 'a', 't', 'i', 'v', 'e'};
    (void)own;
    return ((NewString)(*env)[NEW_STRING])(env, text, 6);
}

Object Java_Jni_newStringUTF(Functions *env, Object own) {
    (void)own;
    return ((NewStringUtf)(*env)[NEW_STRING_UTF])(env, "native utf");
}

/* What bindgen reads. The JDK's own jvmti.h is found on the include path (HPROF_JDK_INCLUDE or JAVA_HOME). */
#include <jvmti.h>

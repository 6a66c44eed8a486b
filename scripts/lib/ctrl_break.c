/* Presses Ctrl-Break in another process: ctrl_break.exe PID
 *
 * Windows runs kernelbase's CtrlRoutine in a new thread of each process of the console, and that calls the process's handlers. Wine 8 does so
 * for Ctrl-C alone: GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, ...) fails there with error 6. So the thread is created here. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

int main(int count, char **arguments) {
    DWORD rights = PROCESS_CREATE_THREAD | PROCESS_QUERY_INFORMATION | PROCESS_VM_OPERATION | PROCESS_VM_READ | PROCESS_VM_WRITE;
    HANDLE process = OpenProcess(rights, FALSE, count == 2 ? strtoul(arguments[1], NULL, 10) : 0);
    void *routine = (void *)GetProcAddress(GetModuleHandleA("kernelbase.dll"), "CtrlRoutine");
    HANDLE thread = process && routine ? CreateRemoteThread(process, NULL, 0, routine, (void *)CTRL_BREAK_EVENT, 0, NULL) : NULL;
    if (!thread) {
        fprintf(stderr, "ctrl_break: error %lu\n", GetLastError());
        return 1;
    }
    return WaitForSingleObject(thread, 10000) == WAIT_OBJECT_0 ? 0 : 1;
}

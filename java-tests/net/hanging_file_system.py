#!/usr/bin/env python3
"""Runs a program with a file system that does not answer one operation, writing or the question for its state.

    hanging_file_system.py write|statfs COMMAND ...

Mounts it at ./hanging, which it makes, and runs the command. Every other operation is answered. The file system goes away when there is a file
./release, or when the command has ended. Exits as the command does. Needs the right to mount, as in a namespace of one's own.
"""

import ctypes
import os
import select
import signal
import struct
import subprocess
import sys

# The operations of linux/fuse.h.
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, WRITE, STATFS, RELEASE = 1, 2, 3, 4, 14, 16, 17, 18
FLUSH, INIT, CREATE, INTERRUPT, BATCH_FORGET = 25, 26, 35, 36, 42
ENOENT, ENOSYS = 2, 38
ROOT, FILE = 1, 2
FOLDER_MODE, FILE_MODE = 0o40755, 0o100600
NOSUID_NODEV = 6
PR_SET_PDEATHSIG = 1
HEADER = struct.Struct("<IIQQIIII")

libc = ctypes.CDLL(None, use_errno=True)


def attributes(node):
    mode = FOLDER_MODE if node == ROOT else FILE_MODE
    return struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)


def entry():
    return struct.pack("<4Q2I", FILE, 0, 0, 0, 0, 0) + attributes(FILE)


def answer(operation, node, is_there, length):
    """What is answered, or the number of an error."""
    if operation == INIT:
        return struct.pack("<4I2H2I", 7, 31, 0, 0, 1, 1, 1 << 17, 1) + bytes(36)
    if operation == LOOKUP:
        return entry() if is_there else ENOENT
    if operation in (GETATTR, SETATTR):
        return struct.pack("<Q2I", 0, 0, 0) + attributes(node)
    if operation == CREATE:
        return entry() + struct.pack("<Q2I", FILE, 0, 0)
    if operation == OPEN:
        return struct.pack("<Q2I", FILE, 0, 0)
    if operation == WRITE:
        return struct.pack("<2I", length, 0)
    if operation == STATFS:
        return struct.pack("<5Q4I", 1 << 30, 1 << 30, 1 << 30, 1 << 20, 1 << 20, 4096, 255, 4096, 0) + bytes(24)
    return b"" if operation in (FLUSH, RELEASE) else ENOSYS


def serve(device, program, silent):
    is_there = False
    while not os.path.exists("release") and program.poll() is None:
        if not select.select([device], [], [], 0.05)[0]:
            continue
        request = os.read(device, 1 << 18)
        _, operation, unique, node, *_ = HEADER.unpack_from(request)
        if operation in (silent, FORGET, INTERRUPT, BATCH_FORGET):
            continue
        is_there |= operation == CREATE
        # The length of what is written is in its third field.
        length = struct.unpack_from("<QQI", request, HEADER.size)[2] if operation == WRITE else 0
        body = answer(operation, node, is_there, length)
        error, body = (-body, b"") if isinstance(body, int) else (0, body)
        os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def main():
    silent = {"write": WRITE, "statfs": STATFS}[sys.argv[1]]
    os.mkdir("hanging")
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    if libc.mount(b"hanging", b"hanging", b"fuse", NOSUID_NODEV, options.encode()) != 0:
        sys.exit(f"no file system: {os.strerror(ctypes.get_errno())}")
    program = subprocess.Popen(sys.argv[2:], preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
    serve(device, program, silent)
    # Whoever waits for an answer gets an error.
    os.close(device)
    sys.exit(program.wait())


if __name__ == "__main__":
    main()

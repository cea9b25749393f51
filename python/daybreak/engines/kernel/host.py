"""Probes this machine: whether a process may trace another, and how large the CPU's extended state is.

User-Mode Linux runs its guests' processes through ptrace and keeps their extended state (x87, SSE, AVX, AMX) in a
buffer of fixed size. Both facts are found by the same request that it makes: PTRACE_GETREGSET with NT_X86_XSTATE.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from dataclasses import dataclass

PTRACE_TRACEME = 0
PTRACE_GETREGSET = 0x4204
NT_X86_XSTATE = 0x202
ROOM = 1 << 16


class _Buffer(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


@dataclass(frozen=True)
class TraceProbe:
    """The answer of the probe: `state_bytes` of extended state, or why tracing does not work here."""

    state_bytes: int | None
    refusal: str | None


def is_supported() -> bool:
    """Whether the kernel engine exists for this operating system and processor."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def probe_tracing() -> TraceProbe:
    """Traces a child process, reads its extended state, and ends it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    child = os.fork()
    if child == 0:
        # Only what is safe after fork in a multi-threaded process: two system calls and an exit.
        if libc.ptrace(PTRACE_TRACEME, 0, None, None) != 0:
            os._exit(1)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    _, status = os.waitpid(child, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        return TraceProbe(None, "the system does not let a process trace another (ptrace is refused)")
    room = ctypes.create_string_buffer(ROOM)
    buffer = _Buffer(ctypes.cast(room, ctypes.c_void_p), ROOM)
    answer = libc.ptrace(PTRACE_GETREGSET, child, NT_X86_XSTATE, ctypes.addressof(buffer))
    error = ctypes.get_errno()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if answer != 0:
        return TraceProbe(None, f"PTRACE_GETREGSET of the extended state failed: {os.strerror(error)}")
    return TraceProbe(int(buffer.length), None)

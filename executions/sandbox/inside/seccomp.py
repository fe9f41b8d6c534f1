"""The system call filter of a guest: ten calls, everything else kills the process (SIGSYS). No libseccomp."""

import ctypes
import os
import struct

# name: (x86-64, aarch64); nothing else is needed once the guest is set up.
ALLOWED = {
    "read": (0, 63),
    "write": (1, 64),
    "brk": (12, 214),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "clock_gettime": (228, 113),
    "exit_group": (231, 94),
    "futex": (202, 98),
    "rt_sigreturn": (15, 139),
}
ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

_KILL, _ALLOW = 0x80000000, 0x7FFF0000
_LOAD, _EQUALS, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _THIRD_ARGUMENT_AT = 0, 4, 32  # offsets in struct seccomp_data, little-endian
_X32_BIT, _PROT_EXEC = 0x40000000, 4
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class Filter:
    """A filter built once in the zygote and installed in each guest; OSError where the machine has none."""

    def __init__(self) -> None:
        machine = os.uname().machine
        if machine not in ARCHITECTURES:
            raise OSError(f"no system call table for {machine}")
        code = build(*ARCHITECTURES[machine])
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = _Program(len(code) // 8, ctypes.cast(self._code, ctypes.c_void_p))

    def install(self) -> None:
        """From here on this process has ten system calls. Needs no_new_privs."""
        if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(self._program), 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")


def build(architecture: int, column: int) -> bytes:
    """BPF code: kill another architecture's calls, allow the list (mmap without PROT_EXEC), kill the rest."""
    code = [
        _op(_LOAD, _ARCHITECTURE_AT),
        _op(_EQUALS, architecture, 1, 0),
        _op(_RETURN, _KILL),
        _op(_LOAD, _NUMBER_AT),
        _op(_AT_LEAST, _X32_BIT, 0, 1),
        _op(_RETURN, _KILL),
    ]
    for name, numbers in ALLOWED.items():
        if name == "mmap":
            code += [
                _op(_EQUALS, numbers[column], 0, 4),
                _op(_LOAD, _THIRD_ARGUMENT_AT),
                _op(_ANY_BIT, _PROT_EXEC, 0, 1),
                _op(_RETURN, _KILL),
                _op(_RETURN, _ALLOW),
            ]
        else:
            code += [_op(_EQUALS, numbers[column], 0, 1), _op(_RETURN, _ALLOW)]
    return b"".join([*code, _op(_RETURN, _KILL)])


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)

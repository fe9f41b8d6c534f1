"""Run by path, `python -I -S launch.py PARENT SIGNAL COMMAND…`: becomes COMMAND, which dies with its parent.

Between fork and exec of a process with threads no Python code is safe; a fresh interpreter is.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Asks the kernel for SIGNAL when the thread that started us ends, then execs."""
    parent, number, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        sys.exit("forge: prctl(PR_SET_PDEATHSIG) was refused")
    if os.getppid() != parent:  # it ended before we asked
        sys.exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # the supervisor waits for its signals blocked
    os.execv(command[0], command)  # noqa: S606  # no shell is wanted


if __name__ == "__main__":
    main()

"""A host's addresses, by a deadline: getaddrinfo has none, and a thread inside it can't be ended.

So it is asked in a process of its own, which is killed, and which ends by itself should we be. It costs some 20 ms.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from ipaddress import ip_address

from forge_project.kernel.errors import Failed

# The system's own way (hosts file, search list, nsswitch), which no resolver written anew takes.
_PROGRAM = """
import json, signal, socket, sys
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
try:
    found = socket.getaddrinfo(sys.argv[1], None, type=socket.SOCK_STREAM)
except (OSError, UnicodeError):
    found = []
print(json.dumps([address[0] for *_, address in found]))
"""
_HEEDED = ("RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES")  # what libc reads of the environment; no key of ours goes along


def addresses_of(host: str, seconds: float) -> list[str]:
    """Each address once, in the system's order; itself for an address. Raises Failed (code TIMEOUT past `seconds`)."""
    with suppress(ValueError):
        return [str(ip_address(host))]
    if seconds <= 0:
        raise _late()
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM, host, str(seconds + 1)]
    heeded = {name: os.environ[name] for name in _HEEDED if name in os.environ}
    try:
        done = subprocess.run(  # our own program; the host is one argument of it
            command, env=heeded, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise _late() from None
    except (OSError, ValueError):  # no process can be started, or not with such a name
        raise Failed("the host's name can't be looked up") from None
    found = json.loads(done.stdout) if done.returncode == 0 else []
    if not found:
        raise Failed("the host's name is not known")
    return list(dict.fromkeys(str(one) for one in found))


def _late() -> Failed:
    return Failed("the host's name was not found in time", code="TIMEOUT", retryable=True, rule="net.name_deadline")

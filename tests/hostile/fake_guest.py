"""A guest that says whatever it is told to: argv has the socket's descriptor, stdin frames to send (hex).

`-` waits for one frame of the host first; `exit` ends; at the end it stays, deaf, until it is killed.
"""

import os
import struct
import sys
import time


def read(size):
    data = b""
    while len(data) < size:
        data += os.read(fd, size - len(data)) or sys.exit(9)
    return data


fd = int(sys.argv[1])
for step in sys.stdin.read().split():
    if step == "exit":
        sys.exit(0)
    elif step == "-":
        read(struct.unpack(">I", read(4))[0])
    else:
        os.write(fd, bytes.fromhex(step))
time.sleep(3600)

"""Messages on the zygote's control socket (SOCK_SEQPACKET, one message a packet).

Request: FORK id cpu-ms memory-bytes stack-bytes, with the guest's socket attached. Answers: READY and three texts
(isolation, why not stronger, prelude SHA-256) after the zygote's resident bytes, once; BORN id pid, with a pidfd
attached; GONE pid wait-status cpu-microseconds peak-rss-kib.
"""

import struct

FORK, BORN, GONE, READY = b"F", b"P", b"X", b"R"
REQUEST = struct.Struct("!cQQQQ")
HELLO = struct.Struct("!cQ")
BIRTH = struct.Struct("!cQi")
DEATH = struct.Struct("!ciiQQ")
MESSAGE_BYTES = 4096

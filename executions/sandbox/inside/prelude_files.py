"""The prelude as text: its files in order of name, in one function that hands out what the child calls."""

import os

try:  # the interpreter's own: hashlib would map OpenSSL into every guest
    from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # Python 3.12 and later
    from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore, no-redef]

FUNCTIONS = ("start", "settle", "turn", "end", "track")
_DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prelude")


def prelude_text() -> str:
    """What the zygote evaluates; its lines stay under 2,000, where the user's begin."""
    parts = []
    for name in sorted(os.listdir(_DIRECTORY)):
        if name.endswith(".js"):
            with open(os.path.join(_DIRECTORY, name), encoding="utf-8") as file:
                parts.append(file.read())
    return '(function(){"use strict";\n' + "".join(parts) + f"return freeze({{{','.join(FUNCTIONS)}}});\n}})()"


def prelude_sha256(text: str) -> str:
    """What `ready` carries and the host compares."""
    digest: str = sha256(text.encode()).hexdigest()
    return digest

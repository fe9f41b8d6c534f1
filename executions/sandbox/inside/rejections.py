"""Floating rejections: the binding has no hook for them, so the engine's own C hook is set, through ctypes.

The hook only hands (promise, reason, handled) to the prelude's `track`: what the guest rejects never becomes a
Python value. Offsets are those of the pinned binding and are checked against the engine before use.
"""

import ctypes
from collections.abc import Callable
from typing import Any

_RUNTIME_AT, _CONTEXT_AT, _VALUE_AT = 16, 24, 24  # in _quickjs.Context and _quickjs.Object
_TAG_UNDEFINED, _TAG_BOOL = 3, 1


class _Value(ctypes.Structure):
    _fields_ = [("payload", ctypes.c_uint64), ("tag", ctypes.c_int64)]


_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _Value, _Value, ctypes.c_bool, ctypes.c_void_p)


def watch(library: str, context: Any, track: Any) -> Callable[..., None]:
    """Calls the guest function `track` on each rejection; the hook returned must be kept alive. OSError if it can't."""
    engine = ctypes.CDLL(library)
    engine.JS_GetRuntime.restype = ctypes.c_void_p
    engine.JS_Call.restype = engine.JS_GetException.restype = _Value
    runtime, inner = (ctypes.c_void_p.from_address(id(context) + at).value for at in (_RUNTIME_AT, _CONTEXT_AT))
    function = _Value.from_address(id(track) + _VALUE_AT)
    if engine.JS_GetRuntime(ctypes.c_void_p(inner)) != runtime:
        raise OSError("the binding's layout is not the pinned one")

    def rejected(ctx: int, promise: _Value, reason: _Value, handled: bool, _: object) -> None:
        given = (_Value * 3)(promise, reason, _Value(int(handled), _TAG_BOOL))
        engine.JS_Call(ctypes.c_void_p(ctx), function, _Value(0, _TAG_UNDEFINED), 3, given)
        # out of memory in `track` must not stay pending in the engine
        engine.JS_FreeValue(ctypes.c_void_p(ctx), engine.JS_GetException(ctypes.c_void_p(ctx)))

    hook = _HOOK(rejected)
    engine.JS_SetHostPromiseRejectionTracker(ctypes.c_void_p(runtime), hook, None)
    return hook

"""What those above the ledger tell it: which invocations their rows name that are not there."""

from collections.abc import Callable, Iterable

# By the word for the row; set by AppConfigs. Each yields invocation ids that no invocation row has.
witnesses: dict[str, Callable[[], Iterable[str]]] = {}

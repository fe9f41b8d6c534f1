"""One JSON line a figure: {"name", "value", "unit", "bar", "db"?, "peer"?}; medians, ratios within one run."""

import json
import statistics
import time
from collections.abc import Callable


def figure(name: str, value: float, unit: str, bar: str, **more: object) -> None:
    """Prints one figure."""
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, "bar": bar} | more), flush=True)


def median_ms(do: Callable[[int], object], times: int) -> float:
    """The median of `times` runs of `do(n)`, in milliseconds."""
    taken = []
    for n in range(times):
        start = time.perf_counter()
        do(n)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000

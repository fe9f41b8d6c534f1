"""What one guest may use: defaults and maxima of the limits a request may set."""

from dataclasses import asdict, dataclass, fields

from forge_project.kernel.errors import Invalid

KIB, MIB = 1024, 1024 * 1024
FRAME_BYTES = 8 * MIB
LOG_BYTES = 64 * KIB
STATE_VALUE_BYTES = 256 * KIB
JSON_DEPTH = 200
LOOKUPS, ENTRIES = 100, 20  # of the catalog: questions an execution may ask, entries an answer may have
SOURCE_BYTES, MAX_SOURCE_BYTES = 256 * KIB, 1 * MIB  # refused at submit
TIMEOUT_MS, MAX_TIMEOUT_MS = 30_000, 600_000  # active wall time: the driver's to keep, by receive(deadline=…)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one execution; `in_flight` is the first credit window. Bytes are bytes of ASCII JSON."""

    cpu_ms: int = 10_000
    memory_bytes: int = 64 * MIB
    stack_bytes: int = 1 * MIB
    max_calls: int = 200
    in_flight: int = 8
    input_bytes: int = 1 * MIB
    result_bytes: int = 4 * MIB
    output_bytes: int = 256 * KIB
    state_bytes: int = 1 * MIB

    def __post_init__(self) -> None:
        for field in fields(self):
            value, (least, most) = getattr(self, field.name), RANGES[field.name]
            if type(value) is not int or not least <= value <= most:
                raise Invalid(
                    f"{field.name} must be a whole number from {least} to {most}", path=f"/limits/{field.name}"
                )

    def wire(self) -> dict[str, int]:
        """The limits as the start message carries them."""
        return asdict(self)


RANGES = {
    "cpu_ms": (10, 60_000),
    "memory_bytes": (2 * MIB, 512 * MIB),
    "stack_bytes": (64 * KIB, 4 * MIB),
    "max_calls": (0, 10_000),
    "in_flight": (1, 64),
    "input_bytes": (2, 4 * MIB),
    "result_bytes": (2, 4 * MIB),
    "output_bytes": (0, 4 * MIB),
    "state_bytes": (0, 1 * MIB),
}

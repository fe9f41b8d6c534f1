"""The script API and a catalog as TypeScript declarations: what a model reads before it writes a program."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Entry = Mapping[str, Any]  # {name, summary, effect, decision, input_schema, result_schema}
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_GLOBALS = Path(__file__).with_name("globals.d.ts")
_WAITS = {"REVIEW": "waits for a person", "DENY": "is refused"}


def declarations(entries: Iterable[Entry]) -> str:
    """One `.d.ts` text; entries in order of name."""
    known = sorted(entries, key=lambda entry: str(entry["name"]))
    types = [_doc(entry, "  ") + f"  {_literal(entry['name'])}: {{\n{_sides(entry)}  }};\n" for entry in known]
    tree: dict[str, Any] = {}
    for entry in known:
        _plant(tree, entry)
    sugar = "".join(_member(key, branch, "  ") for key, branch in tree.items())
    call = (
        "  call<Name extends keyof Capabilities>(name: Name, input: Capabilities[Name]['input'], "
        "options?: CallOptions): Promise<Capabilities[Name]['result']>;\n"
    )
    head = _GLOBALS.read_text(encoding="utf-8")
    return f"{head}\ninterface Capabilities {{\n{''.join(types)}}}\n\ndeclare const tools: {{\n{call}{sugar}}};\n"


def typed(schema: Any, indent: str = "") -> str:
    """A JSON Schema as a type: everything of that type that the schema takes, and perhaps more."""
    match schema:
        case {"const": value}:
            return _literal(value)
        case {"enum": [*values]}:
            return " | ".join(map(_literal, values))
        case {"anyOf": [*kinds]} | {"oneOf": [*kinds]}:
            return " | ".join(dict.fromkeys(_grouped(kind, indent) for kind in kinds))
        case {"type": [*names]}:
            return " | ".join(dict.fromkeys(_grouped({**schema, "type": name}, indent) for name in names))
        case {"type": "array"}:
            return f"{_grouped(schema.get('items', True), indent)}[]"
        case {"type": "object"}:
            return _object(schema, indent)
        case {"type": str(name)}:
            return _SIMPLE.get(name, "unknown")
    return "unknown"


def camel(part: str) -> str:
    """A part of a capability's name as a property: as the prelude's `tools` has it."""
    first, *rest = part.split("-")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _object(schema: Mapping[str, Any], indent: str) -> str:
    needed, inner = schema.get("required", ()), indent + "  "
    lines = [
        f"{_comment(sub, inner)}{inner}{_key(name)}{'' if name in needed else '?'}: {typed(sub, inner)};\n"
        for name, sub in schema.get("properties", {}).items()
    ]
    others = schema.get("additionalProperties", True)
    if others is not False:
        value = "unknown" if lines or others is True else typed(others, inner)
        lines.append(f"{inner}[key: string]: {value};\n")
    return f"{{\n{''.join(lines)}{indent}}}" if lines else "Record<string, never>"


def _grouped(schema: Any, indent: str) -> str:
    told = typed(schema, indent)
    return f"({told})" if " | " in told and not told.startswith("{") else told


def _sides(entry: Entry) -> str:
    return "".join(f"    {side}: {typed(entry[f'{side}_schema'], '    ')};\n" for side in ("input", "result"))


def _plant(tree: dict[str, Any], entry: Entry) -> None:
    path = [camel(part) for part in entry["name"].split(".")]
    if path[0] == "call":
        return
    at = tree
    for step in path[:-1]:
        at = at.setdefault(step, {"": None})
    at.setdefault(path[-1], {"": None})[""] = entry


def _member(key: str, branch: dict[str, Any], indent: str) -> str:
    """A branch, a function, or a function that has more below it."""
    entry, below = branch[""], {name: sub for name, sub in branch.items() if name}
    parts = []
    if entry is not None:
        side = f"Capabilities[{_literal(entry['name'])}]"
        parts.append(f"(input: {side}['input'], options?: CallOptions) => Promise<{side}['result']>")
    if below:
        inner = "".join(_member(name, sub, indent + "  ") for name, sub in below.items())
        parts.append(f"{{\n{inner}{indent}}}")
    told = parts[0] if len(parts) == 1 else f"({parts[0]}) & {parts[1]}"
    return f"{_doc(entry, indent) if entry else ''}{indent}readonly {_key(key)}: {told};\n"


def _doc(entry: Entry, indent: str) -> str:
    waits = _WAITS.get(entry["decision"])
    said = f"{entry['summary']} ({entry['effect']}{f': {waits}' if waits else ''})"
    return f"{indent}/** {_safe(said)} */\n"


def _comment(schema: Any, indent: str) -> str:
    told = schema.get("description") if isinstance(schema, Mapping) else None
    return f"{indent}/** {_safe(told)} */\n" if told else ""


def _safe(text: str) -> str:
    return " ".join(text.replace("*/", "* /").split())


def _key(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else _literal(name)


def _literal(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, dict | list) else "unknown"

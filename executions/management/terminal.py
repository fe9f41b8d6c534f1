"""What agents said, on an operator's terminal: no escape sequence, no line they could forge."""

from forge_project.kernel import visible


def line(text: str) -> str:
    """One line, with hidden, moving and control characters as code points."""
    return visible.content(text)[0].replace("\n", visible.code("\n"))

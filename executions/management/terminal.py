"""What agents said, on an operator's terminal: no escape sequence, no line they could forge."""

from collections.abc import Iterator

from forge_project.kernel import visible


def line(text: str) -> str:
    """One line, with hidden, moving, imitating and control characters as code points."""
    return visible.said(text).replace("\n", visible.code("\n"))


def name(text: str) -> str:
    """A path or other identifier, look-alike letters as code points too."""
    return visible.folded(visible.name(text)[0])


def lines(text: str) -> Iterator[str]:
    """Content, whole, line by line as it is written; the caller marks each as content."""
    shown = visible.content(text)[0].removesuffix("\n").replace("\r", visible.code("\r"))
    yield from shown.split("\n")

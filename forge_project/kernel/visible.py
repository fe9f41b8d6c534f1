"""Text for a person's eyes: characters that hide, reorder or imitate are written as \\u{XXXX}."""

import re
import unicodedata
from collections.abc import Iterator

# Latin letters' most used doubles in Cyrillic, Greek and Armenian (Unicode confusables.txt, single letters).
LOOKALIKES = frozenset("аеорсухіјѕԁһԛԝАВЕКМНОРСТУХІЈЅԌԚԜαονρυΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսհցԼՏՕӏıɡɑ")
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")  # letters that draw nothing
_LONE_CR = re.compile(r"\r(?!\n)")
_WORD = re.compile(r"[^\W\d_]+")
_BLANKS, _BREAKS = re.compile(r" {40,}|\t{10,}"), re.compile(r"\n(?:[ \t\r]*\n){4,}")
_INSIDE = re.compile(r"(?<![ \t])[ \t]{40,}+(?=\S)")
_INDENT, _EMPTY_LINES = 120, 30  # deeper indentation, and more empty lines in a row, than text is written with


def hidden(char: str) -> bool:
    """Whether a character is unseen, moves others, or is a control; tab and newline are not."""
    if char in "\t\n":
        return False
    odd_space = unicodedata.category(char) == "Zs" and char != " "
    selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0000" <= char <= "\U000e0fff"
    return (
        odd_space or selector or char in _FILLERS or unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    )


def content(text: str) -> tuple[str, tuple[str, ...]]:
    """File content or a diff as it may be shown, and the code points that were escaped; CR before LF is kept."""
    bad = {c for c in set(text) if hidden(c)} - {"\r"}
    lone = _LONE_CR.search(text) is not None
    shown = text.translate({ord(c): code(c) for c in bad}) if bad else text
    return _LONE_CR.sub(lambda _: code("\r"), shown) if lone else shown, _points(bad | ({"\r"} if lone else set()))


def name(text: str) -> tuple[str, tuple[str, ...]]:
    """A path or other identifier as it may be shown, look-alike letters escaped too."""
    marks = [hidden(c) or c in "\t\n" or _imitates_ascii(c) for c in text]
    for word in _WORD.finditer(text):
        letters = word.group()
        if any(c.isascii() for c in letters) or all(c in LOOKALIKES for c in letters):
            for i in range(*word.span()):
                marks[i] = marks[i] or text[i] in LOOKALIKES
    return _escape(text, marks)


def imitating(text: str) -> tuple[str, ...]:
    """Code points of letters that imitate others in running text."""
    return _points({text[i] for i in _imitators(text)})


def prose(text: str) -> str:
    """Running text as it may be shown: hidden characters and letters that imitate others as code points."""
    bad = set(_imitators(text))
    return content("".join(code(c) if i in bad else c for i, c in enumerate(text)) if bad else text)[0]


def said(text: str) -> str:
    """A short text somebody else wrote, for a page: as `prose`, long runs folded."""
    return folded(prose(text))


def _imitators(text: str) -> Iterator[int]:
    """Where styled letters stand, doubles in a word with Latin letters, and words of nothing but doubles in a text
    that has no other letter of their script."""
    if text.isascii():
        return
    styled = {c for c in set(text) if _styled(c)}
    if styled:
        yield from (i for i, c in enumerate(text) if c in styled)
    scripts = {_script(c) for c in set(text) if not c.isascii() and c.isalpha() and c not in LOOKALIKES}
    for word in _WORD.finditer(text):
        letters = word.group()
        if letters.isascii():
            continue
        latin = any(c.isascii() for c in letters)
        alone = all(c in LOOKALIKES for c in letters) and _script(letters[0]) not in scripts
        for i in range(*word.span()):
            if text[i] in LOOKALIKES and (latin or alone):
                yield i


def _styled(char: str) -> bool:
    """A Latin letter in another dress: full width, bold, circled; not the ordinal signs of Spanish."""
    plain = unicodedata.normalize("NFKC", char)
    return not char.isascii() and char not in "ªº" and len(plain) == 1 and plain.isascii() and plain.isalpha()


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def padded(text: str) -> bool:
    """Whether blanks or empty lines push something out of a reader's sight; a diff's signs count as blanks."""
    empty = 0
    for line in text.split("\n"):
        if not line.strip(" \t\r+-"):
            empty += 1
            continue
        if empty >= _EMPTY_LINES:
            return True
        empty = 0
        if any(line[: run.start()].strip("+-") or len(run.group()) >= _INDENT for run in _INSIDE.finditer(line)):
            return True
    return False


def folded(text: str) -> str:
    """A short text with long runs of blanks and of empty lines written as their code point and how many."""
    shown = _BLANKS.sub(lambda run: f"{code(run[0][0])}×{len(run[0])} ", text)
    return _BREAKS.sub(lambda run: f"\n{code(chr(10))}×{run.group().count(chr(10))}\n", shown)


def _imitates_ascii(char: str) -> bool:
    return not char.isascii() and unicodedata.normalize("NFKC", char).isascii()


def _escape(text: str, marks: list[bool]) -> tuple[str, tuple[str, ...]]:
    pairs = list(zip(text, marks, strict=True))
    return "".join(code(c) if mark else c for c, mark in pairs), _points({c for c, mark in pairs if mark})


def _points(chars: set[str]) -> tuple[str, ...]:
    return tuple(f"U+{ord(c):04X}" for c in sorted(chars))


def code(char: str) -> str:
    """`\\u{202E}` for U+202E."""
    return f"\\u{{{ord(char):04X}}}"

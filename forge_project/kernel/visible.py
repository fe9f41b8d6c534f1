"""Text for a person's eyes: characters that hide, reorder or imitate are written as \\u{XXXX}."""

import re
import unicodedata

# Latin letters' most used doubles in Cyrillic, Greek and Armenian (Unicode confusables.txt, single letters).
LOOKALIKES = frozenset("аеорсухіјѕԁһԛԝАВЕКМНОРСТУХІЈЅԌԚԜαονρυΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսհցԼՏՕӏıɡɑ")
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")  # letters that draw nothing
_LONE_CR = re.compile(r"\r(?!\n)")
_WORD = re.compile(r"[^\W\d_]+")
_BLANKS, _BREAKS = re.compile(r" {40,}"), re.compile(r"\n(?:[ \t\r]*\n){4,}")
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
    """Code points of letters that imitate others in running text: doubles among Latin letters, and styled letters."""
    if text.isascii():
        return ()
    found = {c for c in set(text) if not c.isascii() and c.isalpha() and _imitates_ascii(c)}
    for word in _WORD.finditer(text):
        letters = word.group()
        if not letters.isascii() and any(c.isascii() for c in letters):
            found |= {c for c in letters if c in LOOKALIKES}
    return _points(found)


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
    shown = _BLANKS.sub(lambda run: f"{code(' ')}×{len(run.group())} ", text)
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

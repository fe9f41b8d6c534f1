"""A reason, a question, an answer, as it may be stored."""

from forge_project.kernel.errors import Invalid

MAX_REASON = 2000  # characters


def reason(given: str, most: int = MAX_REASON) -> str:
    """The reason without outer blanks; raises Invalid where no column can hold it."""
    return _kept(given, most, "a reason", "/reason")


def required(given: str) -> str:
    """As `reason`, but raises Invalid for a blank one too."""
    if not (kept := reason(given)):
        raise Invalid("say why: the reason goes back to the agent", path="/reason")
    return kept


def said(given: str, most: int, what: str) -> str:
    """A question or an answer (`what`, with its article) without outer blanks; raises Invalid for a blank one too."""
    if not (kept := _kept(given, most, what, "/text")):
        raise Invalid(f"{what} is not blank", path="/text")
    return kept


def _kept(given: str, most: int, what: str, path: str) -> str:
    if "\0" in given or len(given) > most or not _is_unicode(given):
        raise Invalid(f"{what} is at most {most} characters of Unicode text, none of them NUL", path=path)
    return given.strip()


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)

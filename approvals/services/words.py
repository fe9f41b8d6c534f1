"""A person's reason, as it may be stored."""

from forge_project.kernel.errors import Invalid

MAX_REASON = 2000  # characters


def reason(given: str, most: int = MAX_REASON) -> str:
    """The reason without outer blanks; raises Invalid where no column can hold it."""
    if "\0" in given or len(given) > most or not _is_unicode(given):
        raise Invalid(f"a reason is at most {most} characters of Unicode text, none of them NUL", path="/reason")
    return given.strip()


def required(given: str) -> str:
    """As `reason`, but raises Invalid for a blank one too."""
    if not (kept := reason(given)):
        raise Invalid("say why: the reason goes back to the agent", path="/reason")
    return kept


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)

"""Secrets that their own form betrays: providers' tokens, key blocks, passwords in URLs, what follows Bearer.

Linear: each expression starts with fixed text, and what follows is possessive or bounded.
"""

import re
from collections.abc import Iterator

from forge_project.kernel.redaction.spans import Span

ESCAPE = r"(?<=\\[nrt])"  # a line break inside text that is JSON once more
_PROVIDERS = (  # the token's beginnings, and what goes on behind them
    (("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}"),  # AWS
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{20,}+"),  # GitHub
    (("github_pat_",), r"\w{22,}+"),
    (("glpat-",), r"[\w-]{20,}+"),  # GitLab
    (("sk-",), r"(?=[\w-]{0,64}\d)[\w-]{16,}+"),  # OpenAI, Anthropic: a digit tells them from words with hyphens
    (("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[A-Za-z0-9]{16,}+"),  # Stripe
    (("whsec_",), r"[A-Za-z0-9+/=]{16,}+"),
    (("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"[A-Za-z0-9-]{10,}+"),  # Slack
    (("AIza",), r"[\w-]{35,}+"),  # Google
    (("ya29.",), r"[\w-]{20,}+"),
    (("npm_",), r"[A-Za-z0-9]{36,}+"),
    (("pypi-",), r"[\w-]{50,}+"),
    (("hf_",), r"[A-Za-z0-9]{30,}+"),
    (("SG.",), r"[\w-]{16,}+\.[\w-]{16,}+"),  # SendGrid
    (("eyJ",), r"[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+(?:\.[\w-]++){0,3}"),  # JWT and JWE
)
_KEY = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"


def _token(begins: str, goes_on: str) -> re.Pattern[str]:
    """The check that a word starts here stands behind the fixed text, which the engine then finds quickly.

    The rest of the word goes too: alone it would be another word, and masking twice would differ.
    """
    fixed = re.escape(begins)
    starts = rf"(?:(?<![\w-]{fixed})|(?<=\\[nrt]{fixed})|(?<=%[0-9A-Fa-f]{{2}}{fixed}))"
    return re.compile(rf"(?P<secret>{fixed}{starts}{goes_on}[\w-]*+)")


_SHAPES = [(begins, _token(begins, goes_on)) for many, goes_on in _PROVIDERS for begins in many] + [
    # Five dashes end a key; one without an end (cut off) is masked to the end: what follows can't be told from it.
    ("-----BEGIN ", re.compile(rf"(?P<secret>-----BEGIN {_KEY}(?:[^-]|-(?!----))*+(?:-----END {_KEY})?[\w-]*+)")),
    ("://", re.compile(r"""://(?:\[SECRET:[^\[\]\s]*+\]|[^\s/@:?#"'<>\[])*+:(?P<secret>[^\s/?#"'<>]+)@""")),
]
_BEARER = re.compile(
    rf"(?i:(?:(?<![\w-])|{ESCAPE})bearer[ \t]+(?!(?:tokens?|auth\w*|scheme|realm)(?![\w-])))"
    r"(?P<secret>[\w.~+/-]{4,}+=*+)"
)
_ANY = re.compile("|".join([re.escape(fixed) for fixed, _ in _SHAPES] + ["(?i:bearer)"]))


def shaped(text: str, masks: re.Pattern[str]) -> Iterator[Span]:
    """Where such secrets stand, in no order; they may overlap. What is a mask already is none."""
    if not _ANY.search(text):
        return
    for fixed, pattern in _SHAPES:
        if fixed in text:
            yield from (
                Span(*match.span("secret")) for match in pattern.finditer(text) if not masks.fullmatch(match["secret"])
            )
    yield from (Span(*match.span("secret")) for match in _BEARER.finditer(text))

"""One POST to the reviewers' endpoint, which an operator named: it may be any address."""

from forge_project.kernel.errors import Failed, Invalid
from forge_project.kernel.network.addresses import ANYWHERE
from forge_project.kernel.network.exchange import Answer, Exchange, exchange
from forge_project.kernel.network.urls import parse

MAX_ANSWER = 64 * 1024


def post(url: str, body: bytes, *, key: str, seconds: float) -> Answer:
    """The answer, whatever its status. Raises Failed (code TIMEOUT past the deadline), TooLarge."""
    try:
        target = parse(url, allowed=ANYWHERE, plain=True)
    except Invalid:
        raise Failed("FORGE_REVIEWER_URL is no URL that can be called") from None
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    asked = Exchange(target=target, method="POST", headers=headers, body=body, seconds=seconds, most=MAX_ANSWER)
    return exchange(asked, ANYWHERE)

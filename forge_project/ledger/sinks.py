"""Where checkpoints go beside the database: FORGE_CHECKPOINT_SINK names a file, a webhook, or both."""

import json
from pathlib import Path

from django.conf import settings

from forge_project.kernel.errors import Failed, Invalid, NotReady
from forge_project.kernel.network.addresses import ANYWHERE
from forge_project.kernel.network.exchange import Exchange, exchange
from forge_project.kernel.network.urls import parse
from forge_project.ledger import sink
from forge_project.ledger.sink import Signed

_SECONDS = 10
_OTHER = 409  # "this number names another checkpoint here"


def file() -> Path | None:
    """The append-only file, which a database can be held against."""
    return next((Path(place) for place in _places() if not _is_url(place)), None)


def webhook() -> str | None:
    """The address that each checkpoint is posted to."""
    return next((place for place in _places() if _is_url(place)), None)


def send(line: Signed) -> None:
    """To every sink; each takes a repeat for what it is. NotReady (part `sink`, no address, no path) if one fails."""
    if (path := file()) is not None:
        try:
            sink.append(path, [line])
        except OSError as error:
            raise NotReady(f"the file can't be written: {error.strerror}", part="sink") from None
    if (url := webhook()) is not None:
        _post(url, line)


def _places() -> list[str]:
    return [place.strip() for place in settings.FORGE_CHECKPOINT_SINK.split(",") if place.strip()]


def _is_url(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def _post(url: str, line: Signed) -> None:
    """One POST of the very line a file would get; any 2xx says that it is kept. A sink that has moved is named anew."""
    told = {"payload": line.payload, "signature": line.signature, "key_id": line.key_id}
    headers = {"Content-Type": "application/json", "Idempotency-Key": line.digest}
    try:
        target = parse(url, allowed=ANYWHERE, plain=True)
        body = json.dumps(told).encode()
        asked = Exchange(target=target, method="POST", headers=headers, body=body, seconds=_SECONDS)
        status = exchange(asked, ANYWHERE).status
    except (Failed, Invalid) as error:
        raise NotReady(f"the webhook does not answer: {error.message}", part="sink") from None
    if status == _OTHER:
        raise NotReady("the webhook has another checkpoint of this number", part="sink")
    if not 200 <= status < 300:
        raise NotReady(f"the webhook answered {status}", part="sink")

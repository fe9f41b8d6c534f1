"""Reads the environment by django-environ; a bad or missing value ends start-up with one clear line."""

import os
import secrets
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

BASE = Path(__file__).resolve().parent.parent
env = environ.Env()
_KEYS: dict[str, Callable[[], str]] = {
    "FORGE_SECRET_KEY": lambda: secrets.token_urlsafe(48),
    "FORGE_SEALING_KEYS": lambda: Fernet.generate_key().decode(),
    "FORGE_FINGERPRINT_KEYS": lambda: secrets.token_urlsafe(32),
}


class BadSetting(ImproperlyConfigured):
    """One setting that can't be used; the text is the whole line an operator needs."""


def text(name: str, default: str, *, among: tuple[str, ...] = ()) -> str:
    """A text, one of `among` where given."""
    value = str(env.str(name, default=default))
    if among and value not in among:
        raise BadSetting(f"{name}={value!r}: expected one of {', '.join(among)}")
    return value


def number(name: str, default: int, *, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    given = env.str(name, default=str(default))
    try:
        value = int(given)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise BadSetting(f"{name}={given!r}: expected a whole number from {low} to {high}")
    return value


def flag(name: str, default: bool) -> bool:
    """0 or 1."""
    given = env.str(name, default="1" if default else "0")
    if given not in {"0", "1"}:
        raise BadSetting(f"{name}={given!r}: expected 0 or 1")
    return bool(given == "1")


def names(name: str) -> list[str]:
    """A comma-separated list."""
    return [part.strip() for part in str(env.str(name, default="")).split(",") if part.strip()]


def sinks(name: str) -> str:
    """Where checkpoints go: one path, one http(s) URL, or both with a comma between; "" for none."""
    places = names(name)
    urls = [place for place in places if "://" in place]
    files = [str(Path(place).absolute()) for place in places if place not in urls]
    if len(urls) > 1 or len(files) > 1 or not all(_is_web(url) for url in urls):
        raise BadSetting(f"{name}: expected a path, an http(s)://HOST URL, or both with a comma between")
    return ",".join(files + urls)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    """A comma-separated list of networks such as 10.1.0.0/16."""
    try:
        return [ip_network(part) for part in names(name)]
    except ValueError as error:
        raise BadSetting(f"{name}: {error}") from None


def database(name: str, default: str) -> dict[str, Any]:
    """Django's DATABASES entry of a URL: sqlite:///… or postgres://…"""
    url = str(env.str(name, default=default))
    scheme = url.partition("://")[0]
    if scheme not in {"sqlite", "postgres", "postgresql"}:
        raise BadSetting(f"{name}: expected sqlite:///PATH or postgres://USER@HOST/NAME, not {scheme}://…")
    try:
        return dict(environ.Env.db_url_config(url))
    except Exception:
        raise BadSetting(f"{name}: not a database URL") from None


def mail(name: str, default: str) -> dict[str, Any]:
    """Django's EMAIL_ settings of a URL: smtp://USER:PASSWORD@HOST:PORT, smtp+tls://…, smtp+ssl://…"""
    url = str(env.str(name, default=default))
    if url.partition("://")[0] not in {"smtp", "smtp+tls", "smtp+ssl", "consolemail", "memorymail"}:
        raise BadSetting(f"{name}: expected smtp://…, smtp+tls://… or smtp+ssl://…")
    try:
        return dict(environ.Env.email_url_config(url))
    except Exception:
        raise BadSetting(f"{name}: not a mail server's URL") from None


def keys(var: Path, mode: str) -> dict[str, str]:
    """The secret keys: of the environment, or (embedded mode) of `var/keys.env`, which is written once, 0600."""
    if mode == "scaled":
        missing = [name for name in _KEYS if not os.environ.get(name)]
        if missing:
            raise BadSetting(f"{missing[0]}: missing; scaled mode requires {', '.join(_KEYS)}")
        return {name: os.environ[name] for name in _KEYS}
    path = var / "keys.env"
    try:
        stored = _read_keys(path) if path.exists() else _write_keys(path)
    except OSError as error:
        raise BadSetting(f"FORGE_VAR={str(var)!r} can't be used: {error.strerror}") from None
    return {name: os.environ.get(name) or stored[name] for name in _KEYS}


def _read_keys(path: Path) -> dict[str, str]:
    found = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    missing = [name for name in _KEYS if not found.get(name)]
    if missing:
        raise BadSetting(f"{path}: {missing[0]} is missing")
    return found


def _write_keys(path: Path) -> dict[str, str]:
    """Made aside and linked into place, so that two first starts agree on one file."""
    made = {name: make() for name, make in _KEYS.items()}
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f".keys.{os.getpid()}.{secrets.token_hex(4)}")
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write("".join(f"{name}={value}\n" for name, value in made.items()))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(aside, path)
    except FileExistsError:
        return _read_keys(path)
    finally:
        aside.unlink()
    return made

"""System checks of what approvals is configured with."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from approvals.reviewers import configured
from approvals.reviewers.http_model import HttpModelReviewer


@register()
def reviewers(**_: Any) -> list[CheckMessage]:
    """Every reviewer can be made, and a model's endpoint and name are known."""
    try:
        made = configured()
    except ImproperlyConfigured as fault:
        return [Error(str(fault), id="approvals.E001")]
    for one in made:
        if isinstance(one, HttpModelReviewer):
            if not settings.FORGE_REVIEWER_URL.startswith(("http://", "https://")):
                return [Error("FORGE_REVIEWER_URL: expected http://… or https://…", id="approvals.E002")]
            if not one.model:
                name = f"FORGE_REVIEWER_{one.stage.upper()}_MODEL"
                return [Error(f"{name}: missing, {type(one).__name__} needs it", id="approvals.E003")]
    return []

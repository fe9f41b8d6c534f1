"""Text for a person's eyes, as kernel/visible writes it; kept here for the capabilities that describe themselves."""

from forge_project.kernel.visible import code, content, hidden, name

__all__ = ["code", "content", "hidden", "name"]

"""What agents may do: one small class per capability, with every declaration; no Django, usable without settings."""

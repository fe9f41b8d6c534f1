"""Real workers, real kills."""

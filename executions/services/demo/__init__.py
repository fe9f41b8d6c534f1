"""The main job on real input, against a Forge of its own: what `manage.py demo` runs."""

"""What runs in the zygote and its guests: only the standard library and the engine; nothing else of Forge."""

"""A workspace's files, reached by directory descriptors only."""

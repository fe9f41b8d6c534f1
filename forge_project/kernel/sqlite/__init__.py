"""Django's SQLite backend with one write lock across processes and threads."""

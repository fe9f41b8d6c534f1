"""What every API edge shares: closed requests, cursor pages, OpenAPI."""

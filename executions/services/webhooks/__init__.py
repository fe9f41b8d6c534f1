"""Webhooks: subscribe, delete, deliver, retry."""

"""Figures for Prometheus, on an address of their own."""

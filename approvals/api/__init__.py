"""The HTTP edge of approvals: parse, call one service or selector, render."""

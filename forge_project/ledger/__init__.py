"""The ledger: append-only, hash-chained events; the authority every other row is a projection of.

Write by `ledger.writing.writing`, tool facts by `ledger.operations`, read by `ledger.selectors`.
"""

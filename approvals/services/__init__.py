"""Writes of approvals, policy rules and tokens: one verb a file."""

from approvals.services.answer import Answer, answer
from approvals.services.ask import Ask, ask
from approvals.services.ask_agent import AskAgent, ask_agent
from approvals.services.consume import Consume, consume
from approvals.services.decide import Decide, decide
from approvals.services.expire import expire_due
from approvals.services.grants import (
    MakeGrant,
    RevokeGrant,
    VoteGrant,
    end_grants,
    make_grant,
    revoke_grant,
    vote_grant,
)
from approvals.services.revoke import Revoke, revoke, revoke_in
from approvals.services.rules import RetireRule, SaveRule, retire_rule, save_rule
from approvals.services.tokens import issue_token, revoke_tokens

__all__ = [
    "Answer", "Ask", "AskAgent", "Consume", "Decide", "MakeGrant", "RetireRule", "Revoke", "RevokeGrant", "SaveRule",
    "VoteGrant", "answer", "ask", "ask_agent", "consume", "decide", "end_grants", "expire_due", "issue_token",
    "make_grant", "retire_rule", "revoke", "revoke_grant", "revoke_in", "revoke_tokens", "save_rule", "vote_grant",
]  # fmt: skip

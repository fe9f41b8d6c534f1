"""What a set-up needs, looked at one by one; each fault says how to mend it."""

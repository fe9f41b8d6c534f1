"""What an event may look like: exact keys, closed lists, one lane each. Every event passes here before it is stored."""

"""What observers are told: signals, written in the transaction of the transition they tell."""

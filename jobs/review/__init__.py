"""The monthly review: how good the rules were, what changed, and what nobody could explain."""

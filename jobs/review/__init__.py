"""The monthly review: how good the rules are, and whether others would be better."""

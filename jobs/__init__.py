"""Entry points: everything that reads, writes, lists, waits or prints."""

"""Readers: bytes of one stream in, rows of `staged.READ_SCHEMA` out; one module a format."""

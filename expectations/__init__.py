"""Quality gates: one suite per table, bound to the table contracts."""

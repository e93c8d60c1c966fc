"""Pure DataFrame -> DataFrame steps and the contract of each table: no read, write, clock or session."""

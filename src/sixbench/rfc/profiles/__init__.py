"""The clauses of the profiles: a file each, with `CLAUSES`."""

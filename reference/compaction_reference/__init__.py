"""The rules of `spec/` as plain Python: dicts in, dicts out."""

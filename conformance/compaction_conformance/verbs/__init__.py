"""The verbs of the command line, one module each: `add(verbs)` declares its arguments, `main(options)` does it."""

"""The corpus of provider responses (`fixtures/overflow`), and the ways in which it is served and judged.

`cases` reads it, and `text` writes it. `server` and the modules `replay_…` serve it over HTTP and without a socket.
`response_rules` and `response_vectors` make vectors of it, `record` holds it against the oracle, `lint` and `personal`
look for what must not be in it.
"""

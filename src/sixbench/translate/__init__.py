"""Packets of a capture through a mechanism, for `sixbench translate`: the mechanisms with their options, the
conversation with `sixbench-agent translate`, and the throw-away network around the device of an engine.

`mechanisms` has an entry for each mechanism. Its options are those that experiments have (`option`), and those that
only packets need. `engines` takes packets through the core alone (`process`) or through a device (`passing`), and
`journey` reads them from a capture, and says what became of each.

It may import `bench` and everything below; only `cli` imports it.
"""

"""The page: `sixbench ui` in a browser, for people who would rather look than read.

`guard` says who is served, `app` has the addresses, `server` listens. `runs`, `events` and `learn` give what the
screens show, and `jobs` starts runs: each is a `sixbench run` (or a `sixbench measure`, as `two_machines` reads it) of
its own, which does not need the page. A run knows while a page `look`s at it.
`static` is the page itself: plain modules and a style sheet, without a build. Only `cli` may import this. It needs the
packages of the extra `ui`.
"""

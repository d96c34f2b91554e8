"""The page: `sixbench ui` in a browser, for people who would rather look than read.

There are two processes. The server has no rights of root's: `guard` says who is served, `app` has the addresses,
`server` serves where `listening` listens. `runs`, `events` and `learn` give what the screens show. A run knows while a
page `look`s at it. Whole runs are read `apart`, in processes that
end with their answers. What needs more rights is asked (`asking`) of the `runner`, which has the `jobs`: each is a
`sixbench run` (or a `sixbench measure`, as `two_machines` reads it) of its own, which does not need the page.
`static` is the page itself: plain modules and a style sheet, without a build. Only `cli` may import this. It needs the
packages of the extra `ui`.
"""

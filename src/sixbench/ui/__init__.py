"""The page: `sixbench ui` in a browser, for people who would rather look than read.

There are two processes. The server gives up root's rights: `guard` decides which requests are served, `app` has the
addresses, and `server` serves where `listening` listens. `runs`, `events` and `learn` give the data of the screens. A
run knows while a page `look`s at it. Whole runs are read `apart`, in processes that end with their answers. The server
asks (`asking`) the `runner` for work that needs more rights. The runner has the `jobs`: each is a separate `sixbench
run` (or a `sixbench measure`, as `two_machines` reads it), which does not need the page. `static` is the page itself:
plain modules and a style sheet, without a build. Only `cli` may import this. It needs the packages of the extra `ui`.
"""

"""`sixbench ui` over recorded runs, and its screens in a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import observed
from playwright.sync_api import Page

from sixbench.bench.proof.pcapng import to_pcapng

PHONE, WIDE = 390, 1400
PATIENCE_MS = 240_000
"""Reading and analysing a run takes long where the machine is busy."""
CAPTURE = to_pcapng(
    [observed.packet({"realtime_ns": 10**18, "wire_bytes": 66, "data": "00" * 60})], "eth0 of r1 on r1-r2", 128
)


@dataclass(kw_only=True)
class Served:
    """The page's address with its token, and what the browser said of it."""

    address: str
    directory: Path
    wrong: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        return self.address.partition("#")[0]

    @property
    def token(self) -> str:
        return self.address.partition("#token=")[2]

    def watch(self, page: Page) -> None:
        """Notes whatever should not happen."""
        page.on("console", lambda message: self.wrong.append(message.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda asked: self.wrong.append(asked.url) if not self._is_own(asked.url) else None)

    def _is_own(self, url: str) -> bool:
        return url.startswith((self.base, "data:"))


def show(page: Page, served: Served, screen: str, width: int = WIDE, scheme: str = "light") -> None:
    """Shows a screen anew: nothing is left of what was typed there before."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    address = f"{served.base}#/{screen}"
    page.reload() if page.url == address else page.goto(address)
    page.locator(f"main > .{screen.partition('/')[0]} h1").wait_for()
    if screen.startswith("result/") and screen.count("/") > 1:
        page.get_by_role("heading", name="Files of this trial").wait_for()
    if screen.startswith("result/small"):
        # Until its frame holds it, what axe-core posts there is an error of this page.
        page.frame_locator("iframe").get_by_role("heading", name="The report").wait_for()

"""Pages inside notebooks: in a frame of their own, so that styles of page and notebook do not mix."""

from __future__ import annotations

import html


def frame(page: str, height: int = 640) -> str:
    """A page as an element of another."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" '
        f'style="box-sizing:border-box;width:100%;height:{height}px;border:1px solid #8884;border-radius:4px;background:#fff"></iframe>'
    )


def preformatted(text: str) -> str:
    """Text as an element."""
    return f'<pre style="line-height:1.25">{html.escape(text)}</pre>'

"""An agent whose prompt says what it does: a number is how many chunks it answers in, anything else keeps it quiet."""

import asyncio
from collections.abc import AsyncGenerator

CHUNK = "about a token's text "


async def speak(prompt: str) -> AsyncGenerator[str]:
    """Say as many chunks as asked; or one, and then nothing more until it is stopped."""
    for _ in range(int(prompt) if prompt.isdigit() else 1):
        yield CHUNK
    if not prompt.isdigit():
        await asyncio.Event().wait()

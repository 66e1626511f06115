"""A command line agent: it reads a prompt from stdin, counts its words, and answers in JSON lines.

It needs nothing but Python. Each run is a new process, so it knows of a conversation only what is in its prompt, or
what it has stored itself under $LLAMON_SESSION_ID.

    llamon serve --config examples/process_agent.yaml
"""

import json
import sys
from collections import Counter


def say(**event: object) -> None:
    """One event is one line, and must not wait in a buffer."""
    print(json.dumps(event), flush=True)


def count(text: str) -> None:
    words = Counter(text.lower().split())
    say(progress="counting")
    say(delta=f"{words.total()} words, ")
    say(delta=f"{len(words)} of them different.")
    say(artifact={"name": "words", "description": "How often each word occurs.", "parts": [{"data": words}]})


def main() -> int:
    prompt = sys.stdin.read().strip()
    if prompt.lower() == "count":
        say(interrupt="Which text shall I count?")
    elif prompt:
        count(prompt)
    else:
        print("there was no prompt", file=sys.stderr)  # for the log of the edge
        say(error="Send me a text to count.")  # for the caller
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

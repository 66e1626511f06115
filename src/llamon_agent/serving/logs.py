"""The format of log lines, ours and the libraries': for people or as JSON, through the standard library's loggers.

Code logs with `logging.getLogger(__name__)` and puts ids into `extra`, by the keys named here. Nothing else of `extra`
is written, since a library may put anything there. Two rules keep secrets out of every line. The configured level is
for our loggers only; the libraries stay at INFO or above, because at DEBUG they write what they are given (prompts, SQL
parameters, headers). And whatever looks like a bearer token is masked in the finished line.
"""

import logging
import re
import sys
import time
from collections.abc import Callable
from typing import Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

KEYS = ("task_id", "context_id", "agent")
"""What a log line may have besides its text; `Task.log_ids` gives them."""

_OUR_LOGGER = "llamon_agent"
_NOISY = "psycopg.pool"
"""It warns of each attempt to reach a server that is down, every second or two; our own store logs it once a minute."""
_FILLED_BY_CALLERS = (
    "llamon_agent.inbound.a2a.bindings.refusals",
    "llamon_agent.inbound.a2a.bindings.web_guard",
    "llamon_agent.inbound.a2a.history.reading",
)
"""Each call can add a line here, so these are limited, each for itself."""
_LINES_A_MINUTE = 20
_BEARER = re.compile(r"(?i)\b(bearer)(\s+|%20)[A-Za-z0-9._~+/=-]+")


def set_up_logging(level: str, style: Literal["console", "json"], stream: TextIO | None = None) -> None:
    """Send every log line to `stream`, stderr where None is given, and nothing anywhere else.

    Shape: level is one of debug, info, warning, error.
    """
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    for name in _FILLED_BY_CALLERS:
        handler.addFilter(LineLimit(name, _LINES_A_MINUTE))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.ExtraAdder(allow=KEYS),
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_writer(style, stream)],
        )
    )
    ours = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(handlers=[handler], level=max(ours, logging.INFO), force=True)
    logging.getLogger(_OUR_LOGGER).setLevel(ours)
    logging.getLogger(_NOISY).setLevel(logging.ERROR)


class LineLimit(logging.Filter):
    """Lets so many lines of a logger through in a minute. The first line after that says how many were left out.

    Units: now gives seconds.
    """

    def __init__(self, logger: str, lines_a_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._logger = logger
        self._limit = lines_a_minute
        self._now = now
        self._began = now()
        self._lines = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name != self._logger:
            return True
        left_out = 0
        if self._now() - self._began >= 60:
            left_out, self._lines = max(0, self._lines - self._limit), 0
            self._began = self._now()
        self._lines += 1
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out} more lines like this were left out)", None
        return self._lines <= self._limit


def _writer(style: Literal["console", "json"], stream: TextIO) -> list[Processor]:
    if style == "json":
        return [structlog.processors.format_exc_info, _masked(structlog.processors.JSONRenderer(ensure_ascii=False))]
    # The plain traceback: the pretty ones show local variables, which are prompts and tokens.
    plain = structlog.dev.plain_traceback
    return [_masked(structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain))]


def _masked(render: Processor) -> Processor:
    """A renderer whose finished line shows no bearer token."""

    def write(logger: WrappedLogger, name: str, event: EventDict) -> str:
        return _BEARER.sub(r"\1 ***", str(render(logger, name, event)))

    return write

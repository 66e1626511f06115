"""Our edge, served for a kit."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.conftest import running_edge

CONFIGS = Path(__file__).parent / "configs"


@contextmanager
def serving(config: str, data: Path, *, environment: Mapping[str, str]) -> Iterator[str]:
    """An edge with one of the configurations next to this file, on a free port of the loopback; gives its address."""
    with running_edge("--config", str(CONFIGS / f"{config}.yaml"), data=data, env=dict(environment)) as edge:
        yield edge.url

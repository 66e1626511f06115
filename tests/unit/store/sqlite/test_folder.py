"""A data folder has one owner, and a dead one does not count."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from llamon_agent.domain.errors import ConfigError
from llamon_agent.store.sqlite import folder
from llamon_agent.store.sqlite.folder import LOCK_NAME, kind_of_file_system, own_folder

SOURCE = Path(__file__).parents[4] / "src"

HOLDS_THE_FOLDER = """
import sys
from llamon_agent.store.sqlite.folder import own_folder

with own_folder(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def refused(path: Path) -> str:
    with pytest.raises(ConfigError) as raised, own_folder(path):
        pass
    assert str(path) in raised.value.public
    return raised.value.public


def test_a_missing_folder_is_made_and_is_private(tmp_path: Path) -> None:
    with own_folder(tmp_path / "a" / "b") as made:
        assert made == tmp_path / "a" / "b"
        assert made.is_dir()
        assert made.stat().st_mode & 0o077 == 0


def test_a_folder_in_use_is_refused_and_free_afterwards(tmp_path: Path) -> None:
    with own_folder(tmp_path):
        assert "in use by another process" in refused(tmp_path)
    with own_folder(tmp_path):
        pass


def test_an_error_inside_frees_the_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyError), own_folder(tmp_path):
        raise KeyError
    with own_folder(tmp_path):
        pass


def test_a_killed_owner_leaves_the_folder_free(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS_THE_FOLDER, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline().strip() == b"held"
        assert "in use by another process" in refused(tmp_path)
        owner.kill()
        owner.wait(timeout=5)
        with own_folder(tmp_path):
            pass


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "cannot be written" in refused(tmp_path / "file" / "data")


def test_a_folder_in_use_is_refused_also_where_its_lock_was_deleted(tmp_path: Path) -> None:
    with own_folder(tmp_path):
        (tmp_path / LOCK_NAME).unlink()
        assert "in use by another process" in refused(tmp_path)


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "open", full)
    assert "the disk is full; make room on it" in refused(tmp_path)


def test_a_folder_that_cannot_be_locked_is_not_taken_for_one_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unable(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unable)
    told = refused(tmp_path)
    assert "cannot be locked" in told
    assert "choose a folder on a local disk, or data.postgres" in told


MOUNTS = """
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 22 0:39 / /srv/my\\040data rw,relatime - nfs4 server:/export rw,vers=4.2
41 22 0:40 / /tmp rw shared:2 master:1 - tmpfs tmpfs rw
""".strip()


@pytest.mark.parametrize(
    ("device", "kind"), [("254:0", "ext4"), ("0:39", "nfs4"), ("0:40", "tmpfs"), ("9:9", None), ("", None)]
)
def test_the_kind_of_a_file_system_is_read_from_the_mounts(device: str, kind: str | None) -> None:
    assert kind_of_file_system(MOUNTS, device) == kind


def test_a_network_file_system_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with own_folder(tmp_path):
        assert caplog.messages == []
    monkeypatch.setattr(folder, "kind_of_file_system", lambda _mounts, _device: "nfs4")
    with own_folder(tmp_path):
        (told,) = caplog.messages
    assert "choose a folder on a local disk, or data.postgres" in told

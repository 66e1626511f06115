"""A real browser, on a machine that has one; `make browser` insists on it."""

import shutil

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

collect_ignore_glob = [] if CHROMIUM else ["test_*.py"]

"""`python -m llamon_agent` is `llamon`."""

import sys

from llamon_agent.cli.main import main

sys.exit(main())

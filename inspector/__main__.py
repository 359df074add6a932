"""`python -m inspector` is the `inspector` program."""

import sys

from inspector.cli import main

sys.exit(main())

"""``python -m bbclust.reproduction``."""

import sys

from bbclust.reproduction.command import main

if __name__ == "__main__":
    sys.exit(main())

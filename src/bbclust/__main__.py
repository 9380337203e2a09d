"""``python -m bbclust``: the command line."""

from bbclust.cli import main

if __name__ == "__main__":
    main()

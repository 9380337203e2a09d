"""Print the table of output files for docs/cli.md.

python docs/list_files.py | python docs/fill_tables.py files
"""

from __future__ import annotations

from bbclust.cli.output.files import OUTPUT_FILES


def list_files() -> str:
    """One line for every file: its name, what it holds and when it is written."""
    lines = ["| file | what it holds | written |", "|---|---|---|"]
    lines += [f"| `{file.name}` | {file.holds} | {file.when.words} |" for file in OUTPUT_FILES]
    return "\n".join(lines)


if __name__ == "__main__":
    print(list_files())

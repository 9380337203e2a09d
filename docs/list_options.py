"""Print the table of options for docs/cli.md.

python docs/list_options.py | python docs/fill_tables.py options
"""

from __future__ import annotations

from typing import Any

import typer

from bbclust.cli.app import app


def list_options() -> str:
    """One line for every option: its name, default, commands and meaning."""
    every: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    commands = {name: command for name, command in every.items() if not command.hidden}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for name, command in commands.items():
        for option in command.params:
            if not option.opts[0].startswith("--") or option.name == "help":
                continue
            words = ", ".join(f"`{word}`" for word in (*option.opts, *option.secondary_opts))
            row = rows.setdefault((words, option.help), {"commands": [], "default": ""})
            row["commands"].append(name)
            row["default"] = _default(option.default)
    lines = ["| option | default | meaning | commands |", "|---|---|---|---|"]
    for (words, meaning), row in rows.items():
        users = "all" if len(row["commands"]) == len(commands) else ", ".join(row["commands"])
        lines.append(f"| {words} | {row['default']} | {meaning} | {users} |")
    return "\n".join(lines)


def _default(value: Any) -> str:
    value = getattr(value, "value", value)
    return "" if value is None or value is False else f"`{value}`"


if __name__ == "__main__":
    print(list_options())

"""Bytes and texts as strangers might send them: damage, lies about lengths, bombs, markup.

Every function takes a generator and is a pure function of what it draws, so that an input can be
made again from its number.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Draw = np.random.Generator

COUNTS = (0, 1, 2, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1)
# Cells and names that mean something to somebody: parsers, spreadsheets, terminals, browsers.
WORDS = (
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(A1:A9)",
    "\t=1+1",
    "\r=1+1",
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<svg/onload=window.hacked=1>",
    "'\"><iframe srcdoc='<script>parent.hacked=1</script>'>",
    "javascript:window.hacked=1",
    "{{ 7*7 }}{% raw %}",
    "${window.hacked=1}",
    "@{row}@row$index",
    "$$\\href{javascript:window.hacked=1}{x}$$",
    "<!--<script>",
    "]]>--><![CDATA[",
    "&lt;script&gt;&#60;",
    "../../../etc/passwd",
    "C:\\Windows\\win.ini",
    "\x1b[2J\x1b]0;title\x07",
    "\u202eright to left\u2066",
    "\ufeff",
    "\u2028\u2029\x85",
    "\x7f\x00",
    "NaN",
    "-inf",
    "1e999",
    "1,234.5",
    "0x1p3",
    "9" * 400,
    "",
    " ",
    '"',
    "''",
    "雪" * 30,
    "e\u0301" * 50,
    "x" * 5000,
    "__class__",
    "constructor",
    "%s%n%x",
    "null",
)


def word(draw: Draw) -> str:
    return WORDS[draw.integers(len(WORDS))]


def below(draw: Draw, stop: int) -> int:
    return int(draw.integers(stop))


# --- damage ---------------------------------------------------------------------------------------


def damaged(draw: Draw, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """One to three damages of random kinds."""
    for _ in range(1 + below(draw, 3)):
        data = DAMAGES[below(draw, len(DAMAGES))](draw, data or b"\0", others)
    return data


def _flip(draw: Draw, data: bytes, others: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range((1, 5, 50)[below(draw, 3)]):
        changed[below(draw, len(data))] ^= 1 << below(draw, 8)
    return bytes(changed)


def _overwrite(draw: Draw, data: bytes, others: Sequence[bytes]) -> bytes:
    at = below(draw, len(data))
    new = draw.bytes(1 + below(draw, 16)) if draw.random() < 0.5 else word(draw).encode()[:200]
    return data[:at] + new + data[at + len(new) :]


def _cut(draw: Draw, data: bytes, others: Sequence[bytes]) -> bytes:
    at = below(draw, len(data))
    return data[:at] if draw.random() < 0.7 else data[at:]


def _leave_out(draw: Draw, data: bytes, others: Sequence[bytes]) -> bytes:
    at, length = below(draw, len(data)), 1 + below(draw, 64)
    return data[:at] + data[at + length :]


def _repeat(draw: Draw, data: bytes, others: Sequence[bytes]) -> bytes:
    at, length = below(draw, len(data)), 1 + below(draw, 200)
    return data[:at] + data[at : at + length] * (1 + below(draw, 20)) + data[at:]


def _splice(draw: Draw, data: bytes, others: Sequence[bytes]) -> bytes:
    other = others[below(draw, len(others))] if others else data[::-1]
    a, b = below(draw, len(data)), below(draw, len(other) + 1)
    end = b + below(draw, 500)
    return data[:a] + other[b:end] + (data[a:] if draw.random() < 0.5 else b"")


def _change_count(draw: Draw, data: bytes, others: Sequence[bytes]) -> bytes:
    """Write a length that is a lie, in one of the ways that formats store lengths."""
    count = COUNTS[below(draw, len(COUNTS))]
    form, mask = (("<H", 2**16), ("<I", 2**32), (">I", 2**32), ("<Q", 2**64))[below(draw, 4)]
    new = struct.pack(form, count % mask)
    at = below(draw, len(data))
    return data[:at] + new + data[at + len(new) :]


def _insert_word(draw: Draw, data: bytes, others: Sequence[bytes]) -> bytes:
    at = below(draw, len(data) + 1)
    odd = (
        b"\xed\xa0\x80",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\0",
        b"\r",
        b"\n" * 5,
        b",",
        b'"',
        b"\t",
    )
    new = odd[below(draw, len(odd))] if draw.random() < 0.5 else word(draw).encode()
    return data[:at] + new + data[at:]


Damage = Callable[[Draw, bytes, Sequence[bytes]], bytes]
DAMAGES: tuple[Damage, ...] = (
    *(_flip, _overwrite, _cut, _leave_out, _repeat, _splice, _change_count, _insert_word),
)


# --- archives -------------------------------------------------------------------------------------


def members_of(data: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def zipped(
    members: Sequence[tuple[str, bytes]], comment: bytes = b"", stored: bool = False
) -> bytes:
    buffer = io.BytesIO()
    method = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")  # of two members of the same name
        for name, content in members:
            archive.writestr(name, content)
        archive.comment = comment
    return buffer.getvalue()


def damaged_inside(draw: Draw, data: bytes) -> bytes:
    """A zip archive, whole, of which one member is damaged, missing, twice there or renamed."""
    members = members_of(data)
    at = below(draw, len(members))
    name, content = members[at]
    kind = below(draw, 8)
    if kind == 0:
        members.pop(at)
    elif kind == 1:
        members.append(members[at])
    elif kind == 2:
        members[at] = (escaping_name(draw), content)
    elif kind == 3 and len(members) > 1:
        other = below(draw, len(members))
        members[at], members[other] = (name, members[other][1]), (members[other][0], content)
    else:
        members[at] = (name, damaged(draw, content, [one for _, one in members]))
    return zipped(members)


def escaping_name(draw: Draw) -> str:
    names = ("../escaped.csv", "/escaped.csv", "a/../../escaped.csv", "..\\escaped.csv", "C:/e.csv")
    odd = (".csv", "\x01.csv", "a" * 300 + ".csv", "雪.csv", "t.csv/", "=cmd.csv", "<b>.csv")
    return (*names, *odd)[below(draw, len(names) + len(odd))]


def bomb(draw: Draw, table: bytes) -> bytes:
    """A small archive that would be large, or that has more entries than it has bytes for."""
    kind = below(draw, 7)
    if kind == 0:
        return gzip.compress(b"1,2\n" * (1 << (20 + below(draw, 5))), 9, mtime=0)
    if kind == 1:
        return zipped([("t.csv", b"1,2\n" * (1 << (20 + below(draw, 5))))])
    if kind == 2:
        return zipped([(f"{i}.csv", b"1,2\n3,4\n") for i in range(below(draw, 5000))])
    if kind == 3:
        return _sharing(table, 2 + below(draw, 3000))
    if kind == 4:
        return _lying(table * 1000, COUNTS[below(draw, len(COUNTS))])
    if kind == 5:
        inner = table
        for _ in range(1 + below(draw, 5)):
            inner = (
                zipped([("t.zip", inner)]) if draw.random() < 0.5 else gzip.compress(inner, mtime=0)
            )
        return inner
    link = zipfile.ZipInfo("t.csv")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    return buffer.getvalue()


def _sharing(content: bytes, times: int) -> bytes:
    """Many entries of the directory that point to the same bytes."""
    data = zipped([("0000000.csv", content * 200)])
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry = data[start:end]
    entries = b"".join(entry.replace(b"0000000", b"%07d" % i) for i in range(times))
    directory = struct.pack("<HHIIH", times % 2**16, times % 2**16, len(entries), start, 0)
    return data[:start] + entries + b"PK\x05\x06\0\0\0\0" + directory


def _lying(content: bytes, claimed: int) -> bytes:
    """An archive that says of its member that it is of another size."""
    data = zipped([("t.csv", content)])
    return data.replace(struct.pack("<I", len(content)), struct.pack("<I", claimed % 2**32))


# --- NumPy ----------------------------------------------------------------------------------------


def npy(draw: Draw) -> bytes:
    """An array whose header says anything."""
    types = ("<f8", "<f4", ">f8", "<i8", "|b1", "|O", "<U0", "|S0", "|V0", "<U3", "<M8[s]", "<c16")
    more = ("<f2", "<f16", "|V8", "<U1000000000", "({0},)<f8", "f8,f8", "nonsense", "", "<i999")
    descr: Any = (*types, *more)[below(draw, len(types) + len(more))]
    if draw.random() < 0.3:
        fields = [word(draw) if draw.random() < 0.5 else f"f{j}" for j in range(1 + below(draw, 4))]
        if draw.random() < 0.2:
            fields[0] = "\ud800"
        descr = [
            (name, descr) if draw.random() < 0.8 else (name, descr, (COUNTS[below(draw, 6)],))
            for name in fields
        ]
    lengths = (0, 1, 2, 3, 5, 10**3, 10**6, 10**9, 2**31, 2**40, 2**62, 2**64, -1, 10**30)
    shape = tuple(lengths[below(draw, len(lengths))] for _ in range(below(draw, 4)))
    said: Any = shape if draw.random() < 0.95 else [shape, "3", None, 3.5][below(draw, 4)]
    head = repr({"descr": descr, "fortran_order": bool(draw.integers(2)), "shape": said})
    text = head.encode("utf-8", "backslashreplace")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    version = (1, 2, 3)[below(draw, 3)] if draw.random() < 0.9 else below(draw, 256)
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    body = draw.bytes(below(draw, 4000)) if draw.random() < 0.7 else bytes(below(draw, 4000))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + body


# --- JSON -----------------------------------------------------------------------------------------


def json_value(draw: Draw, depth: int = 0) -> str:
    """The text of a value, valid or nearly so."""
    kind = below(draw, 14)
    if kind < 3:
        return f"{draw.normal():.3g}"
    if kind < 5 or depth > 3:
        return json.dumps(word(draw))
    odd = ("NaN", "-Infinity", "1e999", "9" * 5000, "9" * 300, "-0", "null", "true", '"\\ud800"')
    if kind < 9:
        return odd[below(draw, len(odd))]
    if kind == 9:
        return "[" * 10 ** below(draw, 6)
    inside = [json_value(draw, depth + 1) for _ in range(below(draw, 4))]
    if kind < 12:
        return "[" + ",".join(inside) + "]"
    return "{" + ",".join(f"{_key(draw)}:{one}" for one in inside) + "}"


def _key(draw: Draw) -> str:
    odd = ('"\\ud800"', '""', '"x"', '"x"', '"y"', '"a\\u0000b"', '" x "')
    return odd[below(draw, len(odd))] if draw.random() < 0.6 else json.dumps(word(draw))


def json_table(draw: Draw) -> bytes:
    """Objects, of which most have the numbers x and y."""
    rows = []
    for _ in range(1 + below(draw, 30)):
        entries = [f'"x":{draw.normal():.3g}', f'"y":{draw.normal():.3g}']
        if draw.random() < 0.3:
            entries[below(draw, 2)] = f'"x":{json_value(draw)}'
        if draw.random() < 0.3:
            entries.append(f"{_key(draw)}:{json_value(draw)}")
        rows.append("{" + ",".join(entries) + "}")
    text = "\n".join(rows) if draw.random() < 0.5 else "[" + ",".join(rows) + "]"
    return text.encode("utf-8", "surrogatepass")


# --- text -----------------------------------------------------------------------------------------


def csv_table(draw: Draw) -> bytes:
    """Names and cells of strangers among numbers, quoted or not."""
    width, n = 2 + below(draw, 5), 2 + below(draw, 40)
    names = [word(draw) if draw.random() < 0.5 else f"c{j}" for j in range(width)]
    is_text = draw.random(width) < 0.3
    lines = [names] if draw.random() < 0.9 else []
    for _ in range(n):
        row = [word(draw) if text else f"{draw.normal():.4g}" for text in is_text]
        if draw.random() < 0.05:
            row[below(draw, width)] = word(draw)
        if draw.random() < 0.01:
            row.append("1")
        lines.append(row)
    delimiter = (",", ";", "\t", "|")[below(draw, 4)]
    end = ("\n", "\r\n", "\r")[below(draw, 3)]
    quoting = draw.random() < 0.8
    text = end.join(
        delimiter.join(_quoted(cell) if quoting else cell for cell in row) for row in lines
    )
    encoding = ("utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig", "utf-32")[below(draw, 6)]
    return text.encode(encoding, "surrogatepass")


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def wide_or_long(draw: Draw) -> bytes:
    """Tables that are large in one direction only."""
    kind = below(draw, 9)
    many = int(10 ** draw.uniform(2, 5))
    if kind < 3:
        many = min(many, 300)  # columns that are read take tens of milliseconds each
    if kind == 0:
        header = ",".join(f"c{j}" for j in range(many))
        rows = "\n".join(",".join(str((i * j) % 7) for j in range(many)) for i in range(1, 4))
        return f"{header}\n{rows}\n".encode()
    if kind == 1:
        return ("x," * many + "x\n" + "1," * many + "1\n").encode()  # the same name for all
    if kind == 2:
        return ("," * many + "\n" + "1," * many + "2\n" + "2," * many + "1\n").encode()
    if kind == 3:
        return b"a,b\n1," + b"9" * (10 * many) + b"\n2,3\n"
    if kind == 4:
        return b'a,b\n1,"' + b"x\n" * many
    if kind == 5:
        return b"a,b\n" + b"1,2\n" * many + b"1\n"
    if kind == 6:
        return b"a,b\n" + b"\n" * many + b"1,2\n3,4\n"
    if kind == 7:
        return b"".join(b'{"c%d":1}\n' % j for j in range(min(many, 300)))
    columns = ",".join(f'"c{j}":{j % 7}' for j in range(min(many, 300)))
    return f"[{{{columns}}},{{{columns}}}]".encode()


# --- archives of bbclust --------------------------------------------------------------------------

_COMMENT = b"bbclust sha256 "


def resealed(data: bytes) -> bytes:
    """The checksum made to match, as an attacker would."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def archive_of(members: Sequence[tuple[str, bytes]], stored: bool = False) -> bytes:
    return resealed(zipped(members, _COMMENT + b"0" * 64, stored))


def hostile_archive(draw: Draw, data: bytes, others: Sequence[bytes]) -> bytes:
    """An archive of bbclust: damaged, damaged and resealed, or with a member that was edited."""
    kind = below(draw, 6)
    if kind == 0:
        return damaged(draw, data, others)
    members = members_of(data)
    if kind == 1:
        return resealed(damaged(draw, archive_of(members, stored=True), others))
    at = 0 if draw.random() < 0.7 else below(draw, len(members))
    name, content = members[at]
    if name.endswith(".json") and kind < 5:
        head = json.loads(content)
        for _ in range(1 + below(draw, 3)):
            head = edited(draw, head)
        members[at] = (name, json.dumps(head).encode("utf-8", "surrogatepass"))
    elif name.endswith(".npy") and kind < 5:
        return archive_of(_with_other_numbers(draw, members, at))
    else:
        members[at] = (name, damaged(draw, content, others))
    return archive_of(members)


def _with_other_numbers(
    draw: Draw, members: list[tuple[str, bytes]], at: int
) -> list[tuple[str, bytes]]:
    """The same with numbers of one array changed, and often its shape, in the header too."""
    name, content = members[at]
    values = np.load(io.BytesIO(content)).copy()
    if values.size and draw.random() < 0.7:
        flat = values.reshape(-1)
        odd = [0, -1, 1, 2**31 - 1, 1e308, -1e308, np.nan, np.inf, 5e-324]
        new = odd[below(draw, len(odd))]
        where = slice(None) if draw.random() < 0.3 else below(draw, flat.size)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flat[where] = np.asarray(new).astype(values.dtype)
    elif values.ndim and len(values) > 1:
        changes = (values[1:], values[:0], values[None], values[..., :1], values.repeat(3, axis=0))
        values = np.ascontiguousarray(changes[below(draw, len(changes))])
    text = f"{{'descr': '{values.dtype.str}', 'fortran_order': False, 'shape': {values.shape!r}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    prefix = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
    changed = list(members)
    changed[at] = (name, prefix + values.tobytes())
    head = json.loads(members[0][1])
    head["arrays"][name.removesuffix(".npy")] = [values.dtype.str, list(values.shape)]
    changed[0] = (members[0][0], json.dumps(head).encode())
    return changed


def edited(draw: Draw, value: Any) -> Any:
    """Plain data with one entry somewhere inside changed, added or removed."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        changed = dict(value)
        key = list(value)[below(draw, len(value))]
        if draw.random() < 0.1:
            changed.pop(key)
        elif draw.random() < 0.1:
            changed[word(draw)] = plain(draw)
        else:
            changed[key] = edited(draw, value[key])
        return changed
    if isinstance(value, list) and value and draw.random() < 0.7:
        changed_list = list(value)
        at = below(draw, len(value))
        changed_list[at] = edited(draw, value[at])
        return changed_list if draw.random() < 0.8 else changed_list[:at]
    return plain(draw)


def plain(draw: Draw) -> Any:
    """Anything that JSON can hold."""
    deep: Any = []
    for _ in range(below(draw, 500)):
        deep = [deep]
    values = (None, True, 0, -1, 1, 3, 2**31, 2**63, 10**400, 0.5, -1e308, 1e308, 5e-324, [], {})
    more = (
        [1, 2],
        {"a": 1},
        deep,
        word(draw),
        "\ud800",
        "float64",
        "BBC",
        [[0, 1]],
        ["a", "b"],
        "x",
    )
    return (*values, *more)[below(draw, len(values) + len(more))]

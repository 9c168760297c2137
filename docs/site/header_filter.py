#!/usr/bin/env python3
"""Doxygen's INPUT_FILTER: turns the plain comments of a public header into Doxygen's, on stdout.

    header_filter.py include/submod/loss.h
    header_filter.py --check HEADERS     names values of enums that have no comment

The headers are written to be read as they are. What their layout means here:
    the first comment             documents the file
    /* ---- title ---- ... */     opens a group of declarations; text below the title belongs to it
    a comment above               documents the declaration below it, and those that follow without
                                  an empty line if they return and take as much: f32 and f64.
                                  What frees something has a comment of its own
    a comment by itself           belongs to the file
    a comment behind, on a line   documents the field or the value of an enum before it
    lines indented by two         keep their layout: formulas, tables, examples
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
SPECIAL = re.compile(r"[\\@&$#<>\"%]")


def lines_of(comment: str) -> list[str]:
    """Without stars, margins, and empty lines at the ends."""
    found = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.split("\n")]
    found[0] = comment.split("\n")[0].strip()
    while found and not found[-1]:
        found.pop()
    return found


def escaped(line: str) -> str:
    """As it stands, for Doxygen."""
    return SPECIAL.sub(lambda match: "\\" + match[0], line)


def flowing(line: str) -> str:
    """Of a paragraph. Doxygen would take these dots for the end of a sentence, or of a list."""
    line = re.sub(r"\b(Eqs?|Secs?|Defs?|Alg)\. ", r"\1.&nbsp;", escaped(line).replace("..", "…"))
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", line)


def keeps_layout(line: str) -> bool:
    return line.startswith("  ") and not re.match(r" *- ", line)


def marked_up(lines: list[str]) -> list[str]:
    """Paragraphs and lists as they are, indented lines between <pre> and </pre>."""
    out: list[str] = []
    pre = bullet = False
    for line in lines:
        if not line:
            bullet = False
        if re.match(r" *- ", line):
            bullet = True
        wanted = (keeps_layout(line) and not bullet) or (pre and not line)
        if wanted != pre:
            end = len(out) - 1 if pre and not out[-1] else len(out)  # no empty line at the end
            out.insert(end, "<pre>" if wanted else "</pre>")
            pre = wanted
        out.append(escaped(line) if pre else flowing(line))
    return [*out, "</pre>"] if pre else out


def doxygen(lines: list[str], mark: str = "", indent: str = "") -> str:
    body = f"\n{indent} * ".join(marked_up(lines))
    return f"{indent}/**{mark} {body} */"


def split_fields(line: str) -> list[str]:
    """`size_t batch, pixels;` as two, so that both get the comment."""
    match = re.fullmatch(r"(\s+)((?:const )?\w+ )(\w+(?:, \w+)+);", line)
    return [f"{match[1]}{match[2]}{name};" for name in match[3].split(", ")] if match else [line]


def signature(declaration: str) -> tuple[str, int] | None:
    """What a function returns, and how many arguments it takes."""
    match = re.match(r"SUBMOD_API ([^(]*?)\w+\((.*)\);", " ".join(declaration.split()))
    return (match[1].strip(), match[2].count(",")) if match else None


class Filter:
    def __init__(self, name: str) -> None:
        self.name = name
        self.out: list[str] = []
        self.comment: list[str] = []  # of the declaration to come
        self.shared: tuple[list[str], tuple[str, int]] | None = None
        self.in_group = False

    def file(self, lines: list[str]) -> None:
        self.out.append(f"/** @file {self.name}\n * " + "\n * ".join(marked_up(lines)) + " */")

    def group(self, lines: list[str]) -> None:
        self.close_group()
        title = escaped(lines[0].strip("- "))
        self.out.append(
            f"/** @name {title}\n * " + "\n * ".join(marked_up(lines[1:])) + " */\n/** @{ */"
        )
        self.in_group = True

    def close_group(self) -> None:
        if self.in_group:
            self.out.append("/** @} */")
        self.in_group = False

    def declaration(self, text: str) -> None:
        kind = signature(text)
        if self.comment:
            self.shared = (self.comment, kind) if kind else None
        elif kind and self.shared and self.shared[1] == kind and "_free(" not in text:
            self.comment = self.shared[0]
        if self.comment:
            indent = text[: len(text) - len(text.lstrip())]
            self.out += [
                line
                for part in split_fields(text)
                for line in (doxygen(self.comment, "", indent), part)
            ]
        else:
            self.shared = None
            self.out.append(text)
        self.comment = []

    def trailing(self, text: str, comment: list[str]) -> None:
        parts = split_fields(text.rstrip())
        self.out += [f"{part} {doxygen(comment, '<')}" for part in parts]


def paragraphs(text: str) -> list[str]:
    """Comments, empty lines, and declarations: functions whole, other lines one by one."""
    found = []
    at = 0
    pattern = re.compile(
        r"[ \t]*/\*.*?\*/[ \t]*\n"  # a comment that stands alone
        r"|SUBMOD_API [^;]*;(?:[ \t]*/\*.*?\*/)?\n"  # a function
        r"|[ \t]+\w[^;{}#/]*\([^;]*;(?:[ \t]*/\*.*?\*/)?\n"  # a callback in a struct
        r"|#define (?:[^\n]*\\\n)*[^\n]*\n"
        r"|[^\n]*?/\*.*?\*/\n"  # a line with a comment behind
        r"|[^\n]*\n",
        re.S,
    )
    while at < len(text):
        match = pattern.match(text, at)
        assert match, text[at:]
        found.append(match[0].rstrip("\n"))
        at = match.end()
    return found


def filtered(name: str, text: str) -> str:
    f = Filter(name)
    head = COMMENT.match(text)
    if head:
        f.file(lines_of(head[1]))
        text = text[head.end() :]
    for part in paragraphs(text):
        alone = re.fullmatch(r"\s*/\*(.*?)\*/\s*", part, re.S)
        behind = re.fullmatch(r"(.*\S)[ \t]*/\*((?:(?!\*/).)*)\*/\s*", part, re.S)
        if not part.strip():
            if f.comment:
                f.file(f.comment)
            f.comment, f.shared = [], None
            f.out.append("")
        elif alone and alone[1].lstrip().startswith("----"):
            f.group(lines_of(alone[1]))
        elif alone:
            f.comment = lines_of(alone[1])
        elif behind:
            f.trailing(behind[1], lines_of(behind[2]))
            f.comment, f.shared = [], None
        elif part.startswith("#ifdef __cplusplus"):
            f.close_group()
            f.out.append(part)
        else:
            f.declaration(part)
    f.close_group()
    return "\n".join(f.out) + "\n"


def bare_values(text: str) -> list[str]:
    """Values of enums, in filtered text, that have no comment."""
    found = []
    for body in re.findall(r"^typedef enum \w+ \{(.*?)\} \w+;", text, re.S | re.M):
        body = re.sub(r"/\*\*<.*?\*/", "<", body, flags=re.S)  # a comment behind a value
        body = re.sub(r"/\*\*.*?\*/", ">", body, flags=re.S)  # above it
        values = re.findall(r"(>?)\s*(SUBMOD_\w+)[^,<>]*,?\s*(<?)", body)
        found += [name for above, name, behind in values if not above and not behind]
    return found


def main() -> int:
    if sys.argv[1] != "--check":
        path = Path(sys.argv[1])
        sys.stdout.write(filtered(path.name, path.read_text(encoding="utf-8")))
        return 0
    bare = False
    for name in sys.argv[2:]:
        for value in bare_values(filtered(Path(name).name, Path(name).read_text(encoding="utf-8"))):
            print(f"{name}: {value} is not documented", file=sys.stderr)
            bare = True
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())

"""Label maps as a picture: rows of panels with words below them, and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Colours that stay apart, the background dark; more classes than colours begin again.
COLOURS = np.array(
    [
        (40, 40, 44), (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178),
        (213, 94, 0), (204, 121, 167), (250, 190, 190), (140, 86, 75), (150, 220, 130),
        (170, 130, 255),
    ],
    np.uint8,
)  # fmt: skip
VOID, PANEL, GAP, LINE, SIZE = (120, 120, 120), 192, 8, 26, 17


class Row(NamedTuple):
    """A grey or colour image (channels, height, width), label maps, and a text below each."""

    image: Any
    labels: Sequence[Any]
    texts: Sequence[str]


def class_colours(classes: int) -> Any:
    """256 of them, for each value of a label."""
    colours = COLOURS[1 + (np.arange(256) - 1) % (len(COLOURS) - 1)]
    colours[0] = COLOURS[0]
    colours[classes:] = VOID
    return colours


def grey(image: Any) -> Any:
    """All channels into the range of a picture."""
    image = np.asarray(image)
    low, high = np.percentile(image, (1, 99))
    image = np.clip((image - low) / max(high - low, 1e-6), 0, 1)
    return (255 * np.broadcast_to(image, (3, *image.shape[1:])).transpose(1, 2, 0)).astype(np.uint8)


def font() -> Any:
    from PIL import ImageFont

    try:
        return ImageFont.load_default(SIZE)
    except TypeError:  # Pillow before 10.1 has one size
        return ImageFont.load_default()


def places(names: Sequence[str], words: Any, width: int) -> list[tuple[float, int]]:
    """Where each name of the legend begins, and its line: from left to right."""
    found, x, line = [], float(GAP), 0
    for name in names:
        wide = LINE + words.getlength(name) + 2 * GAP
        if x > GAP and x + wide > width:
            x, line = float(GAP), line + 1
        found.append((x, line))
        x += wide
    return found


def save(
    file: Path, titles: Sequence[str], rows: Sequence[Row], names: Sequence[str], note: str = ""
) -> None:
    """titles: of the columns, the image's first. names: of the classes. note: the last line."""
    from PIL import Image, ImageDraw

    height, width = rows[0].labels[0].shape
    zoom = max(1, PANEL // width)
    step = (zoom * width + GAP, zoom * height + LINE + GAP)
    words, colours = font(), class_colours(len(names))
    legend = places(names, words, len(titles) * step[0] + GAP)
    below = LINE + len(rows) * step[1]
    end = below + (1 + legend[-1][1]) * LINE
    sheet = Image.new("RGB", (len(titles) * step[0] + GAP, end + (LINE if note else 0)), "white")
    drawn = ImageDraw.Draw(sheet)
    for column, title in enumerate(titles):
        left = GAP + column * step[0]
        drawn.text((left, 3), title, fill="black", font=words)
        for number, row in enumerate(rows):
            pixels = colours[np.asarray(row.labels[column - 1])] if column else grey(row.image)
            panel = Image.fromarray(pixels).resize(
                (zoom * width, zoom * height), Image.Resampling.NEAREST
            )
            sheet.paste(panel, (left, LINE + number * step[1]))
            text = (left, LINE + number * step[1] + zoom * height + 2)
            drawn.text(text, row.texts[column], fill="black", font=words)
    for number, (x, line) in enumerate(legend):
        y = below + line * LINE
        drawn.rectangle((x, y + 2, x + SIZE, y + 2 + SIZE), fill=tuple(map(int, colours[number])))
        drawn.text((x + LINE - 4, y), names[number], fill="black", font=words)
    drawn.text((GAP, end), note, fill="black", font=words)
    sheet.save(file, "PNG", optimize=True)

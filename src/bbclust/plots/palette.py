"""The colours of every picture, which colour-blind readers can tell apart too.

References
----------
Okabe, M. and Ito, K. (2008). Color Universal Design: how to make figures and presentations that
are friendly to colorblind people. https://jfly.uni-koeln.de/color/
"""

from __future__ import annotations

ORANGE = "#E69F00"
BLUE = "#0072B2"
GREEN = "#009E73"
VERMILLION = "#D55E00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"

# Without the palette's yellow, too pale on white, and its black, too close to INK.
SERIES = (ORANGE, BLUE, GREEN, VERMILLION, SKY, PURPLE)
# A second sign besides colour. Seven shapes for six colours: 42 pairs before one comes again.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

INK = "#333333"

"""What the report says, and its page."""

from __future__ import annotations

NONE = "-"

METHOD = """Every optimiser was run with every size of the same grid, and with the same number of
calls: a call is one look at all of f, by a subgradient or a prox. Its best size on each problem was
then taken, by the median accuracy over the seeds. Accuracy is (f - f*) / (f₀ - f*), where f₀ is the
value at the start; the best point so far counts."""

OVERVIEW = """<p>Shares are of the problems in which the optimiser takes part, so those of two
optimisers with different numbers of problems do not compare. Basin: how many decades of sizes lead
to an accuracy within a factor of 10 of the best one; median [quartiles] over problems.</p>
"""

PERFORMANCE = """<p>Dolan and Moré (2002). The share of all problems that an optimiser solves within
so many times the calls of the fastest: at the left, how often it is the fastest; at the right, how
often it solves the problem at all. Problems in which it cannot take part count as not solved. Sizes
are tuned for each problem.</p>
"""

DATA = """<p>Moré and Wild (2009). The share of all problems that is solved after so many calls.</p>
"""

UNTUNED = """<p>The performance profiles once more, but each optimiser has one size for all
problems, that with the best mean of log accuracy: what is left of it when nobody tunes.</p>
"""

SIZES = """<p>Accuracy with another size, against that with the best one: the median over problems.
The flatter the line, the less the size matters. Dotted: ten times worse than the best.</p>
"""

BASINS = """<p>Decades of sizes within a factor of 10 of the best accuracy, the widest first. A
plus: the basin goes on where the grid ends.</p>
"""

PROBLEMS = """<p>The best eight on each problem, the best of each group, and yours: medians over the
seeds, with quartiles as bands. Seconds are without those of the evaluations for these curves.
Optimisers written in Python pay for it in seconds, not in calls.</p>
"""

OSCILLATION = """<p>Of the paths with the best sizes, on problems of up to 20 variables: median
[quartiles]. Of methods that answer with an average, it is the path of the answers. Measured as in
study nu:</p>
"""

BY_STEPS = """<p>Without minibatches: the point after every step.</p>
"""

BY_PASSES = """<p>With minibatches: the point at the end of every pass, so these do not compare
with those above. Of the problems that come with the bench none of these has a ridge. Methods that
need minibatches are in this table alone.</p>
"""

MINIMA = """<p>Accuracies count from f*. Where the certified gap is more than 1e-6 of what J falls
by, f* is the best value known, and nothing proves that there is none below.</p>
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2em auto; }}
body {{ padding: 0 1em; }}
h2 {{ border-bottom: 1px solid #ccc; margin-top: 2em; }}
p, li {{ max-width: 50em; }}
figure {{ margin: 1em 0; }}
img {{ max-width: 100%; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 13px; }}
th, td {{ padding: 2px 10px 2px 0; text-align: left; white-space: nowrap; }}
tr + tr {{ border-top: 1px solid #eee; }}
summary {{ cursor: pointer; color: #036; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}</body>
</html>
"""

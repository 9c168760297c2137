"""The last layer of networks, a convex problem: the experiment `last_layer`.

data         features that networks hand to their last layer
problem      the Lovász hinge of that layer: subgradients, prox directions
methods      its optimisers, and its minimum
jobs         the pieces of work
experiment   what is told: results, tables, figure, claims
"""

"""Cuts of square grids with four neighbours, as libsubmod, PyMaxflow and proxTV see them."""

from types import SimpleNamespace

import maxflow
import numpy as np
import prox_tv

WEIGHT = 1.0


class Grid:
    """An image x of a disc with noise, and edges of one weight between neighbours."""

    def __init__(self, side, rng):
        self.side = side
        y, x = np.mgrid[:side, :side] / side - 0.5
        image = 1.2 * (x**2 + y**2 < 0.1) - 0.6 + rng.normal(size=(side, side))
        self.x = np.ascontiguousarray(image.ravel())
        index = np.arange(side * side, dtype=np.int32).reshape(side, side)
        across = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], 1)
        down = np.stack([index[:-1].ravel(), index[1:].ravel()], 1)
        self.edges = np.concatenate([across, down])

    def function(self, lib):
        return lib.submod.Function.cut(self.side**2, self.edges, np.full(len(self.edges), WEIGHT))

    def minimize(self, lib, shifted, base, work):
        inside, info = lib.minimize(shifted, base, work)
        gap = info.gap if base else float("nan")
        found = SimpleNamespace(method="minimizer", gap=gap, primal=self.energy(inside))
        return inside.astype(float), found

    def minimize_by_pymaxflow(self):
        graph = maxflow.Graph[float](self.side**2, len(self.edges))
        nodes = graph.add_grid_nodes((self.side, self.side))
        graph.add_grid_edges(nodes, WEIGHT)
        image = self.x.reshape(self.side, self.side)
        graph.add_grid_tedges(nodes, np.maximum(image, 0), np.maximum(-image, 0))
        graph.maxflow()
        return (~graph.get_grid_segments(nodes)).ravel().astype(float)

    def prox_by_proxtv(self):
        return prox_tv.tv1_2d(self.x.reshape(self.side, self.side), WEIGHT).ravel()

    def variation(self, u):
        return WEIGHT * float(np.abs(u[self.edges[:, 0]] - u[self.edges[:, 1]]).sum())

    def energy(self, inside):
        inside = inside.astype(float)
        return self.variation(inside) - float(self.x @ inside)

    def objective(self, u):
        return self.variation(u) + float(np.sum((u - self.x) ** 2)) / 2

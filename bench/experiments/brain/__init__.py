"""IBSR's heads in five folds: the experiment `ibsr`.

heads        reading, folds
voxels       one by one: features, and two small models
slices       batches, and a U-Net
runs         trainings by model and fold
experiment   the jobs; then results, figures, claims
generated    small heads, for tests
"""

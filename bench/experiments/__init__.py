"""Experiments on CamVid (scripts/experiments.sh). README.md has the map."""

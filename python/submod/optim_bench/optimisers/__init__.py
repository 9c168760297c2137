"""The optimisers that take part."""

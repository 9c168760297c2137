"""The paper's experiments on real images (scripts/experiments.sh).

What is done
    plan        how much of everything: seeds, rates, steps
    jobs        the pieces of work, and what each needs first
    pool        does them, several at a time, and shows how far it is

With what
    lab         data, networks and results by name
    runs        a run's folder: settings, log, checkpoint, scores
    camvid      street scenes: reading, augmentation, batches
    losses      what networks are trained with
    training    one run; killed, it goes on where it was
    scoring     what a network gets right, image by image
    predictions what can be made of a trained network at test time
    intervals   paired differences and their bootstrap intervals

A convex problem
    layer_data      features that networks hand to their last layer
    layer_problem   the Lovász hinge of that layer: subgradients, prox directions
    layer_methods   its optimisers, and its minimum
    layer_jobs      the pieces of work
    layer_results   what came out; then layer_tables, layer_figure, layer_claims

The experiments, one file each, are listed in experiments.py.
"""

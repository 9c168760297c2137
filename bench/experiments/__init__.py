"""The paper's experiments on real images (scripts/experiments.sh).

What is asked
    folders     is the data there, and where to get it
    command     what the command line asks for
    trouble     what is told without a traceback

What is done
    plan        how much of everything: seeds, rates, steps
    jobs        the pieces of work, and what each needs first
    pool        does them, several at a time
    progress    how far it is, and how long it will take

With what
    lab         data, networks and results by name
    runs        a run's folder: settings, log, checkpoint, scores
    camvid      street scenes: reading, augmentation, batches
    ibsr        heads: reading, folds
    voxels      of heads, one by one: features, and the models of study `brain`
    slices      of heads: batches, and a U-Net
    brain_runs  trainings on heads, by model and fold
    losses      what networks are trained with
    training    one run; killed, it goes on where it was
    scoring     what a network gets right, image by image
    predictions what can be made of a trained network at test time
    afterwards  the jobs of that
    intervals   paired differences and their bootstrap intervals

A convex problem
    layer_data      features that networks hand to their last layer
    layer_problem   the Lovász hinge of that layer: subgradients, prox directions
    layer_methods   its optimisers, and its minimum
    layer_jobs      the pieces of work
    layer_results, layer_tables, layer_figure, layer_claims   what is told
    layer_results   what came out; then layer_tables, layer_figure, layer_claims

What is told
    section     tables, figures and claims of an experiment
    results     scores on test by way of training, and differences
    measures    indices of CamVid's classes
    verdicts    whether a claim of the paper held
    words       names and numbers in text
    tables      tables of scores
    drawing     figures of differences, tables in colours
    masks       the figure of segmentations
    story       those of all that are done
    method      how it was done, in words
    machine     on what
    report      as a page of HTML
    document    as Markdown, for the repository
    cells, figures  as texts and CSV, as PNG

    generated   small folders of the shape of the real ones, for tests

The experiments, one file each, are listed in experiments.py.
"""

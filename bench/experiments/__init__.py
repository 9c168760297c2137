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
    afterwards  the jobs of that
    intervals   paired differences and their bootstrap intervals

What is told
    section     tables, figures and claims of an experiment
    results     scores on test by way of training, and differences
    measures    indices of CamVid's classes
    verdicts    whether a claim of the paper held
    words       names and numbers in text
    tables      tables of scores
    drawing     figures of differences, tables in colours
    masks       the figure of segmentations

The experiments, one file each, are listed in experiments.py.
"""

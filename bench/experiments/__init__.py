"""The paper's experiments on real images (scripts/experiments.sh).

What is asked
    folders      is the data there, and where to get it
    command      what the command line asks for
    experiments  the list of them
    trouble      what is told without a traceback

What is done
    plan         how much of everything: seeds, rates, steps
    jobs         the pieces of work, and what each needs first
    pool         does them, several at a time
    progress     how far it is, and how long it will take

With what
    lab          data, networks and results by name
    runs         a run's folder: settings, log, checkpoint, scores
    training     one run; killed, it goes on where it was
    intervals    paired differences and their bootstrap intervals
    generated    small folders of the shape of the real ones, for tests

Rooms
    street/      CamVid: losses against losses, classes, batch size, test time
    brain/       IBSR's heads in folds
    layer/       optimisers of a last layer, a convex problem
    telling/     tables, figures and claims as a page, a document and CSV files
"""

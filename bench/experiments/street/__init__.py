"""CamVid's street scenes.

camvid       reading, augmentation, batches
losses       what networks are trained with
scoring      what a network gets right, image by image
measures     indices of CamVid's classes
results      scores on test by way of training, and differences
masks        the figure of segmentations

binary, multiclass, batch_size   experiments
test_time    an experiment; predictions: what can be made of a trained network; afterwards: its jobs
"""

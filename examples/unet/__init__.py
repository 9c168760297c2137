"""The parts of examples/train_unet.py and examples/train_ddp.py.

recipes    how long, how fast, on which crops, with which losses: ours and the paper's
data       what a dataset is; random crops, equibatch, batches
shapes     synthetic images, brain: MRI slices, folders: Pascal VOC and Cityscapes
model      a small U-Net, and the network of the paper's supplement
train      losses, learning rates, the loop, mean IoU
show       progress bar, tables, pictures of label maps
"""


class UserError(Exception):
    """Something that whoever typed the command can put right."""

/* libsubmod: optimisation of piecewise-linear submodular surrogates.
 *
 * This header pulls in the whole public face. Read the parts in this order:
 *   submod/base.h       conventions, status codes, memory, threads, sorting
 *   submod/function.h   set functions: built-in, your own, combined, checked
 *   submod/tensor.h     views of labels, scores and gradients
 *   submod/measure.h    what wrong pixels cost: Jaccard, Tversky, your own
 *   submod/loss.h       Lovász-Softmax, Lovász-Sigmoid, Lovász hinge
 *   submod/baseline.h   cross-entropy, hinge, Rahman-Wang, soft Dice, soft Jaccard
 *   submod/dataset.h    the Lovász-Softmax loss of a whole dataset
 *   submod/dist.h       losses and counts over ranks: MPI, torch.distributed, your own
 *   submod/prox.h       proximal operators of Lovász extensions, minimisation, certificates
 *   submod/steps.h      step rules and schedules
 *   submod/optim.h      problems, descent by a step rule, FISTA, the bundle method
 *   submod/solvers.h    Frank-Wolfe by blocks, smoothing, primal-dual
 *   submod/gpu.h        the losses and the Jaccard prox on a GPU (CUDA)
 *   submod/metric.h     confusion counts, IoU, Dice, mIoU of images and datasets, equibatch
 *   submod/scoring.h    IoU of instances, boundaries, single images
 *   submod/file.h       counts in files: save, load
 *   submod/extend.h     for libraries on top: error messages, memory, random numbers
 *   submod/decision.h   from probabilities to the segmentation with the best expected IoU or Dice
 */
#ifndef SUBMOD_H
#define SUBMOD_H

#include <submod/base.h>
#include <submod/baseline.h>
#include <submod/dataset.h>
#include <submod/decision.h>
#include <submod/dist.h>
#include <submod/extend.h>
#include <submod/file.h>
#include <submod/function.h>
#include <submod/gpu.h>
#include <submod/loss.h>
#include <submod/measure.h>
#include <submod/metric.h>
#include <submod/optim.h>
#include <submod/prox.h>
#include <submod/scoring.h>
#include <submod/solvers.h>
#include <submod/steps.h>
#include <submod/tensor.h>

#endif

/* libsubmod: optimisation of piecewise-linear submodular surrogates.
 *
 * This header pulls in the whole public face. Read the parts in this order:
 *   submod/base.h      conventions, status codes, memory, threads, random numbers
 *   submod/function.h  set functions: built-in, your own, combined, checked
 *   submod/lovasz.h    the Lovász extension and its greedy subgradient
 */
#ifndef SUBMOD_H
#define SUBMOD_H

#include "submod/base.h"
#include "submod/function.h"
#include "submod/lovasz.h"
#include "submod/loss.h"

#endif

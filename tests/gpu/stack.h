/* Stacks of fibers: where one was left, and moving from one to another. */
#ifndef SUBMOD_TESTS_GPU_STACK_H
#define SUBMOD_TESTS_GPU_STACK_H

#include <stddef.h>

typedef struct stack stack;

/* Of the program itself, or for stack_begin. */
stack *stack_new(void);
/* Leaves `from`, which is running, and calls `enter` on `to`, in this memory. enter never returns.
 */
void stack_begin(stack *from, stack *to, char *memory, size_t bytes, void (*enter)(void));
/* Leaves `from`, which is running, and goes on where `to` was left. */
void stack_move(stack *from, stack *to);

#endif

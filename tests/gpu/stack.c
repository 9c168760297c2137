/* Stacks of fibers, by ucontext; moving by setjmp, as swapcontext asks the system about signals
 * each time, which makes it slow. Sanitizers understand nothing else. */
#include "stack.h"

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
struct stack {
    ucontext_t context;
};

void stack_move(stack *from, stack *to)
{
    swapcontext(&from->context, &to->context);
}
#else
struct stack {
    jmp_buf buffer;
};

void stack_move(stack *from, stack *to)
{
    if (_setjmp(from->buffer) == 0) {
        _longjmp(to->buffer, 1);
    }
}
#endif

stack *stack_new(void)
{
    return calloc(1, sizeof(stack));
}

void stack_begin(stack *from, stack *to, char *memory, size_t bytes, void (*enter)(void))
{
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = memory;
    context.uc_stack.ss_size = bytes;
    context.uc_link = NULL;
    makecontext(&context, enter, 0);
#if defined(__SANITIZE_ADDRESS__)
    to->context = context;
    stack_move(from, to);
#else
    (void)to;
    if (_setjmp(from->buffer) == 0) {
        setcontext(&context);
    }
#endif
}

/* The machine of the device tests: a real device, by CUDA's runtime. */
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "machine.h"
#include "support.h"

#define ck_assert_cuda(call) ck_assert_int_eq(call, cudaSuccess)

bool machine_is_slow(void)
{
    return false;
}

int machine_problems(int wanted)
{
    return wanted;
}

void *machine_memory(size_t bytes)
{
    void *memory = NULL;
    ck_assert_cuda(cudaMalloc(&memory, bytes + 1));
    ck_assert_cuda(cudaMemset(memory, 0xa5, bytes + 1));
    return memory;
}

void machine_free(void *memory)
{
    ck_assert_cuda(cudaFree(memory));
}

void machine_copy_in(void *to, const void *from, size_t bytes)
{
    ck_assert_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}

void machine_copy_out(void *to, const void *from, size_t bytes)
{
    ck_assert_cuda(cudaDeviceSynchronize());
    ck_assert_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

struct machine_graph {
    cudaStream_t stream;
    cudaGraphExec_t executable;
};

machine_graph *machine_capture(machine_call call, const void *context)
{
    machine_graph *g = malloc(sizeof *g);
    cudaGraph_t graph;
    ck_assert_cuda(cudaStreamCreate(&g->stream));
    ck_assert_cuda(cudaStreamBeginCapture(g->stream, cudaStreamCaptureModeGlobal));
    ck_assert_ok(call(g->stream, context));
    ck_assert_cuda(cudaStreamEndCapture(g->stream, &graph));
    ck_assert_cuda(cudaGraphInstantiate(&g->executable, graph, 0));
    ck_assert_cuda(cudaGraphDestroy(graph));
    return g;
}

void machine_run(machine_graph *g)
{
    ck_assert_cuda(cudaGraphLaunch(g->executable, g->stream));
}

void machine_graph_free(machine_graph *g)
{
    ck_assert_cuda(cudaGraphExecDestroy(g->executable));
    ck_assert_cuda(cudaStreamDestroy(g->stream));
    free(g);
}

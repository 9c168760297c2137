/* Marks instructions that ran in a file that all test processes share. */
#include "reached.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char *reached;

static void mark(uint32_t number)
{
    reached[number] = 1;
}

static void write_names(const ptx_module *m, const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.names", file);
    FILE *names = fopen(path, "w");
    for (uint32_t i = 0; names && i < m->instructions; i++) {
        const ptx_instruction *one = &m->instruction[i];
        fprintf(names, "%s\t%s:%d\t%s\n", m->kernel[one->kernel].name, one->file, one->line,
                one->text);
    }
    if (!names || fclose(names)) {
        perror(path);
        abort();
    }
}

void reached_watch(const ptx_module *m)
{
    const char *file = getenv("SUBMOD_PTX_REACHED");
    if (!file || reached) {
        return;
    }
    int fd = open(file, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, m->instructions)) {
        perror(file);
        abort();
    }
    void *bytes = mmap(NULL, m->instructions, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) {
        perror(file);
        abort();
    }
    close(fd);
    write_names(m, file);
    reached = bytes;
    ptx_hooks.instruction = mark;
}

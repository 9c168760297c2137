/* A dataset in a file (file.h): the number of classes, the number of bins, then the counts, in the
 * order of submod_dataset_counts.
 */
#include <string.h>

#include "base/internal.h"
#include "loss/dataset_counts.h"
#include "metrics/disk.h"
#include "metrics/saved.h"

static const char of_dataset[] = "dataset counts";

enum { SETTINGS = 2 }; /* words in front of the counts: classes, bins */

submod_status submod_dataset_save(const submod_dataset *dataset, const char *path)
{
    submod_status status = submodi_check_given("dataset", dataset);
    status = status ? status : submodi_dataset_require_counts(dataset);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_dataset_save", status);
    }
    uint64_t settings[SETTINGS] = {dataset->classes, dataset->bins};
    const submodi_span spans[] = {{settings, SETTINGS},
                                  {dataset->count, dataset->classes * 2 * dataset->bins}};
    return submodi_return("submod_dataset_save", submodi_saved_write(path, of_dataset, spans, 2));
}

/* A dataset with these counts, if they can be such: as many as the two words in front say. */
static submod_status from_words(const uint64_t *words, size_t count, submod_dataset **made)
{
    if (count < SETTINGS || words[0] == 0 || words[1] == 0 || words[0] > count ||
        words[1] > count ||
        submodi_times((size_t)words[0], 2 * (size_t)words[1]) != count - SETTINGS) {
        return SUBMOD_EFILE;
    }
    double delta = 0.5 / (double)words[1];
    submod_status status = submod_dataset_create((size_t)words[0], delta, made);
    if (status == SUBMOD_OK && (*made)->bins != words[1]) {
        return SUBMOD_EFILE;
    }
    if (status == SUBMOD_OK) {
        memcpy((*made)->count, words + SETTINGS, (count - SETTINGS) * sizeof *words);
        status = submodi_dataset_require_counts(*made);
    }
    return status == SUBMOD_EINVAL ? SUBMOD_EFILE : status;
}

submod_status submod_dataset_load(const char *path, submod_dataset **dataset)
{
    uint64_t *words = NULL;
    size_t count = 0;
    submod_dataset *made = NULL;
    submod_status status = submodi_check_given("dataset", dataset);
    status = status ? status : submodi_saved_read(path, of_dataset, &words, &count);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_dataset_load", status);
    }
    status = from_words(words, count, &made);
    submodi_free(words);
    if (status == SUBMOD_OK) {
        *dataset = made;
        return SUBMOD_OK;
    }
    submod_dataset_free(made);
    return submodi_return(
        "submod_dataset_load",
        status == SUBMOD_ENOMEM
            ? submodi_out_of_memory()
            : submodi_file_fail(path, "holds numbers that such counts cannot have"));
}

/* The labels to look for, and loading the volumes of the options or those of Debian. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/slices.h"

const char brain_default_ids[] = "77=thalamus,78=thalamus,71=caudate,72=caudate,"
                                 "73=putamen,74=putamen,75=pallidum,76=pallidum";
static const char default_image[] = "/usr/share/mricron/templates/ch2.nii.gz";
static const char default_labels[] = "/usr/share/mricron/templates/aal.nii.gz";

/* One "77=thalamus" or "77", up to the comma or the end. */
static bool parse_one(const char *text, size_t length, brain_classes *classes)
{
    char *end;
    errno = 0;
    long id = strtol(text, &end, 10);
    bool named = *end == '=';
    const char *word = named ? end + 1 : text;
    size_t letters = (size_t)(text + length - word);
    if (end == text || errno != 0 || (!named && end != text + length) || letters == 0 ||
        letters >= BRAIN_NAME) {
        return study_fail("--label-ids takes numbers or NUMBER=NAME, not '%.*s'", (int)length,
                          text);
    }
    for (size_t k = 1; k < classes->count; k++) {
        if (classes->id[k] == id) {
            return study_fail("--label-ids: %ld must not be named twice", id);
        }
    }
    if (classes->count == BRAIN_MOST_CLASSES) {
        return study_fail("--label-ids: there must be at most %d labels", BRAIN_MOST_CLASSES - 1);
    }
    classes->id[classes->count] = id;
    memcpy(classes->name[classes->count], word, letters);
    classes->name[classes->count++][letters] = '\0';
    return true;
}

bool brain_classes_parse(const char *text, brain_classes *classes)
{
    *classes = (brain_classes){.count = 1, .id = {LONG_MIN}, .name = {"background"}};
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!parse_one(text, length, classes)) {
            return false;
        }
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
}

/* What is missing, unless the user named files: then reading them tells. NULL: nothing. */
static const char *find_missing(const study_options *options)
{
    if (!volume_can_read()) {
        return "the program was built without libnifti. To have it: apt-get install libnifti-dev "
               "(scripts/setup.sh study does that), then build in a new folder.";
    }
    if (!options->image && (access(default_image, R_OK) || access(default_labels, R_OK))) {
        return "the volumes of Debian's mricron-data are not here. To have them: apt-get install "
               "mricron-data (scripts/setup.sh study does that). Or name others: --image FILE "
               "--labels FILE [--label-ids 10=thalamus,49=thalamus,..]";
    }
    return NULL;
}

bool brain_load(const study_options *options, brain_classes *classes, brain_slices *slices,
                const char **missing)
{
    *missing = NULL;
    *slices = (brain_slices){0};
    if (!options->image != !options->labels) {
        return study_fail("--image and --labels go together");
    }
    if ((*missing = find_missing(options))) {
        return false;
    }
    volume image = {{0}, NULL}, labels = {{0}, NULL};
    bool good =
        brain_classes_parse(options->label_ids ? options->label_ids : brain_default_ids, classes) &&
        volume_read(options->image ? options->image : default_image, &image) &&
        volume_read(options->labels ? options->labels : default_labels, &labels) &&
        brain_slices_make(&image, &labels, classes, slices);
    volume_free(&image);
    volume_free(&labels);
    return good;
}

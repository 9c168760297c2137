/* Files of numbers that are either whole or refused.
 *
 * What was counted on one machine can be saved, carried to another, loaded and merged there. Each
 * stream of counts has a pair of functions for it, beside its others:
 *
 *     submod_confusion_save(confusion, "part-7.submod");          on every machine
 *
 *     submod_confusion_load("part-7.submod", &part);              on one of them, part by part
 *     submod_confusion_merge(all, part);
 *
 *   dataset.h   submod_dataset         metric.h    submod_confusion, submod_miou
 *   scoring.h   submod_instances, submod_boundary, submod_fine_grained
 *
 * A file has what was counted, and what that depends on: classes, ignored label, bins .. So load
 * makes a new stream as the saved one was. It has the same bits.
 *
 * Writing. The numbers go to a new file beside `path`, whose name is that of `path` with a number
 * and ".tmp" behind it. When they are on the disk it is renamed to `path`. So whoever reads `path`
 * sees the old file or the new one, whole, whatever happens: a full disk, a kill, several that
 * write at once (the last one wins), a crash of the machine. On an error the new file is removed;
 * only a process that is killed leaves it, and it can be deleted. A symbolic link at `path` is
 * replaced.
 *
 * The file, format 1, whatever the machine: numbers of 8 bytes, lowest byte first.
 *
 *   bytes 0 .. 7            "submod\r\n"
 *   8 .. 15                 the format: 1. These 16 bytes are the same in all formats to come
 *   16 .. 47                the kind: text, filled up with bytes of 0
 *   48 .. 55                n, how many numbers follow
 *   56 .. 55 + 8 n          the numbers
 *   56 + 8 n .. 63 + 8 n    a checksum of all that is before: CRC-64 as xz has it
 *
 * Errors, SUBMOD_EFILE, with the path and what is wrong in submod_last_error():
 *
 *   cannot be opened, read, written, renamed     with the words of the system
 *   `path` is no regular file                    a folder, a device, a pipe
 *   it begins otherwise                          "is not a file of libsubmod"
 *   its end is missing, or there is more         "is cut off: ..", "has .. bytes too many"
 *   it was changed                               "is damaged: its checksum is wrong"
 *   another kind                                 "holds confusion counts, not dataset counts"
 *   a later format                               "was written by a newer libsubmod, .."
 *   numbers that no stream has: negative         "holds numbers that .. cannot have"
 *     counts, no classes ..
 *
 * The checksum finds all changes of up to 8 bytes in a row, and others but for one in 2^64.
 *
 * Memory is taken when the length of the file fits what it says, not before: SUBMOD_ENOMEM.
 * Nothing is written to outputs then, and a file at `path` stays as it was.
 */
#ifndef SUBMOD_FILE_H
#define SUBMOD_FILE_H

#include <submod/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of your own. kind: what they are, a text of 1 to 31 bytes. words may be NULL if count is
 * 0. SUBMOD_EINVAL: NULL, an empty path, such a kind. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_file_save(const char *path, const char *kind, const uint64_t *words,
                                          size_t count);
/* Reads them again, if they are of this kind. *words is to be freed by submod_file_free.
 * SUBMOD_EINVAL as above. */
SUBMOD_API submod_status submod_file_load(const char *path, const char *kind, uint64_t **words,
                                          size_t *count);
/* Accepts NULL. */
SUBMOD_API void submod_file_free(uint64_t *words);

#ifdef __cplusplus
}
#endif

#endif

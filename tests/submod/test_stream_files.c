/* Streams in files: what is loaded goes on as the saved one would have; no other file will do. */
#include <submod.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocations.h"
#include "support.h"

enum { C = 3, N = 24, VOID = 255, KINDS = 6 };

static const char *const names[KINDS] = {"dataset counts",  "confusion counts",
                                         "mean IoU counts", "instance counts",
                                         "boundary counts", "fine-grained IoUs"};

static char path[64];

/* In memory, where it can be: thousands of files are written. */
static void new_path(void)
{
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, sizeof path, "%s/submod-stream-%ld", folder, (long)getpid());
}

/* ---- all six ---- */

typedef struct stream {
    int kind;
    void *of;
} stream;

static stream make(int kind)
{
    static const int32_t list[] = {2, 0};
    stream s = {kind, NULL};
    submod_dataset *d = NULL;
    submod_confusion *c = NULL;
    submod_miou *m = NULL;
    submod_instances *i = NULL;
    submod_boundary *b = NULL;
    submod_fine_grained *f = NULL;
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_index = VOID;
    settings.absent = SUBMOD_ABSENT_SKIP;
    settings.class_list = list;
    settings.class_count = 2;
    switch (kind) {
    case 0:
        ck_assert_ok(submod_dataset_create(C, 0.5 / 8, &d));
        s.of = d;
        break;
    case 1:
        ck_assert_ok(submod_confusion_create(C, &c, &settings));
        s.of = c;
        break;
    case 2:
        ck_assert_ok(submod_miou_create(C, &m, &settings));
        s.of = m;
        break;
    case 3:
        ck_assert_ok(submod_instances_create(C, 2, &i, &settings));
        s.of = i;
        break;
    case 4:
        ck_assert_ok(submod_boundary_create(C, &b, &settings));
        s.of = b;
        break;
    default: ck_assert_ok(submod_fine_grained_create(C, &f, &settings)); s.of = f;
    }
    return s;
}

static void discard(stream s)
{
    switch (s.kind) {
    case 0: submod_dataset_free(s.of); break;
    case 1: submod_confusion_free(s.of); break;
    case 2: submod_miou_free(s.of); break;
    case 3: submod_instances_free(s.of); break;
    case 4: submod_boundary_free(s.of); break;
    default: submod_fine_grained_free(s.of);
    }
}

static submod_status save(stream s, const char *to)
{
    switch (s.kind) {
    case 0: return submod_dataset_save(s.of, to);
    case 1: return submod_confusion_save(s.of, to);
    case 2: return submod_miou_save(s.of, to);
    case 3: return submod_instances_save(s.of, to);
    case 4: return submod_boundary_save(s.of, to);
    default: return submod_fine_grained_save(s.of, to);
    }
}

/* s->of stays what it was when that fails. */
static submod_status load(const char *from, stream *s)
{
    submod_dataset *d = s->of;
    submod_confusion *c = s->of;
    submod_miou *m = s->of;
    submod_instances *i = s->of;
    submod_boundary *b = s->of;
    submod_fine_grained *f = s->of;
    submod_status status;
    switch (s->kind) {
    case 0:
        status = submod_dataset_load(from, &d);
        s->of = d;
        break;
    case 1:
        status = submod_confusion_load(from, &c);
        s->of = c;
        break;
    case 2:
        status = submod_miou_load(from, &m);
        s->of = m;
        break;
    case 3:
        status = submod_instances_load(from, &i);
        s->of = i;
        break;
    case 4:
        status = submod_boundary_load(from, &b);
        s->of = b;
        break;
    default: status = submod_fine_grained_load(from, &f); s->of = f;
    }
    return status;
}

static submod_status merge(stream s, stream other)
{
    switch (s.kind) {
    case 0: return submod_dataset_merge(s.of, other.of);
    case 1: return submod_confusion_merge(s.of, other.of);
    case 2: return submod_miou_merge(s.of, other.of);
    case 3: return submod_instances_merge(s.of, other.of);
    case 4: return submod_boundary_merge(s.of, other.of);
    default: return submod_fine_grained_merge(s.of, other.of);
    }
}

/* Two random images, some pixels of them ignored. */
static void add(stream s, submod_rng *rng)
{
    uint8_t p[2 * N], t[2 * N], id[2 * N];
    float x[2 * C * N];
    for (int i = 0; i < 2 * N; i++) {
        t[i] = (uint8_t)(submod_rng_below(rng, 9) ? submod_rng_below(rng, C) : VOID);
        p[i] = (uint8_t)submod_rng_below(rng, C);
        id[i] = (uint8_t)submod_rng_below(rng, 4);
    }
    for (int i = 0; i < 2 * C * N; i++) {
        x[i] = (float)submod_rng_normal(rng);
    }
    submod_labels prediction = submod_labels_u8(p, 2, N), truth = submod_labels_u8(t, 2, N);
    submod_labels ids = submod_labels_u8(id, 2, N);
    submod_scores scores = submod_scores_f32(x, 2, C, N);
    submod_loss_settings loss = submod_loss_defaults();
    loss.has_ignore = 1;
    loss.ignore_index = VOID;
    switch (s.kind) {
    case 0: ck_assert_ok(submod_dataset_add(s.of, &scores, &truth, &loss, NULL)); break;
    case 1: ck_assert_ok(submod_confusion_add(s.of, &prediction, &truth)); break;
    case 2: ck_assert_ok(submod_miou_add(s.of, &prediction, &truth)); break;
    case 3: ck_assert_ok(submod_instances_add(s.of, &prediction, &truth, &ids)); break;
    case 4: ck_assert_ok(submod_boundary_add(s.of, &prediction, &truth, 4, N / 4, 1)); break;
    default: ck_assert_ok(submod_fine_grained_add(s.of, &prediction, &truth));
    }
}

enum { VALUES = 2 * C + 4 };

static void values(stream s, double v[VALUES])
{
    memset(v, 0, VALUES * sizeof *v);
    submod_metrics metrics;
    submod_miou_values m;
    submod_fine_grained_values f;
    switch (s.kind) {
    case 0: ck_assert_ok(submod_dataset_solve(s.of, v, v + 1, NULL)); break;
    case 1:
        ck_assert_ok(submod_confusion_metrics(s.of, v, v + C, NULL, &metrics, NULL));
        v[2 * C] = (double)metrics.pixels;
        break;
    case 2:
        ck_assert_ok(submod_miou_get(s.of, &m));
        memcpy(v, (double[]){m.image, m.batch, m.dataset, (double)m.images, (double)m.batches},
               5 * sizeof *v);
        break;
    case 3: ck_assert_ok(submod_instances_iou(s.of, NULL, NULL, NULL, C, v, v + C)); break;
    case 4: ck_assert_ok(submod_boundary_iou(s.of, v, v + C, NULL)); break;
    default:
        ck_assert_ok(submod_fine_grained_get(s.of, &f));
        memcpy(v, (double[]){f.dataset, f.image, f.of_class, f.image_mean, f.class_mean},
               5 * sizeof *v);
    }
}

static void assert_same(stream a, stream b)
{
    double x[VALUES], y[VALUES];
    values(a, x);
    values(b, y);
    ck_assert_mem_eq(x, y, sizeof x);
}

/* ---- tests ---- */

/* Without anything counted, and with: the loaded one has the same values and goes on the same way.
 * The settings are in the file, or the ignored label would be refused. */
START_TEST(goes_on)
{
    new_path();
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        stream s = make(kind);
        for (int k = 0; k < 3; k++) {
            stream loaded = {kind, NULL};
            ck_assert_ok(save(s, path));
            ck_assert_ok(load(path, &loaded));
            assert_same(s, loaded);
            submod_rng again = rng;
            add(s, &rng);
            add(loaded, &again);
            assert_same(s, loaded);
            discard(loaded);
        }
        discard(s);
    }
    unlink(path);
}
END_TEST

START_TEST(parts_are_the_whole)
{
    new_path();
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int kind = 0; kind < KINDS; kind++) {
        stream all = make(kind), sum = make(kind);
        for (int k = 0; k < 3; k++) {
            stream part = make(kind), loaded = {kind, NULL};
            submod_rng again = rng;
            add(all, &rng);
            add(part, &again);
            ck_assert_ok(save(part, path));
            ck_assert_ok(load(path, &loaded));
            ck_assert_ok(merge(sum, loaded));
            discard(part);
            discard(loaded);
        }
        if (kind == 2) { /* sums of doubles: another order */
            submod_miou_values a, b;
            ck_assert_ok(submod_miou_get(all.of, &a));
            ck_assert_ok(submod_miou_get(sum.of, &b));
            ck_assert_near(a.image, b.image, 1e-15);
            ck_assert(a.dataset == b.dataset && a.images == b.images && a.batches == b.batches);
        } else {
            assert_same(all, sum);
        }
        discard(all);
        discard(sum);
    }
    unlink(path);
}
END_TEST

START_TEST(another_kind)
{
    new_path();
    for (int kind = 0; kind < KINDS; kind++) {
        stream s = make(kind);
        ck_assert_ok(save(s, path));
        for (int other = 0; other < KINDS; other++) {
            stream none = {other, NULL};
            char words[96];
            snprintf(words, sizeof words, "holds %s, not %s", names[kind], names[other]);
            if (other != kind) {
                assert_error(load(path, &none), SUBMOD_EFILE, words);
                ck_assert_ptr_null(none.of);
            }
        }
        discard(s);
    }
    unlink(path);
}
END_TEST

/* Every word of a file is made something else, under a checksum that is right: refused, or a stream
 * that works. Words are lost and added, too. */
START_TEST(numbers_of_nobody)
{
    new_path();
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    const double minus = -1, half = 0.5;
    uint64_t bad[8] = {UINT64_MAX, INT64_MAX, (uint64_t)1 << 63, 0, 1, 1000000};
    memcpy(&bad[6], &minus, sizeof minus);
    memcpy(&bad[7], &half, sizeof half);
    for (int kind = 0; kind < KINDS; kind++) {
        stream s = make(kind), found = {kind, NULL};
        add(s, &rng);
        ck_assert_ok(save(s, path));
        uint64_t *words;
        size_t count, refused = 0;
        double v[VALUES];
        ck_assert_ok(submod_file_load(path, names[kind], &words, &count));
        for (size_t i = 0; i < 8 * count; i++) {
            uint64_t kept = words[i / 8];
            words[i / 8] = bad[i % 8];
            ck_assert_ok(submod_file_save(path, names[kind], words, count));
            words[i / 8] = kept;
            submod_status status = load(path, &found);
            if (status == SUBMOD_OK) {
                values(found, v);
                discard(found);
                found.of = NULL;
            } else {
                assert_error(status, SUBMOD_EFILE, "cannot have");
                refused++;
            }
            ck_assert_ptr_null(found.of);
        }
        ck_assert_uint_ge(refused, count);
        for (size_t k = 0; k < count; k++) {
            ck_assert_ok(submod_file_save(path, names[kind], words, k));
            if (kind == 5 && k >= 16 && (k - 16) % C == 0) {
                continue; /* fewer images */
            }
            assert_error(load(path, &found), SUBMOD_EFILE, "cannot have");
        }
        submod_file_free(words);
        discard(s);
    }
    unlink(path);
}
END_TEST

/* Writes a file of these words, which is refused. */
static void assert_impossible(int kind, const uint64_t *words, size_t count)
{
    stream none = {kind, NULL};
    ck_assert_ok(submod_file_save(path, names[kind], words, count));
    assert_error(load(path, &none), SUBMOD_EFILE, "holds numbers that such counts cannot have");
}

START_TEST(impossible)
{
    new_path();
    uint64_t nan, inf;
    memcpy(&nan, &(double){NAN}, sizeof nan);
    memcpy(&inf, &(double){INFINITY}, sizeof inf);
    assert_impossible(0, (uint64_t[]){1, 2, 0, nan, 0, 0}, 6);
    assert_impossible(0, (uint64_t[]){1, 2, 0, inf, 0, 0}, 6);
    assert_impossible(0, (uint64_t[]){1, 2, 0, (uint64_t)1 << 63 | inf, 0, 0}, 6);
    assert_impossible(0, (uint64_t[]){1, 3, 0, 0, 0, 0, 0, 0}, 8); /* bins are powers of 2 */
    assert_impossible(0, (uint64_t[]){2, 1, 0, 0, 0, 0}, 6);       /* at least 2 of them */
    assert_impossible(0, (uint64_t[]){(uint64_t)1 << 63, 2, 0, 0, 0, 0}, 6);
    assert_impossible(0, (uint64_t[]){(uint64_t)1 << 62, (uint64_t)1 << 62, 0, 0}, 4);
    assert_impossible(1, (uint64_t[]){1, 2, 0, 0}, 4);
    assert_impossible(1, (uint64_t[]){(uint64_t)1 << 31, 0, 0, 0}, 4);
    assert_impossible(1, (uint64_t[]){2, 0, 0, INT64_MAX, 1, 0, 0}, 7);
    assert_impossible(2, (uint64_t[]){1, 0, 0, 4, 1, 0, 0, 0, 0, 0}, 10); /* no such convention */
    assert_impossible(2, (uint64_t[]){1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 10); /* no class chosen */
    assert_impossible(2, (uint64_t[]){1, 0, 0, 0, 2, 0, 0, 0, 0, 0}, 10); /* 0 or 1 */
    assert_impossible(2, (uint64_t[]){1, 0, 0, 0, 1, 0, nan, 1, 0, 0}, 10);

    submod_dataset *d;
    ck_assert_ok(submod_dataset_create(1, 0.25, &d));
    ck_assert_ok(submod_dataset_save(d, path));
    submod_dataset_counts(d, NULL, NULL)[1] = NAN;
    assert_error(submod_dataset_save(d, path), SUBMOD_EINVAL, "counts[1] = nan must be in");
    submod_dataset_free(d);
    ck_assert_ok(submod_dataset_load(path, &d)); /* as it was */
    submod_dataset_free(d);
    unlink(path);
}
END_TEST

/* Damage on the disk, found for every stream: each byte of its file. */
START_TEST(every_byte)
{
    new_path();
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int kind = 0; kind < KINDS; kind++) {
        stream s = make(kind), none = {kind, NULL};
        add(s, &rng);
        ck_assert_ok(save(s, path));
        FILE *file = fopen(path, "r+b");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
        long length = ftell(file);
        for (long i = 0; i < length; i++) {
            ck_assert_int_eq(fseek(file, i, SEEK_SET), 0);
            int byte = fgetc(file);
            for (int flip = 1; flip >= 0; flip--) {
                ck_assert_int_eq(fseek(file, i, SEEK_SET), 0);
                ck_assert_int_ne(fputc(byte ^ (flip << i % 8), file), EOF);
                ck_assert_int_eq(fflush(file), 0);
                if (flip) {
                    assert_error(load(path, &none), SUBMOD_EFILE, path);
                }
            }
        }
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_ok(load(path, &none));
        discard(none);
        discard(s);
    }
    unlink(path);
}
END_TEST

/* Wherever memory runs out: a status, nothing leaks, nothing is half done. */
START_TEST(no_memory)
{
    new_path();
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int kind = 0; kind < KINDS; kind++) {
        stream s = make(kind), found = {kind, NULL};
        add(s, &rng);
        ck_assert_ok(save(s, path));
        discard(s);
        ck_assert_ok(submod_set_allocator(&counting_allocator));
        allocations = (allocation_counts){.live = 0};
        submod_status status = SUBMOD_ENOMEM;
        for (long k = 0; status == SUBMOD_ENOMEM; k++) {
            allocations.left = k;
            status = load(path, &found);
            ck_assert(status == SUBMOD_OK || (!found.of && allocations.live == 0));
        }
        ck_assert_ok(status);
        status = SUBMOD_ENOMEM;
        long live = allocations.live;
        for (long k = 0; status == SUBMOD_ENOMEM; k++) {
            allocations.left = k;
            status = save(found, path);
            ck_assert_int_eq(allocations.live, live);
        }
        ck_assert_ok(status);
        discard(found);
        ck_assert_int_eq(allocations.live, 0);
        ck_assert_ok(submod_set_allocator(NULL));
    }
    unlink(path);
}
END_TEST

START_TEST(nothing_given)
{
    new_path();
    for (int kind = 0; kind < KINDS; kind++) {
        stream s = make(kind);
        assert_error(save((stream){kind, NULL}, path), SUBMOD_EINVAL, "is NULL");
        assert_error(save(s, NULL), SUBMOD_EINVAL, "path is NULL");
        void *kept = s.of;
        assert_error(load(NULL, &s), SUBMOD_EINVAL, "path is NULL");
        assert_error(load("/nowhere/a", &s), SUBMOD_EFILE, "/nowhere/a cannot be read");
        ck_assert_ptr_eq(s.of, kept);
        assert_error(save(s, "/nowhere/a"), SUBMOD_EFILE, "/nowhere/a cannot be written");
        discard(s);
    }
    assert_error(submod_dataset_load(path, NULL), SUBMOD_EINVAL, "dataset is NULL");
    assert_error(submod_confusion_load(path, NULL), SUBMOD_EINVAL, "confusion is NULL");
    assert_error(submod_miou_load(path, NULL), SUBMOD_EINVAL, "miou is NULL");
    assert_error(submod_instances_load(path, NULL), SUBMOD_EINVAL, "instances is NULL");
    assert_error(submod_boundary_load(path, NULL), SUBMOD_EINVAL, "boundary is NULL");
    assert_error(submod_fine_grained_load(path, NULL), SUBMOD_EINVAL, "fine is NULL");
}
END_TEST

int main(void)
{
    return RUN_TESTS("stream_files", goes_on, parts_are_the_whole, another_kind, numbers_of_nobody,
                     impossible, every_byte, no_memory, nothing_given);
}

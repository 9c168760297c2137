/* Lists of bins (see histogram_loops.h). Most errors of a row have no weight, or
 * the weight of bin 0: lists hold the others, and the work on tables is in proportion to them. */
#include "loss/histogram_loops.h"

#include "loss/pointwise_vector.h"

/* Bins with their places in the row, i and following. */
static inline v_int entries(v_float bins, uint32_t K, size_t i)
{
    v_int place = v_lane_numbers() + (int32_t)i;
    return v_truncate(v_min(bins, v_all((float)(K - 1)))) | place << SUBMODI_BIN_BITS;
}

/* So many vectors are looked at before the first branch: of one alone, nobody can guess whether
 * anything in it is taken. */
enum { BLOCK = 4, BLOCK_LANES = BLOCK * V_LANES };

/* The background bins of a vector, and which of them are taken. */
static inline v_mask background_at(const submodi_bin_rows *row, size_t i, v_int target,
                                   submodi_bin_range range, bool bounded, v_float *bins)
{
    *bins = v_load(row->v + i) * v_load(row->factor + i);
    v_mask own = v_equal(v_load_int(row->code + i), target);
    v_mask taken = v_and_not(v_at_least(*bins, v_all(range.low)), own);
    return bounded ? v_and_not(taken, v_at_least(*bins, v_all(range.high))) : taken;
}

/* bounded: whether range.high matters. */
static inline size_t background_of(const submodi_bin_rows *row, int32_t c, submodi_bin_range range,
                                   bool bounded, int32_t *list)
{
    const v_int target = v_all_int(c);
    size_t n = 0;
    size_t i = 0;
    for (; i + BLOCK_LANES <= row->width; i += BLOCK_LANES) {
        v_float bins[BLOCK];
        v_mask taken[BLOCK];
        for (size_t j = 0; j < BLOCK; j++) {
            taken[j] = background_at(row, i + j * V_LANES, target, range, bounded, &bins[j]);
        }
        if (v_any(taken[0] | taken[1] | taken[2] | taken[3])) {
            for (size_t j = 0; j < BLOCK; j++) {
                n += v_compress(taken[j], entries(bins[j], row->K, i + j * V_LANES), list + n);
            }
        }
    }
    for (; i < row->width; i += V_LANES) {
        v_float bins;
        v_mask taken = background_at(row, i, target, range, bounded, &bins);
        n += v_compress(taken, entries(bins, row->K, i), list + n);
    }
    return n;
}

static size_t background(const submodi_bin_rows *row, int32_t target,
                         const submodi_bin_range *range, int32_t *list)
{
    return background_of(row, target, *range, true, list);
}

static void count(const submodi_bin_rows *rows, uint32_t *table)
{
    submodi_bin_rows row = *rows;
    int32_t list[SUBMODI_LIST];
    for (size_t c = 0; c < row.classes; c++, row.v += row.stride, table += 2 * (size_t)row.K) {
        if (row.low[c] != SUBMODI_NO_BINS) {
            submodi_bin_range range = {.low = (float)row.low[c]};
            size_t n = background_of(&row, (int32_t)c, range, false, list);
            submodi_count_list(list, n, table);
        }
    }
}

static void add(const submodi_bin_rows *rows, const float *weight, double *table)
{
    submodi_bin_rows row = *rows;
    int32_t list[SUBMODI_LIST];
    for (size_t c = 0; c < row.classes; c++, row.v += row.stride, table += 2 * (size_t)row.K) {
        if (row.low[c] != SUBMODI_NO_BINS) {
            submodi_bin_range range = {.low = (float)row.low[c]};
            size_t n = background_of(&row, (int32_t)c, range, false, list);
            submodi_add_list(list, n, weight, table);
        }
    }
}

static void look_up(const submodi_bin_rows *rows, const float *table, float *g)
{
    submodi_bin_rows row = *rows;
    int32_t list[SUBMODI_LIST];
    for (size_t c = 0; c < row.classes; c++, row.v += row.stride, g += row.stride) {
        submodi_bin_range range = {.low = (float)row.low[c]};
        size_t n = background_of(&row, (int32_t)c, range, false, list);
        for (size_t i = 0; i < row.width; i += V_LANES) {
            v_store(g + i, v_all(table[0]));
        }
        submodi_look_list_up(list, n, table, g);
        table += 2 * (size_t)row.K;
    }
}

/* Rows are gathered from by 32-bit numbers, unless there are too many. */
static void foreground(const submodi_bin_rows *rows, float scale, uint32_t *place)
{
    const v_int last = v_all_int((int32_t)rows->classes - 1);
    const bool by_vector = rows->classes * rows->stride <= INT32_MAX;
    const v_float most = v_all((float)(rows->K - 1));
    for (size_t i = 0; i < rows->width; i += V_LANES) {
        v_int code = v_load_int(rows->code + i);
        v_mask ignored = v_below(last, code);
        v_int c = v_bits(v_select(ignored, v_all(0), v_from_bits(code)));
        v_float v = v_all(0);
        if (by_vector) {
            v = v_gather(rows->v + i, c * (int32_t)rows->stride + v_lane_numbers());
        } else {
            for (size_t l = 0; l < V_LANES; l++) {
                v[l] = rows->v[(size_t)c[l] * rows->stride + i + l];
            }
        }
        v_float error = v_max(1.0F - v * v_load(rows->factor + i), v_all(0));
        v_store_int((int32_t *)place + i, v_truncate(v_min(error * scale, most)));
    }
}

/* Errors of a row with its own labels, 0 at most right. */
static inline v_float errors_of(const submodi_binning *how, v_float v, v_mask foreground)
{
    return v_max(v_select(foreground, 1.0F - v, how->bias + v), v_all(0));
}

/* Pixels that take part. */
static inline v_mask part_of(const submodi_binning *how, v_float error, v_int code)
{
    v_mask valid = v_below(code, v_all_int(2));
    return how->drops_zero ? v_and_not(valid, v_at_least(v_all(0), error)) : valid;
}

static float largest_error(const float *v, const int32_t *code, size_t width, float bias)
{
    const submodi_binning how = {.bias = bias};
    v_float largest = v_all(0);
    for (size_t i = 0; i < width; i += V_LANES) {
        v_int label = v_load_int(code + i);
        v_float error = errors_of(&how, v_load(v + i), v_equal(label, v_all_int(1)));
        largest = v_select(part_of(&how, error, label), v_max(error, largest), largest);
    }
    return submodi_from_bits(v_largest_bits(v_bits(largest)));
}

static size_t labelled(const submodi_binning *how, const float *v, const int32_t *code,
                       size_t width, const submodi_bin_range *range, int32_t *list,
                       uint32_t *smallest)
{
    const submodi_binning h = *how;
    const v_float low = v_all(range->low);
    const v_float high = v_all(range->high);
    const v_float foreground_low = v_all(range->foreground_low);
    v_float least = v_all((float)*smallest);
    size_t n = 0;
    for (size_t i = 0; i < width; i += V_LANES) {
        v_int label = v_load_int(code + i);
        v_mask foreground = v_equal(label, v_all_int(1));
        v_float error = errors_of(&h, v_load(v + i), foreground);
        v_float bins = error * h.scale;
        least = v_min(least, v_select(foreground, bins, least));
        v_mask of_background = v_and_not(v_at_least(bins, low), v_at_least(bins, high));
        v_mask taken = (v_and_not(of_background, foreground)) |
                       (v_at_least(bins, foreground_low) & foreground);
        taken = taken & part_of(&h, error, label);
        if (v_any(taken)) {
            v_float offset = v_select(foreground, v_from_bits(v_all_int((int32_t)h.K)), v_all(0));
            n += v_compress(taken, entries(bins, h.K, i) + v_bits(offset), list + n);
        }
    }
    float smallest_bin = (float)*smallest;
    for (size_t l = 0; l < V_LANES; l++) {
        smallest_bin = least[l] < smallest_bin ? least[l] : smallest_bin;
    }
    *smallest = (uint32_t)smallest_bin;
    return n;
}

static void fill(const submodi_binning *how, const float *v, const int32_t *code, size_t width,
                 const float *table, float *g)
{
    const submodi_binning h = *how;
    const v_float of_background = v_all(table[0]);
    const v_float of_foreground = v_all(table[h.K]);
    for (size_t i = 0; i < width; i += V_LANES) {
        v_int label = v_load_int(code + i);
        v_mask foreground = v_equal(label, v_all_int(1));
        v_float error = errors_of(&h, v_load(v + i), foreground);
        v_float weight = v_select(foreground, of_foreground, of_background);
        v_store(g + i, v_select(part_of(&h, error, label), weight, v_all(0)));
    }
}

const submodi_histogram_loops SUBMODI_TABLE(submodi_bins) = {.largest_error = largest_error,
                                                             .foreground = foreground,
                                                             .count = count,
                                                             .add = add,
                                                             .look_up = look_up,
                                                             .background = background,
                                                             .labelled = labelled,
                                                             .fill = fill};

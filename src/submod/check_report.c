/* The report of submod_fn_check: freeing it, and writing it as text. */
#include <inttypes.h>

#include "base/memory.h"
#include "base/text.h"
#include <submod/function.h>

static void clear_example(submod_counterexample *x)
{
    submodi_free(x->set);
    *x = (submod_counterexample){0};
}

void submod_check_report_clear(submod_check_report *report)
{
    if (report) {
        clear_example(&report->not_submodular);
        clear_example(&report->not_monotone);
        clear_example(&report->not_symmetric);
        clear_example(&report->not_consistent);
    }
}

static void put_set(submodi_text *w, const submod_counterexample *x)
{
    enum { SHOWN = 20 };
    submodi_put(w, "A = {");
    for (size_t i = 0; i < x->set_size && i < SHOWN; i++) {
        submodi_put(w, i ? ", %d" : "%d", (int)x->set[i]);
    }
    submodi_put(w, x->set_size > SHOWN ? ", .. %zu elements}" : "}", x->set_size);
}

size_t submod_check_report_text(const submod_check_report *r, char *text, size_t size)
{
    submodi_text w = {text, text ? size : 0, 0};
    if (!r) {
        submodi_put(&w, "no report");
        return w.length;
    }
    const char *yes = r->exhaustive ? "yes" : "no counterexample found";
    submodi_put(&w, "%s, %" PRIu64 " evaluations in %.3g s\n",
                r->exhaustive ? "all subsets tried" : "some subsets tried", r->evaluations,
                r->seconds);
    submodi_put(&w, "normalised: %s (F of the empty set is %g)\n", r->normalised ? "yes" : "no",
                r->empty_value);

    const submod_counterexample *x = &r->not_submodular;
    submodi_put(&w, "submodular: %s", r->submodular ? yes : "no, ");
    if (!r->submodular) {
        put_set(&w, x);
        submodi_put(&w, ": element %d adds %.9g to A, but %.9g to A + %d", (int)x->e, x->left,
                    x->right, (int)x->f);
    }
    x = &r->not_monotone;
    submodi_put(&w, "\nmonotone: %s", r->monotone ? yes : "no, ");
    if (!r->monotone) {
        put_set(&w, x);
        submodi_put(&w, ": element %d adds %.9g", (int)x->e, x->left);
    }
    x = &r->not_symmetric;
    submodi_put(&w, "\nsymmetric: %s", r->symmetric ? yes : "no, ");
    if (!r->symmetric) {
        put_set(&w, x);
        submodi_put(&w, ": F(A) = %.9g, F(V - A) = %.9g", x->left, x->right);
    }
    x = &r->not_consistent;
    submodi_put(&w, "\ncallbacks agree with eval: %s",
                r->consistent ? "no counterexample found" : "no, ");
    if (!r->consistent) {
        put_set(&w, x);
        submodi_put(&w, ": element %d adds %.17g by callback, %.17g by eval", (int)x->e, x->left,
                    x->right);
    }
    submodi_put(&w, "\n");
    return w.length;
}

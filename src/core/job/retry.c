/* SPDX-License-Identifier: MIT */
#include "core/job/retry.h"

#include <float.h>
#include <math.h>

#include "base/compiler.h"
#include "base/rng.h"

enum retry_verdict retry_judge(const struct retry_policy *p, const struct retry_attempt *a)
{
    const struct retry_exit_rule *rule = NULL;

    for (size_t i = 0; i < p->n_exits && a->exited && rule == NULL; i++)
        if (a->exit >= p->exits[i].first && a->exit <= p->exits[i].last)
            rule = &p->exits[i];
    if (a->final || (rule != NULL && rule->then == RETRY_EXIT_NEVER))
        return RETRY_FINAL;
    if (rule != NULL && rule->then == RETRY_EXIT_LATER)
        return a->laters < RETRY_LATER_MAX ? RETRY_LATER : RETRY_FINAL;
    return a->failures <= p->max ? RETRY_AGAIN : RETRY_FINAL;
}

int64_t retry_delay_us(const struct retry_policy *p, int n, struct rng *rng)
{
    ASSERT(n >= 1);
    double times = fmin(pow(p->factor, n - 1), DBL_MAX); /* 0 times infinity is not a number */
    double us = (double)p->first_us * times;

    if (us > (double)p->cap_us)
        us = (double)p->cap_us;
    us *= 1 + p->jitter * (2 * rng_unit(rng) - 1);
    return us < 0 ? 0 : llround(us);
}

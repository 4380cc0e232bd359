/* SPDX-License-Identifier: MIT */
#include "store/damage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/os/log.h"

void damage_note(struct store_damage *d, const char *fmt, ...)
{
    va_list args;

    if (d == NULL)
        return;
    pthread_mutex_lock(&d->lock);
    if (d->text[0] == '\0') {
        va_start(args, fmt);
        (void)vsnprintf(d->text, sizeof(d->text), fmt, args);
        va_end(args);
        atomic_store(&d->found, true);
        log_error("the store is damaged: %s", d->text);
    }
    pthread_mutex_unlock(&d->lock);
}

void damage_clear(struct store_damage *d)
{
    if (d == NULL)
        return;
    pthread_mutex_lock(&d->lock);
    d->text[0] = '\0';
    atomic_store(&d->found, false);
    pthread_mutex_unlock(&d->lock);
}

bool damage_find(struct store_damage *d, char ret_text[static DAMAGE_TEXT_SIZE])
{
    pthread_mutex_lock(&d->lock);
    memcpy(ret_text, d->text, DAMAGE_TEXT_SIZE);
    pthread_mutex_unlock(&d->lock);
    return ret_text[0] != '\0';
}

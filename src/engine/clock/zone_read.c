/* SPDX-License-Identifier: MIT */
#include "engine/clock/zone_read.h"

#include "base/os/zone_file.h"
#include "core/time/tzif.h"

enum err_code zone_read(struct slice name, struct zone *ret_zone, struct err *err)
{
    CLEANUP(buf) struct buf bytes = BUF_INIT(ZONE_FILE_MAX);

    *ret_zone = ZONE_UTC;
    if (name.size == 0 || slice_is(name, "UTC"))
        return E_OK;
    if (zone_file_read(NULL, name, &bytes, err) != E_OK ||
        tzif_parse(buf_slice(&bytes), ret_zone, err) != E_OK)
        return err_wrap(err, "zone");
    return E_OK;
}

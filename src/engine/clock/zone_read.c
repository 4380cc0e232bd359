/* SPDX-License-Identifier: MIT */
#include "engine/clock/zone_read.h"

#include "base/os/zone_file.h"
#include "core/time/tzif.h"

enum err_code zone_read(struct slice name, struct zone *ret_zone, struct err *err)
{
    CLEANUP(buf) struct buf bytes = BUF_INIT(ZONE_FILE_MAX);

    if (slice_is(name, "UTC")) {
        *ret_zone = ZONE_UTC;
        return E_OK;
    }
    if (zone_file_read(NULL, name, &bytes, err) != E_OK)
        return err->code;
    return tzif_parse(buf_slice(&bytes), ret_zone, err);
}

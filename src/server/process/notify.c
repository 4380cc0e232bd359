/* SPDX-License-Identifier: MIT */
#include "server/process/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"

void notify_send(const char *lines)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t size = path == NULL ? 0 : strlen(path);

    if (size < 2 || size >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(to.sun_path, path, size);
    if (path[0] == '@') /* an abstract name */
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return;
    (void)!sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
    close(fd);
}

void notify_reloading(void)
{
    char lines[64];

    snprintf(lines, sizeof(lines), "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_us());
    notify_send(lines);
}

/* SPDX-License-Identifier: MIT */
#include "server/http/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/slice.h"
#include "server/limits.h"
#include "server/server.h"

#define FIRST_INHERITED 3 /* as systemd has it */

/* Everything a socket can be bound to. */
union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
    struct sockaddr_storage room;
};

void listeners_close(struct listeners *ls)
{
    for (size_t i = 0; i < ls->count; i++)
        if (ls->items[i].fd >= 0)
            close(ls->items[i].fd);
    ls->count = 0;
}

static const struct listener *find(const struct listeners *ls, bool local)
{
    for (size_t i = 0; i < ls->count; i++)
        if (ls->items[i].local == local)
            return &ls->items[i];
    return NULL;
}

const struct listener *listeners_tcp(const struct listeners *ls)
{
    return find(ls, false);
}

const struct listener *listeners_local(const struct listeners *ls)
{
    return find(ls, true);
}

/* ---- what a bound socket is ---- */

static void describe_v4(const struct sockaddr_in *a, struct listener *l)
{
    uint32_t address = ntohl(a->sin_addr.s_addr);

    l->port = ntohs(a->sin_port);
    l->loopback = address >> 24 == 127;
    l->any = address == INADDR_ANY;
    inet_ntop(AF_INET, &a->sin_addr, l->host, sizeof(l->host));
}

static void describe_v6(const struct sockaddr_in6 *a, struct listener *l)
{
    l->port = ntohs(a->sin6_port);
    l->loopback = IN6_IS_ADDR_LOOPBACK(&a->sin6_addr);
    l->any = IN6_IS_ADDR_UNSPECIFIED(&a->sin6_addr);
    inet_ntop(AF_INET6, &a->sin6_addr, l->host, sizeof(l->host));
}

static enum err_code describe(int fd, struct listener *l, struct err *err)
{
    union any_address a;
    socklen_t size = sizeof(a);

    *l = (struct listener){.fd = fd};
    if (getsockname(fd, &a.any, &size) < 0)
        return err_errno(err, E_INVALID, "look at a listening socket");
    switch (a.any.sa_family) {
    case AF_INET: describe_v4(&a.v4, l); return E_OK;
    case AF_INET6: describe_v6(&a.v6, l); return E_OK;
    case AF_UNIX:
        l->local = true;
        snprintf(l->path, sizeof(l->path), "%.*s", (int)sizeof(a.local.sun_path), a.local.sun_path);
        return E_OK;
    default: return err_set(err, E_INVALID, "a socket that is neither TCP nor Unix");
    }
}

static enum err_code add(struct listeners *ls, int fd, struct err *err)
{
    if (ls->count == LISTENERS_MAX) {
        close(fd);
        return err_set(err, E_INVALID, "at most %d listening sockets are served", LISTENERS_MAX);
    }
    if (describe(fd, &ls->items[ls->count], err) != E_OK) {
        close(fd);
        return err->code;
    }
    ls->count++;
    return E_OK;
}

/* ---- an address to be reached at ---- */

/* Picks an address that is up and neither loopback nor link-local; IPv4 before IPv6. */
static bool reach_at(const struct ifaddrs *i, int family, char host[static LISTENER_HOST_SIZE])
{
    union any_address a;

    if (i->ifa_addr == NULL || i->ifa_addr->sa_family != family || (i->ifa_flags & IFF_UP) == 0 ||
        (i->ifa_flags & IFF_LOOPBACK) != 0)
        return false;
    memcpy(&a, i->ifa_addr, family == AF_INET ? sizeof(a.v4) : sizeof(a.v6));
    if (family == AF_INET)
        return inet_ntop(AF_INET, &a.v4.sin_addr, host, LISTENER_HOST_SIZE) != NULL;
    return !IN6_IS_ADDR_LINKLOCAL(&a.v6.sin6_addr) &&
           inet_ntop(AF_INET6, &a.v6.sin6_addr, host, LISTENER_HOST_SIZE) != NULL;
}

const char *listener_own_address(char host[static LISTENER_HOST_SIZE])
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) == 0) {
        for (size_t f = 0; f < ARRAY_LEN(families) && !found; f++)
            for (const struct ifaddrs *i = all; i != NULL && !found; i = i->ifa_next)
                found = reach_at(i, families[f], host);
        freeifaddrs(all);
    }
    if (!found)
        snprintf(host, LISTENER_HOST_SIZE, "127.0.0.1");
    return host;
}

/* ---- TCP ---- */

static enum err_code split_address(const char *address, char host[static 256], char port[static 8],
                                   struct err *err)
{
    const char *colon = strrchr(address, ':');
    size_t host_size = colon == NULL ? 0 : (size_t)(colon - address);
    bool brackets = host_size > 2 && address[0] == '[' && address[host_size - 1] == ']';

    if (colon == NULL || host_size == 0 || host_size >= 256 || strlen(colon + 1) == 0 ||
        strlen(colon + 1) > 5 || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strtol(colon + 1, NULL, 10) > UINT16_MAX ||
        (!brackets && memchr(address, ':', host_size) != NULL))
        return err_set(err, E_INVALID,
                       "listen: '%s' is not ADDR:PORT, such as 127.0.0.1:6769 or [::1]:6769",
                       address);
    snprintf(host, 256, "%.*s", (int)(brackets ? host_size - 2 : host_size),
             brackets ? address + 1 : address);
    snprintf(port, 8, "%s", colon + 1);
    return E_OK;
}

static enum err_code resolve(const char *address, union any_address *ret_address,
                             socklen_t *ret_size, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    char host[256];
    char port[8];

    if (split_address(address, host, port, err) != E_OK)
        return err->code;
    if (strcmp(host, "localhost") == 0)
        snprintf(host, sizeof(host), "127.0.0.1");
    int error = getaddrinfo(host, port, &hints, &found);

    if (error == EAI_NONAME) {
        hints.ai_flags &= ~AI_NUMERICHOST;
        error = getaddrinfo(host, port, &hints, &found);
    }
    if (error != 0)
        return err_set(err, E_INVALID, "listen: '%s': %s", address, gai_strerror(error));
    memcpy(&ret_address->room, found->ai_addr, found->ai_addrlen);
    *ret_size = found->ai_addrlen;
    freeaddrinfo(found);
    return E_OK;
}

enum err_code listen_is_loopback(const char *address, bool *ret_loopback, struct err *err)
{
    union any_address a = {.any.sa_family = AF_UNSPEC};
    struct listener l = {.fd = -1};
    socklen_t size = 0;

    if (resolve(address, &a, &size, err) != E_OK)
        return err->code;
    if (a.any.sa_family == AF_INET)
        describe_v4(&a.v4, &l);
    else
        describe_v6(&a.v6, &l);
    *ret_loopback = l.loopback;
    return E_OK;
}

static enum err_code cannot_bind(const char *address, struct err *err)
{
    if (errno == EADDRINUSE)
        return err_set(err, E_UNAVAILABLE,
                       "the address %s is in use by another process: stop that, or choose another "
                       "with --listen (port 0 picks a free one)",
                       address);
    return err_errno(err, errno == EACCES ? E_FORBIDDEN : E_INVALID, "listen on %s", address);
}

enum err_code listen_tcp(struct listeners *ls, const char *address, struct err *err)
{
    union any_address a = {.any.sa_family = AF_UNSPEC};
    socklen_t size = 0;
    int on = 1;

    if (resolve(address, &a, &size, err) != E_OK)
        return err->code;
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return err_errno(err, E_UNAVAILABLE, "make a socket for %s", address);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, &a.any, size) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
        enum err_code code = cannot_bind(address, err);

        close(fd);
        return code;
    }
    return add(ls, fd, err);
}

/* ---- the Unix socket ---- */

static enum err_code remove_stale(int dir_fd, const char *path, struct err *err)
{
    struct stat st;

    if (fstatat(dir_fd, SERVER_SOCKET_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? E_OK : err_errno(err, E_INVALID, "look at %s", path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, E_INVALID, "%s is in the way: it is not a socket", path);
    if (unlinkat(dir_fd, SERVER_SOCKET_NAME, 0) < 0)
        return err_errno(err, E_FORBIDDEN, "remove the old %s", path);
    return E_OK;
}

/* The address to bind; a path that is too long is bound relative to its directory. */
static void local_address(const char *path, int dir_fd, struct sockaddr_un *ret_address)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) < sizeof(ret_address->sun_path))
        memcpy(ret_address->sun_path, path, strlen(path) + 1);
    else
        snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "/proc/self/fd/%d/%s",
                 dir_fd, SERVER_SOCKET_NAME);
}

enum err_code listen_unix(struct listeners *ls, const char *dir, int dir_fd, struct err *err)
{
    char path[sizeof(ls->items[0].path)];
    struct sockaddr_un address;

    if (snprintf(path, sizeof(path), "%s/%s", dir, SERVER_SOCKET_NAME) >= (int)sizeof(path))
        return err_set(err, E_INVALID, "the path of the data directory is too long");
    if (remove_stale(dir_fd, path, err) != E_OK)
        return err->code;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return err_errno(err, E_UNAVAILABLE, "make a socket for %s", path);
    local_address(path, dir_fd, &address);
    /* The file gets the mode of the socket, so it is never open to others, not even briefly. */
    if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, LISTEN_BACKLOG) < 0) {
        (void)err_errno(err, E_INVALID, "listen on %s", path);
        close(fd);
        return err->code;
    }
    if (add(ls, fd, err) != E_OK)
        return err->code;
    memcpy(ls->items[ls->count - 1].path, path, sizeof(path));
    return E_OK;
}

/* ---- sockets passed by systemd ---- */

static int inherited_count(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *fds = getenv("LISTEN_FDS");
    long count = 0;

    if (pid != NULL && fds != NULL && strtol(pid, NULL, 10) == (long)getpid())
        count = strtol(fds, NULL, 10);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return count < 0 || count > LISTENERS_MAX ? LISTENERS_MAX : (int)count;
}

static enum err_code take(struct listeners *ls, int fd, struct err *err)
{
    int listening = 0;
    socklen_t size = sizeof(listening);
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0 || listening == 0)
        return err_set(err, E_INVALID,
                       "LISTEN_FDS: descriptor %d is no listening socket (ListenStream= is needed)",
                       fd);
    return add(ls, fd, err);
}

enum err_code listen_inherited(struct listeners *ls, struct err *err)
{
    int count = inherited_count();

    for (int i = 0; i < count; i++)
        if (take(ls, FIRST_INHERITED + i, err) != E_OK)
            return err->code;
    return E_OK;
}

/* SPDX-License-Identifier: MIT */
#include "rabbit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <amqp.h>
#include <amqp_tcp_socket.h>

#define CHANNEL 1
#define FRAME_END 0xCE
#define FRAME_METHOD 1
#define FRAME_HEADER 2
#define FRAME_BODY 3
#define FRAME_HEAD 7 /* type, channel, size */

#define CONNECTION_CLOSE 0x000A0032U
#define BASIC_CONSUME 0x003C0014U
#define BASIC_PUBLISH 0x003C0028U
#define BASIC_DELIVER 0x003C003CU
#define BASIC_ACK 0x003C0050U
#define BASIC_NACK 0x003C0078U
#define CONSUME_NOWAIT 8
#define HAS_DELIVERY_MODE 0x1000
#define PERSISTENT 2
#define REPLY_SUCCESS 200
#define FAREWELL_S 10

struct talk {
    amqp_connection_state_t lib;
    struct buf publishes; /* a full batch of them */
    size_t publish_size;
    struct rabbit_confirms confirms;
    uint64_t delivering; /* the tag whose body is still to come */
    uint64_t delivered;  /* the last tag that is whole */
    unsigned held;
};

static void add_u16(struct buf *b, unsigned v)
{
    uint16_t n = htons((uint16_t)v);

    buf_add(b, &n, sizeof(n));
}

static void add_u32(struct buf *b, uint32_t v)
{
    uint32_t n = htonl(v);

    buf_add(b, &n, sizeof(n));
}

static void add_u64(struct buf *b, uint64_t v)
{
    add_u32(b, (uint32_t)(v >> 32));
    add_u32(b, (uint32_t)v);
}

static void add_name(struct buf *b, const char *name)
{
    buf_add_char(b, (char)strlen(name));
    buf_add_str(b, name);
}

static void add_frame(struct buf *to, unsigned type, unsigned channel, struct slice payload)
{
    buf_add_char(to, (char)type);
    add_u16(to, channel);
    add_u32(to, (uint32_t)payload.size);
    buf_add_slice(to, payload);
    buf_add_char(to, (char)FRAME_END);
}

static void add_publish(struct buf *to, const char *queue)
{
    CLEANUP(buf) struct buf part = BUF_INIT(1024);

    add_u32(&part, BASIC_PUBLISH);
    add_u16(&part, 0);
    add_name(&part, "");
    add_name(&part, queue);
    buf_add_char(&part, 0);
    add_frame(to, FRAME_METHOD, CHANNEL, buf_slice(&part));
    buf_clear(&part);
    add_u16(&part, BASIC_PUBLISH >> 16);
    add_u16(&part, 0);
    add_u64(&part, load_payload.size);
    add_u16(&part, HAS_DELIVERY_MODE);
    buf_add_char(&part, PERSISTENT);
    add_frame(to, FRAME_HEADER, CHANNEL, buf_slice(&part));
    add_frame(to, FRAME_BODY, CHANNEL, load_payload);
}

static enum err_code check_reply(amqp_rpc_reply_t r, const char *what, struct err *err)
{
    if (r.reply_type == AMQP_RESPONSE_NORMAL)
        return E_OK;
    if (r.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
        return err_set(err, E_UNAVAILABLE, "%s: %s", what, amqp_error_string2(r.library_error));
    if (r.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
        const amqp_channel_close_t *m = r.reply.decoded;

        return err_set(err, E_BAD_REQUEST, "%s: %.*s", what, (int)m->reply_text.len,
                       (const char *)m->reply_text.bytes);
    }
    return err_set(err, E_BAD_REQUEST, "%s: RabbitMQ closed the connection", what);
}

static enum err_code dial(const struct load_address *address, amqp_connection_state_t *ret_lib,
                          struct err *err)
{
    const struct sockaddr_in *v4 = (const void *)&address->at;
    amqp_connection_state_t lib = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(lib);
    char host[INET_ADDRSTRLEN];
    enum err_code code = E_OK;

    ASSERT(lib != NULL && socket != NULL);
    if (v4->sin_family != AF_INET)
        code = err_set(err, E_INVALID, "RabbitMQ is spoken to over IPv4 only");
    if (code == E_OK) {
        int rc = amqp_socket_open(socket, inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host)),
                                  ntohs(v4->sin_port));

        if (rc != AMQP_STATUS_OK)
            code = err_set(err, E_UNAVAILABLE, "connect to RabbitMQ: %s", amqp_error_string2(rc));
    }
    if (code == E_OK)
        code = check_reply(amqp_login(lib, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0,
                                      AMQP_SASL_METHOD_PLAIN, "guest", "guest"),
                           "log in to RabbitMQ", err);
    if (code == E_OK) {
        amqp_channel_open(lib, CHANNEL);
        code = check_reply(amqp_get_rpc_reply(lib), "open a channel", err);
    }
    if (code == E_OK)
        *ret_lib = lib;
    else
        amqp_destroy_connection(lib);
    return code;
}

static enum err_code declare(amqp_connection_state_t lib, const char *queue, uint64_t *ret_depth,
                             struct err *err)
{
    amqp_table_entry_t quorum = {
        .key = amqp_cstring_bytes("x-queue-type"),
        .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("quorum")},
    };
    amqp_table_t arguments = {.num_entries = 1, .entries = &quorum};
    const amqp_queue_declare_ok_t *ok = amqp_queue_declare(lib, CHANNEL, amqp_cstring_bytes(queue),
                                                           false, true, false, false, arguments);
    enum err_code code = check_reply(amqp_get_rpc_reply(lib), "declare the queue", err);

    if (code == E_OK && ret_depth != NULL)
        *ret_depth = ok->message_count;
    return code;
}

static void hang_up(amqp_connection_state_t lib)
{
    (void)amqp_connection_close(lib, REPLY_SUCCESS);
    amqp_destroy_connection(lib);
}

enum err_code rabbit_renew(const struct load_address *address, const char *queue, struct err *err)
{
    amqp_connection_state_t lib = NULL;
    enum err_code code = dial(address, &lib, err);

    if (code != E_OK)
        return code;
    amqp_queue_delete(lib, CHANNEL, amqp_cstring_bytes(queue), false, false);
    code = check_reply(amqp_get_rpc_reply(lib), "delete the queue", err);
    if (code == E_OK)
        code = declare(lib, queue, NULL, err);
    hang_up(lib);
    return code;
}

enum err_code rabbit_depth(const struct load_address *address, const char *queue,
                           uint64_t *ret_depth, struct err *err)
{
    amqp_connection_state_t lib = NULL;
    enum err_code code = dial(address, &lib, err);

    if (code != E_OK)
        return code;
    code = declare(lib, queue, ret_depth, err);
    hang_up(lib);
    return code;
}

static enum err_code prepare(struct load_conn *c, amqp_connection_state_t lib, struct err *err)
{
    enum err_code code = declare(lib, c->plan->queue, NULL, err);

    if (code != E_OK)
        return code;
    amqp_basic_qos(lib, CHANNEL, 0, (uint16_t)c->plan->batch, false);
    code = check_reply(amqp_get_rpc_reply(lib), "set the prefetch", err);
    if (code != E_OK)
        return code;
    amqp_confirm_select(lib, CHANNEL);
    code = check_reply(amqp_get_rpc_reply(lib), "ask for confirms", err);
    if (code != E_OK)
        return code;
    c->fd = dup(amqp_get_sockfd(lib));
    return c->fd < 0 ? err_errno(err, E_INTERNAL, "dup") : E_OK;
}

static enum err_code rabbit_open(struct load_conn *c, struct err *err)
{
    amqp_connection_state_t lib = NULL;
    enum err_code code = strlen(c->plan->queue) > 200
                             ? err_set(err, E_INVALID, "queue: a name of at most 200 bytes")
                             : dial(load_address_of(c), &lib, err);

    if (code != E_OK)
        return code;
    struct talk *t = mem_zalloc(sizeof(*t));

    c->talk = t;
    t->lib = lib;
    t->publishes = BUF_INIT(LOAD_BUFFER_MAX);
    add_publish(&t->publishes, c->plan->queue);
    t->publish_size = t->publishes.size;
    for (unsigned i = 1; i < c->plan->batch; i++)
        add_publish(&t->publishes, c->plan->queue);
    return prepare(c, lib, err);
}

/* Asks for the end and waits for it: a socket shut with unread bytes in it would take our last
 * acknowledgements with it. */
static void say_farewell(int fd)
{
    CLEANUP(buf) struct buf part = BUF_INIT(64);
    CLEANUP(buf) struct buf out = BUF_INIT(64);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    char rest[4096];

    add_u32(&part, CONNECTION_CLOSE);
    add_u16(&part, REPLY_SUCCESS);
    add_name(&part, "");
    add_u32(&part, 0);
    add_frame(&out, FRAME_METHOD, 0, buf_slice(&part));
    if (send(fd, out.data, out.size, MSG_NOSIGNAL) != (ssize_t)out.size ||
        shutdown(fd, SHUT_WR) < 0)
        return;
    while (poll(&readable, 1, FAREWELL_S * 1000) > 0 && recv(fd, rest, sizeof(rest), 0) > 0)
        continue;
}

static void rabbit_close(struct load_conn *c)
{
    struct talk *t = c->talk;

    if (t == NULL)
        return;
    if (c->fd >= 0)
        say_farewell(c->fd);
    amqp_destroy_connection(t->lib);
    buf_deinit(&t->publishes);
    free(t);
}

static void rabbit_submit(struct load_conn *c, unsigned jobs)
{
    struct talk *t = c->talk;

    buf_add(&c->out, t->publishes.data, jobs * t->publish_size);
}

/* Acknowledges all that is held. */
static unsigned rabbit_finish(struct load_conn *c)
{
    struct talk *t = c->talk;
    CLEANUP(buf) struct buf part = BUF_INIT(64);
    unsigned held = t->held;

    if (held == 0)
        return 0;
    add_u32(&part, BASIC_ACK);
    add_u64(&part, t->delivered);
    buf_add_char(&part, held > 1);
    add_frame(&c->out, FRAME_METHOD, CHANNEL, buf_slice(&part));
    t->held = 0;
    return held;
}

static unsigned rabbit_claim(struct load_conn *c, unsigned jobs, unsigned wait_s)
{
    CLEANUP(buf) struct buf part = BUF_INIT(1024);

    (void)jobs;
    (void)wait_s;
    add_u32(&part, BASIC_CONSUME);
    add_u16(&part, 0);
    add_name(&part, c->plan->queue);
    add_name(&part, "load");
    buf_add_char(&part, CONSUME_NOWAIT);
    add_u32(&part, 0);
    add_frame(&c->out, FRAME_METHOD, CHANNEL, buf_slice(&part));
    return 0;
}

static uint32_t read_u32(const char *p)
{
    uint32_t n;

    memcpy(&n, p, sizeof(n));
    return ntohl(n);
}

static uint64_t read_u64(const char *p)
{
    return (uint64_t)read_u32(p) << 32 | read_u32(p + 4);
}

unsigned rabbit_confirm(struct rabbit_confirms *c, uint64_t tag, bool multiple)
{
    const size_t size = ARRAY_LEN(c->early);
    unsigned confirmed = 0;

    if (!multiple) {
        c->early[tag % size] = true;
        confirmed = 1;
    }
    while (c->early[(c->up_to + 1) % size] || (multiple && c->up_to < tag)) {
        bool *early = &c->early[++c->up_to % size];

        confirmed += multiple && !*early && c->up_to <= tag;
        *early = false;
    }
    return confirmed;
}

static enum err_code take_method(struct talk *t, struct slice m, struct load_events *e,
                                 struct err *err)
{
    uint32_t id = m.size < 4 ? 0 : read_u32(m.data);

    if (id == BASIC_ACK && m.size >= 13) {
        e->submitted += rabbit_confirm(&t->confirms, read_u64(m.data + 4), m.data[12] & 1);
        return E_OK;
    }
    if (id == BASIC_DELIVER && m.size >= 13 && m.size >= 13U + (unsigned char)m.data[4]) {
        t->delivering = read_u64(m.data + 5 + (unsigned char)m.data[4]);
        return E_OK;
    }
    if (id == BASIC_NACK)
        return err_set(err, E_FULL, "RabbitMQ did not keep a message");
    return err_set(err, E_BAD_REQUEST, "RabbitMQ sent method %u.%u: %.*s", id >> 16, id & 0xFFFF,
                   m.size > 7 ? (int)(m.size - 7) : 0, m.data + 7);
}

static enum err_code take_frame(struct talk *t, int type, struct slice payload,
                                struct load_events *e, struct err *err)
{
    if (type == FRAME_METHOD)
        return take_method(t, payload, e, err);
    if (type == FRAME_BODY) {
        t->delivered = t->delivering;
        t->held++;
        e->claimed++;
    }
    return E_OK;
}

static enum err_code rabbit_input(struct load_conn *c, struct slice in, size_t *ret_used,
                                  struct load_events *events, struct err *err)
{
    size_t used = 0;

    while (in.size - used >= FRAME_HEAD + 1) {
        const char *frame = in.data + used;
        size_t size = read_u32(frame + 3);

        if (in.size - used < FRAME_HEAD + size + 1)
            break;
        if ((unsigned char)frame[FRAME_HEAD + size] != FRAME_END)
            return err_set(err, E_BAD_REQUEST, "RabbitMQ sent a frame without its end");
        enum err_code code = take_frame(c->talk, frame[0], slice_make(frame + FRAME_HEAD, size),
                                        events, err);

        if (code != E_OK)
            return code;
        used += FRAME_HEAD + size + 1;
    }
    *ret_used = used;
    return E_OK;
}

const struct load_protocol rabbit = {
    .pushes = true,
    .open = rabbit_open,
    .close = rabbit_close,
    .submit = rabbit_submit,
    .claim = rabbit_claim,
    .finish = rabbit_finish,
    .input = rabbit_input,
};

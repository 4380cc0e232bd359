/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "worker/client/client.h"
#include "worker/client/url.h"

static const struct {
    const char *text;
    const char *base;
    const char *socket;
    bool nearby;
} good[] = {
    {"http://127.0.0.1:6769", "http://127.0.0.1:6769", NULL, true},
    {"http://127.0.0.1:6769/", "http://127.0.0.1:6769", NULL, true},
    {"HTTP://localhost:1/", "http://localhost:1", NULL, true},
    {"http://[::1]:6769", "http://[::1]:6769", NULL, true},
    {"https://queue.example.org", "https://queue.example.org", NULL, false},
    {"https://example.org/below/it/", "https://example.org/below/it", NULL, false},
    {"unix:/run/w.sock", "http://localhost", "/run/w.sock", true},
    {"unix:///run/w.sock", "http://localhost", "/run/w.sock", true},
    {"unix:w.sock", "http://localhost", "w.sock", true},
};

static void good_urls_are_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CLEANUP(client_url) struct client_url u = {.text = NULL};
        struct err err = ERR_INIT;

        if (client_url_parse(good[i].text, &u, &err) != E_OK)
            fail_msg("%s: %s", good[i].text, err.msg);
        assert_string_equal(u.text, good[i].text);
        assert_string_equal(u.base, good[i].base);
        if (good[i].socket == NULL)
            assert_null(u.socket);
        else
            assert_string_equal(u.socket, good[i].socket);
        assert_int_equal(u.nearby, good[i].nearby);
    }
}

static const struct {
    const char *text;
    const char *says;
} bad[] = {
    {"", "http://HOST:PORT"},
    {"127.0.0.1:6769", "http://HOST:PORT"},
    {"localhost", "http://HOST:PORT"},
    {"ftp://x", "http://HOST:PORT"},
    {"unix:", "path"},
    {"http://", "server 'http://'"},
    {"http://h:99999", "server 'http://h:99999'"},
    {"http://a b/", "server 'http://a b/'"},
    {"http://u:secret@h/", "WAYBILL_TOKEN"},
    {"http://h/?a=b", "no ?"},
    {"http://h/#x", "no #"},
};

static void bad_urls_are_refused_with_what_to_write(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct client_url u = {.text = NULL};
        struct err err = ERR_INIT;

        if (client_url_parse(bad[i].text, &u, &err) != E_INVALID ||
            strstr(err.msg, bad[i].says) == NULL)
            fail_msg("%s: '%s' instead of '%s'", bad[i].text, err.msg, bad[i].says);
        assert_null(strstr(err.msg, "secret"));
        assert_null(u.text);
    }
}

static void set_environment(const char *url, const char *data)
{
    assert_int_equal(url != NULL ? setenv("WAYBILL_URL", url, 1) : unsetenv("WAYBILL_URL"), 0);
    assert_int_equal(data != NULL ? setenv("WAYBILL_DATA", data, 1) : unsetenv("WAYBILL_DATA"), 0);
}

/* Chooses, and hands back the text. */
static char *choose(const char *url, const char *data)
{
    struct client_url u = {.text = NULL};
    struct err err = ERR_INIT;

    assert_int_equal(client_url_choose(url, data, &u, &err), E_OK);
    char *text = STEAL(u.text);

    client_url_deinit(&u);
    return text;
}

static void assert_chosen(const char *url, const char *data, const char *want)
{
    CLEANUP(mem) char *text = choose(url, data);

    assert_string_equal(text, want);
}

static int make_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_true(strlen(path) < sizeof(at.sun_path));
    memcpy(at.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

static void the_socket_in_the_data_directory_is_the_default_if_it_is_there(void **state)
{
    char dir[] = "/tmp/waybill-url.XXXXXX";
    char path[64];
    char url[80];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/waybill.sock", dir);
    snprintf(url, sizeof(url), "unix:%s", path);
    set_environment(NULL, dir);
    assert_chosen(NULL, NULL, url); /* though nothing is there */
    assert_chosen(NULL, dir, url);  /* whoever names a directory means no other server */
    int fd = make_socket(path);

    assert_chosen(NULL, NULL, url);
    set_environment("http://h:1", dir);
    assert_chosen(NULL, NULL, "http://h:1");
    assert_chosen(NULL, dir, url); /* an option is nearer than the environment */
    assert_chosen("http://o:2", dir, "http://o:2");
    set_environment("", NULL); /* empty is as good as unset */
    assert_chosen(NULL, dir, url);
    close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void the_data_directory_comes_from_option_environment_or_home(void **state)
{
    struct err err = ERR_INIT;
    char *dir = NULL;

    (void)state;
    set_environment(NULL, "/from/environment");
    assert_int_equal(client_data_dir("/given", &dir, &err), E_OK);
    assert_string_equal(dir, "/given");
    free(dir);
    assert_int_equal(client_data_dir(NULL, &dir, &err), E_OK);
    assert_string_equal(dir, "/from/environment");
    free(dir);
    set_environment(NULL, NULL);
    assert_int_equal(setenv("HOME", "/home/x", 1), 0);
    assert_int_equal(client_data_dir(NULL, &dir, &err), E_OK);
    assert_string_equal(dir, geteuid() == 0 ? "/var/lib/waybill" : "/home/x/.local/share/waybill");
    free(dir);
}

static void pieces_of_urls_are_escaped_byte_by_byte(void **state)
{
    CLEANUP(buf) struct buf b = BUF_INIT(200);
    const char bytes[] = "a-Z._~9 /?#&=+%\n\0\xC3\xA4";

    (void)state;
    client_add_escaped(&b, slice_make(bytes, sizeof(bytes) - 1));
    assert_string_equal(buf_text(&b), "a-Z._~9%20%2F%3F%23%26%3D%2B%25%0A%00%C3%A4");
}

static void a_token_that_no_header_can_carry_is_refused_without_being_shown(void **state)
{
    static const char *const tokens[] = {"se cret", "secret\r\nX: y", "secret\n", "secr\xC3\xA9t"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
        struct client *c = NULL;
        struct err err = ERR_INIT;
        const struct client_config config = {.url = "http://127.0.0.1:1", .token = tokens[i]};

        assert_int_equal(client_open(&config, &c, &err), E_INVALID);
        assert_non_null(strstr(err.msg, "WAYBILL_TOKEN"));
        assert_null(strstr(err.msg, "secr"));
    }
}

static void where_nobody_listens_the_error_says_how_to_start_a_server(void **state)
{
    static const char *const urls[] = {"http://127.0.0.1:1", "unix:/nonexistent/waybill.sock"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        CLEANUP(client) struct client *c = NULL;
        CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
        struct err err = ERR_INIT;

        assert_int_equal(client_open(&(struct client_config){.url = urls[i]}, &c, &err), E_OK);
        assert_int_equal(client_call(c, &(struct client_request){.path = "/x"}, &reply, &err),
                         E_UNAVAILABLE);
        assert_non_null(strstr(err.msg, urls[i]));
        assert_non_null(strstr(err.msg, "waybill serve"));
    }
}

/* Answers one request over the socket with a fixed text, in a child. */
static pid_t answer_once(int fd, const char *answer)
{
    assert_int_equal(listen(fd, 1), 0);
    pid_t child = fork();

    assert_true(child >= 0);
    if (child > 0)
        return child;
    char request[4096];
    int peer = accept(fd, NULL, NULL);
    bool ok = peer >= 0 && read(peer, request, sizeof(request)) > 0 &&
              write(peer, answer, strlen(answer)) == (ssize_t)strlen(answer);

    _exit(ok ? 0 : 1);
}

static void a_socket_whose_path_is_too_long_for_an_address_is_reached(void **state)
{
    char dir[256] = "/tmp/waybill-url.XXXXXX";
    char url[400];
    int status = 0;
    struct err err = ERR_INIT;
    CLEANUP(client) struct client *c = NULL;
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;

    (void)state;
    assert_non_null(mkdtemp(dir));
    size_t parent = strlen(dir);

    snprintf(dir + parent, sizeof(dir) - parent, "/%0150d", 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chdir(dir), 0);
    int fd = make_socket("w.sock");
    pid_t child = answer_once(fd, "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\n"
                                  "Content-Length: 51\r\nConnection: close\r\n\r\n"
                                  "{\"error\":{\"code\":\"conflict\",\"message\":\"not again\"}}");

    snprintf(url, sizeof(url), "unix:%s/w.sock", dir);
    assert_int_equal(client_open(&(struct client_config){.url = url}, &c, &err), E_OK);
    assert_int_equal(client_call(c, &(struct client_request){.path = "/x"}, &reply, &err),
                     E_CONFLICT);
    assert_string_equal(err.msg, "not again");
    assert_int_equal(reply.status, 409);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(fd);
    assert_int_equal(unlink("w.sock"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
    dir[parent] = '\0';
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_urls_are_understood),
        cmocka_unit_test(bad_urls_are_refused_with_what_to_write),
        cmocka_unit_test(the_socket_in_the_data_directory_is_the_default_if_it_is_there),
        cmocka_unit_test(the_data_directory_comes_from_option_environment_or_home),
        cmocka_unit_test(pieces_of_urls_are_escaped_byte_by_byte),
        cmocka_unit_test(a_token_that_no_header_can_carry_is_refused_without_being_shown),
        cmocka_unit_test(where_nobody_listens_the_error_says_how_to_start_a_server),
        cmocka_unit_test(a_socket_whose_path_is_too_long_for_an_address_is_reached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

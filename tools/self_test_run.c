// SPDX-License-Identifier: Apache-2.0
// The processes that run the checks, and the one that distributes them.
#include "self_test_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress.h"
#include "self_test_trial.h"
#include "timing.h"

enum { MOST_HELPERS = 4, PATIENCE_SECONDS = 300, SEEDS = 1000 };

const self_check *self_check_at(size_t i)
{
    static const self_check *const lists[] = {
        self_test_products, self_test_sparse, self_test_formats,
        self_test_axis,     self_test_matmul, self_test_elementwise,
    };
    for (size_t list = 0; list < sizeof(lists) / sizeof(lists[0]); list++)
        for (const self_check *at = lists[list]; at->op != NULL; at++)
            if (i-- == 0)
                return at;
    return NULL;
}

// ---- messages

// A helper's first message; then it gets numbers of checks, and answers with their results.
typedef struct opening {
    bool is_open;
    complaint why; // if it could not begin
    self_test_device device;
} opening;

static bool say(int socket, const void *message, size_t bytes)
{
    const char *at = message;
    while (bytes > 0) {
        const ssize_t n = send(socket, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool hear(int socket, void *message, size_t bytes)
{
    char *at = message;
    while (bytes > 0) {
        const ssize_t n = recv(socket, at, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

// ---- a helper

static void describe_device(self_test_device *out, const weft_context *ctx)
{
    cl_platform_id platform = NULL;
    cl_device_id device = weft_context_device(ctx);
    out->limits = *weft_context_limits(ctx);
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(out->platform) - 1, out->platform, NULL);
    clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(out->version) - 1, out->version, NULL);
    clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(out->driver) - 1, out->driver, NULL);
}

// Operands of a check are the same for any choice of checks.
static void run_check(self_test_result *result, weft_context *ctx, size_t i)
{
    const self_check *check = self_check_at(i);
    const double start_ms = timing_now_ms();
    self_trial trial = {.ctx = ctx,
                        .queue = weft_context_queue(ctx),
                        .seed = SEEDS * i,
                        .result = result,
                        .why = &result->why};
    *result = (self_test_result){.is_skipped = check->dtype == WEFT_F64 &&
                                               !weft_context_limits(ctx)->has_f64};
    if (!result->is_skipped)
        result->has_failed = !check->run(&trial, check->of);
    clFinish(trial.queue);
    trial_clear(&trial);
    result->seconds = 1e-3 * (timing_now_ms() - start_ms);
}

static void serve(int socket, const command_options *options)
{
    static opening begins;
    static self_test_result result;
    weft_context *ctx = NULL;
    size_t i;
    begins.is_open = command_open(&ctx, options, &begins.why);
    if (begins.is_open)
        describe_device(&begins.device, ctx);
    bool goes_on = say(socket, &begins, sizeof(begins)) && begins.is_open;
    while (goes_on && hear(socket, &i, sizeof(i))) {
        run_check(&result, ctx, i);
        goes_on = say(socket, &result, sizeof(result));
    }
    weft_context_destroy(&ctx);
    close(socket);
}

// ---- the process that hands out checks

typedef struct helper {
    pid_t process; // 0: there is none
    int socket;
    bool is_open, is_busy; // the device; with a check
    size_t check;
    double since_ms; // time of the last message to it
} helper;

typedef struct run_state {
    const command_options *options;
    const bool *is_chosen;
    const self_test_listener *listener;
    helper helpers[MOST_HELPERS];
    size_t n_checks, next, reported; // to be distributed; reported to the listener
    self_test_result *results;       // by check
    bool *is_done;                   // likewise
    bool is_known;                   // the listener has the device
    complaint last;                  // why a helper could not begin
} run_state;

static bool start(run_state *run, helper *h, complaint *why)
{
    int ends[2];
    fflush(NULL); // or both would print its contents
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return complain(why, "socketpair: %s", strerror(errno));
    *h = (helper){.process = fork(), .socket = ends[0], .since_ms = timing_now_ms()};
    if (h->process == 0) {
        for (int i = 0; i < MOST_HELPERS; i++) // their processes end with this one
            if (run->helpers[i].process > 0 || &run->helpers[i] == h)
                close(run->helpers[i].socket);
        prctl(PR_SET_PDEATHSIG, SIGKILL);   // no hanging driver remains
        dup2(STDERR_FILENO, STDOUT_FILENO); // drivers' output is no part of the report
        serve(ends[1], run->options);
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    if (h->process > 0)
        return true;
    h->process = 0;
    close(ends[0]);
    return complain(why, "fork: %s", strerror(errno));
}

static size_t next_chosen(const run_state *run, size_t i)
{
    while (i < run->n_checks && !run->is_chosen[i])
        i++;
    return i;
}

// Reports results in the order of checks.
static void tell(run_state *run)
{
    run->reported = next_chosen(run, run->reported);
    while (run->reported < run->n_checks && run->is_done[run->reported]) {
        run->listener->on_result(run->listener->user, run->reported, &run->results[run->reported]);
        run->reported = next_chosen(run, run->reported + 1);
    }
}

static void tell_waiting(const run_state *run)
{
    size_t n_done = 0, n_chosen = 0;
    for (size_t i = next_chosen(run, 0); i < run->n_checks; i = next_chosen(run, i + 1)) {
        n_chosen++;
        n_done += run->is_done[i];
    }
    if (run->is_known && run->reported < run->n_checks)
        run->listener->on_wait(run->listener->user, run->reported, n_done, n_chosen);
}

// Sends it the next check, or ends it.
static void employ(run_state *run, helper *h)
{
    h->is_busy = run->next < run->n_checks;
    h->since_ms = timing_now_ms();
    if (h->is_busy) {
        h->check = run->next;
        run->next = next_chosen(run, run->next + 1);
        say(h->socket, &h->check, sizeof(h->check)); // a failure: it has ended
    } else {
        shutdown(h->socket, SHUT_WR);
    }
}

// How it ended, in words; whether it succeeded.
static bool bury(helper *h, bool is_killed, complaint *why)
{
    int status = 0;
    close(h->socket);
    if (is_killed)
        kill(h->process, SIGKILL);
    while (waitpid(h->process, &status, 0) < 0 && errno == EINTR)
        continue;
    h->process = 0;
    if (is_killed)
        complaint_keep(why, "no answer within %d s", PATIENCE_SECONDS);
    else if (WIFSIGNALED(status))
        complaint_keep(why, "the process was killed by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        complaint_keep(why, "the process ended with status %d", WEXITSTATUS(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Its check has failed; another helper replaces it if there are more.
static void lose(run_state *run, helper *h, bool is_killed)
{
    complaint why;
    const helper was = *h;
    const bool ended_well = bury(h, is_killed, &why);
    if (!was.is_open) {
        run->last = why;
    } else if (was.is_busy) {
        run->results[was.check] = (self_test_result){.has_failed = true, .why = why};
        run->results[was.check].seconds = 1e-3 * (timing_now_ms() - was.since_ms);
        run->is_done[was.check] = true;
        if (run->next < run->n_checks)
            start(run, h, &run->last);
    } else if (!ended_well) {
        progress_clear();
        fprintf(stderr, "weft self-test: after the last check %s\n", why.text);
    }
}

static bool receive_opening(run_state *run, helper *h)
{
    static opening begins;
    if (!hear(h->socket, &begins, sizeof(begins)))
        return false;
    if (!begins.is_open) {
        complaint ended;
        bury(h, false, &ended);
        run->last = begins.why;
        return true;
    }
    h->is_open = true;
    if (!run->is_known)
        run->listener->on_device(run->listener->user, &begins.device);
    run->is_known = true;
    employ(run, h);
    return true;
}

static bool receive_result(run_state *run, helper *h)
{
    if (!h->is_busy || !hear(h->socket, &run->results[h->check], sizeof(self_test_result)))
        return false;
    run->is_done[h->check] = true;
    employ(run, h);
    return true;
}

// Waits for any of them. False if there is none left.
static bool wait_for_any(run_state *run)
{
    struct pollfd ready[MOST_HELPERS];
    int n = 0, of[MOST_HELPERS];
    for (int i = 0; i < MOST_HELPERS; i++)
        if (run->helpers[i].process > 0) {
            of[n] = i;
            ready[n++] = (struct pollfd){.fd = run->helpers[i].socket, .events = POLLIN};
        }
    if (n == 0)
        return false;
    poll(ready, (nfds_t)n, 1000);
    for (int i = 0; i < n; i++) {
        helper *h = &run->helpers[of[i]];
        if (ready[i].revents != 0) {
            if (!(h->is_open ? receive_result : receive_opening)(run, h))
                lose(run, h, false);
        } else if (timing_now_ms() - h->since_ms > 1e3 * PATIENCE_SECONDS) {
            lose(run, h, true);
        }
    }
    tell(run);
    tell_waiting(run);
    return true;
}

// The others begin after the first has opened the device.
static void start_others(run_state *run)
{
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 1; i < MOST_HELPERS && i < n_cores && run->next < run->n_checks; i++)
        start(run, &run->helpers[i], &run->last);
}

// No helper begins any more.
static void give_up_rest(run_state *run)
{
    for (size_t i = run->reported; i < run->n_checks; i = next_chosen(run, i + 1))
        if (!run->is_done[i]) {
            run->results[i] = (self_test_result){.has_failed = true, .why = run->last};
            run->is_done[i] = true;
        }
    tell(run);
}

static bool run_all(run_state *run, complaint *why)
{
    run->next = run->reported = next_chosen(run, 0);
    if (!start(run, &run->helpers[0], why))
        return false;
    while (!run->is_known && wait_for_any(run))
        continue;
    if (!run->is_known) {
        *why = run->last;
        return false;
    }
    start_others(run);
    while (wait_for_any(run))
        continue;
    give_up_rest(run);
    return true;
}

bool self_test_run(const command_options *options, const bool *is_chosen,
                   const self_test_listener *listener, complaint *why)
{
    run_state run = {.options = options, .is_chosen = is_chosen, .listener = listener};
    while (self_check_at(run.n_checks) != NULL)
        run.n_checks++;
    run.results = calloc(run.n_checks + 1, sizeof(*run.results));
    run.is_done = calloc(run.n_checks + 1, sizeof(*run.is_done));
    const bool done = (run.results != NULL && run.is_done != NULL) ||
                      complain(why, "no memory for %zu results", run.n_checks);
    const bool ran = done && run_all(&run, why);
    free(run.results);
    free(run.is_done);
    return ran;
}

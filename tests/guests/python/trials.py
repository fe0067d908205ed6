"""Handlers that a test runs in a real runner: one for each thing that the Python SDK promises."""

import os
import random
import socket
import sys
import time

import sandhog


@sandhog.job(kind="echo", max_attempts=3)
def echo(payload, ctx):
    """Gives back what it got, and what it knows of itself."""
    return {"payload": payload, "attempt": ctx.attempt, "kind": ctx.kind, "header": ctx.header("trial")}


@sandhog.job(kind="raw", raw=True)
def raw(payload, ctx):
    return sandhog.Bytes("text/plain", payload.data.upper())


@sandhog.job(kind="fail", max_attempts=2, backoff="fixed 1ms jitter 0")
def fail(payload, ctx):
    print("on standard output")
    raise ValueError(f"cannot read {payload!r}")


@sandhog.job(kind="fatal")
def fatal(payload, ctx):
    raise sandhog.Permanent("no such account", code="no-account", details={"account": 17})


@sandhog.job(kind="drop")
def drop(payload, ctx):
    raise sandhog.Discard("the order was withdrawn")


@sandhog.job(kind="again", max_attempts=2, backoff="fixed 1ms jitter 0")
def again(payload, ctx):
    """Asks for a wait the first time."""
    if ctx.attempt == 1:
        raise sandhog.RetryAfter(0.001, "the service asks for a moment", code="busy")
    return "done"


@sandhog.job(kind="nap", max_attempts=1)
def nap(payload, ctx):
    """Snoozes once. That is no attempt, so a checkpoint remembers it."""
    if ctx.last_checkpoint() is None:
        ctx.checkpoint({"slept": True})
        raise sandhog.Snooze(0.001)
    return {"attempt": ctx.attempt}


@sandhog.job(kind="steps", max_attempts=2, backoff="fixed 1ms jitter 0")
def steps(payload, ctx):
    """Logs, reports and keeps a checkpoint, and fails the first time."""
    at = ctx.last_checkpoint({"step": 0})["step"]
    ctx.info("beginning", step=at)
    if at == 0:
        ctx.progress(1, 2, "half way")
        ctx.checkpoint({"step": 1})
        raise RuntimeError("half way is not the end")
    return {"resumed": at, "setting": ctx.config("colour", "none")}


@sandhog.job(kind="linger", timeout="5m", max_attempts=1)
def linger(payload, ctx):
    """Says how far it is, and goes on until it is called off."""
    ctx.progress(1, 2, "half way")
    while not ctx.cancelled():
        time.sleep(0.01)


@sandhog.job(kind="parent")
def parent(payload, ctx):
    """Enqueues a job where it may, and says why where it may not."""
    try:
        return {"child": ctx.enqueue("echo", {"from": ctx.job_id}, headers={"trial": "child"})}
    except sandhog.EnqueueError as refused:
        return {"reason": refused.reason, "text": str(refused)}


@sandhog.job(kind="spin", timeout="500ms", max_attempts=1)
def spin(payload, ctx):
    while True:
        pass


@sandhog.job(kind="greedy", max_attempts=1)
def greedy(payload, ctx):
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


@sandhog.job(kind="deep", max_attempts=1)
def deep(payload, ctx):
    return deep(payload, ctx)


@sandhog.job(kind="leave", max_attempts=1)
def leave(payload, ctx):
    sys.exit(3)


@sandhog.job(kind="world")
def world(payload, ctx):
    """What it sees of the world."""
    try:
        socket.socket().connect(("192.0.2.1", 80))
        network = "open"
    except Exception as why:
        network = type(why).__name__
    return {
        "charset": b"\x80".decode("cp1252"),
        "random": random.random(),
        "now": time.time(),
        "environment": dict(os.environ),
        "network": network,
        "scratch": scratch(),
    }


def scratch():
    try:
        with open("/tmp/trial", "w") as file:
            file.write("kept")
        with open("/tmp/trial") as file:
            return file.read()
    except OSError as why:
        return str(why)



Handler = sandhog.export(
    echo, raw, fail, fatal, drop, again, nap, steps, linger, parent, spin, greedy, deep, leave, world
)

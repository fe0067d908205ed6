"""A handler as its author describes it, what a component says of itself, and one attempt."""

import inspect
import json
import os
import re
import sys
import traceback

from .payload import read, write
from .verdict import Error, Permanent, Retryable, milliseconds
from .version import VERSION

# Frames of a traceback that are kept, innermost first. The host keeps 64 details, 16 KiB in all.
_FRAMES = 16
# Frames of this folder are the SDK's own.
_HERE = os.path.dirname(__file__)


class Handler:
    """A function that handles one kind of job. Calling it calls the function: `total(order, ctx)`."""

    def __init__(self, function, raw, about):
        self.function, self.raw, self.about = function, raw, about
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    @property
    def kind(self):
        """The kind of job it handles."""
        return self.about["kind"]

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def job(
    *,
    kind=None,
    timeout=None,
    max_attempts=None,
    trap_attempts=None,
    backoff=None,
    queue=None,
    content_type=None,
    summary=None,
    raw=False,
):
    """Makes a function `(payload, ctx)` the handler of a kind of job.

    kind           the function's name when left out
    timeout        wall time of one attempt: `30s`, or seconds
    max_attempts   attempts in all; trap_attempts: when the attempt traps
    backoff        the wait between attempts: `exponential 1s max 1h`
    queue          the queue of jobs that name none
    content_type   the payload's media type, when the enqueue says none
    summary        one line about it; the first line of the function's docstring when left out
    raw            True: the payload is given as `Bytes`, not read as JSON

    The operator's settings for the kind come before these. What is wrong stops the build."""

    def decorate(function):
        named = kind if kind is not None else function.__name__
        first_line = (inspect.getdoc(function) or "").strip().split("\n")[0]
        about = {
            "kind": _name("kind", named),
            "summary": summary or first_line or None,
            "timeout_ms": None if timeout is None else milliseconds(timeout),
            "max_attempts": _count("max_attempts", max_attempts),
            "trap_attempts": _count("trap_attempts", trap_attempts),
            "backoff": backoff,
            "queue": None if queue is None else _name("queue", queue),
            "content_type": content_type,
        }
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"handler {named!r} is async: handlers are plain functions")
        try:
            inspect.signature(function).bind(None, None)
        except TypeError:
            raise TypeError(f"handler {named!r} must take two arguments, (payload, ctx)") from None
        return Handler(function, raw, {key: value for key, value in about.items() if value is not None})

    return decorate


def _name(what, text):
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_.:-]{1,128}", text):
        told = "a name has 1 to 128 letters, digits, `-`, `_`, `.` or `:`"
        raise ValueError(f"{what} {text!r}: {told}")
    return text


def _count(what, number):
    if number is None or (type(number) is int and 0 < number < 2**32):
        return number
    raise ValueError(f"{what} {number!r}: a whole number from 1 to 4294967295 is needed")


def describe(handlers, grants=""):
    """The JSON of the contract's `describe`, schema 1."""
    return json.dumps({
        "schema": 1,
        "sdk": {"name": "sandhog-python", "version": VERSION},
        "kinds": [handler.about for handler in handlers],
        "requires": {"grants": grants} if grants else {},
    })


def run(handlers, payload, ctx):
    """Runs the handler of the context's kind over `Bytes` and gives back `Bytes`. Whatever is raised
    comes out as an `Error` whose details say where it was raised."""
    try:
        known = {handler.kind: handler for handler in handlers}
        if ctx.kind not in known:
            told = f"this component has no kind `{ctx.kind}`; it has {', '.join(known)}"
            raise Permanent(told, code="unknown-kind")
        handler = known[ctx.kind]
        value = payload if handler.raw else read(payload)
        return write(handler.function(value, ctx), "the result")
    except BaseException as raised:  # SystemExit too: an exit is no result.
        raise _verdict(raised) from raised


def _verdict(raised):
    """What was raised, as an `Error` that says where."""
    if isinstance(raised, Error):
        error = raised
    elif isinstance(raised, SystemExit):
        told = f"the handler ended its process with {raised.code!r} instead of returning a result"
        error = Retryable(told, code="exit")
    else:
        error = Retryable(_told(raised), details={"exception": type(raised).__name__})
    frames = [f for f in traceback.extract_tb(raised.__traceback__) if os.path.dirname(f.filename) != _HERE]
    error.places = [f"{_file(f)}:{f.lineno} in {f.name}" for f in reversed(frames)][:_FRAMES]
    return error


def _told(raised):
    """An exception in one line, with what it was raised from."""
    told, seen = [], set()
    while raised is not None and id(raised) not in seen:
        seen.add(id(raised))
        said = str(raised)
        told.append(f"{type(raised).__name__}: {said}" if said else type(raised).__name__)
        hidden = raised.__suppress_context__
        raised = raised.__cause__ or (None if hidden else raised.__context__)
    return "; from ".join(told)


def _file(frame):
    """A frame's file as its author knows it: without the folders that the build made up."""
    name = frame.filename
    for folder in sys.path:
        if folder and name.startswith(folder.rstrip("/") + "/"):
            return name[len(folder.rstrip("/")) + 1 :]
    return name

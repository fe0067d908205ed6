"""The sandbox side: the contract's exports lead here, and its imports are called from here only."""

import encodings
import importlib
import pkgutil
import sys

from .context import Context
from .handler import Handler, describe, run
from .payload import Bytes
from .verdict import CheckpointError, Discard, EnqueueError, Error, Permanent, RetryAfter, SignError, Snooze

try:  # Made by componentize-py; a native test has none.
    from componentize_py_types import Err
    from wit_world import exports
    from wit_world.imports import config, context, enqueue, log, progress, signing, types
except ImportError:
    exports = None


class Imports:
    """The host, as componentize-py's bindings give it."""

    remaining_ms = staticmethod(lambda: context.remaining_ms())
    cancelled = staticmethod(lambda: context.cancelled())
    config = staticmethod(lambda key: config.get(key))
    log_enabled = staticmethod(lambda level: log.enabled(log.Level[level.upper()]))

    @staticmethod
    def log(level, line, fields):
        log.log(log.Level[level.upper()], line, fields)

    @staticmethod
    def progress(done, total, note):
        progress.report(done, total, note)

    @staticmethod
    def checkpoint(data):
        try:
            context.checkpoint(data)
        except Err as why:
            raise CheckpointError(why.value) from None

    @staticmethod
    def enqueue(kind, payload, headers, options):
        try:
            return enqueue.enqueue(
                enqueue.NewJob(kind, payload.data, payload.content_type, headers, options)
            )
        except Err as why:
            raise EnqueueError(*_case(why.value)) from None

    @staticmethod
    def hmac_sha256(secret, text):
        try:
            return signing.hmac_sha256(secret, text)
        except Err as why:
            raise SignError(*_case(why.value)) from None


def _case(value):
    """`EnqueueError_Denied("no")` as `("denied", "no")`."""
    return type(value).__name__.rsplit("_", 1)[1].lower(), value.value


def _answer(error):
    """An `Error` as the contract's `job-error`."""
    if isinstance(error, Snooze):
        return types.JobError_Snooze(error.wait_ms)
    if isinstance(error, Discard):
        return types.JobError_Discard(error.message)
    details = [*error.details.items(), *(("at", place) for place in error.places)]
    failure = types.Failure(error.code, error.message, details)
    if isinstance(error, RetryAfter):
        return types.JobError_RetryAfter((error.wait_ms, failure))
    if isinstance(error, Permanent):
        return types.JobError_Permanent(failure)
    return types.JobError_Retryable(failure)


def export(*handlers, grants=""):
    """The class that componentize-py looks for, under the name `Handler`, with these handlers.

    `grants` says what they wish to be granted, in the form of a plugin's `NAME.toml`."""
    kinds = [handler.kind if isinstance(handler, Handler) else None for handler in handlers]
    if not kinds or None in kinds:
        raise TypeError("export takes functions with @sandhog.job(..) on them, one at least")
    if len(set(kinds)) < len(kinds):
        raise ValueError(f"two handlers have the same kind: {', '.join(sorted(kinds))}")
    if exports is None:
        return None
    load_encodings()

    class Component(exports.Handler):
        def describe(self, host_info):
            return describe(handlers, grants)

        def handle(self, job):
            # What was drawn or read while the component was built must not be the same for ever.
            if "random" in sys.modules:
                sys.modules["random"].seed()
            try:
                output = run(handlers, Bytes(job.content_type, job.payload), Context(job, Imports))
            except Error as error:
                raise Err(_answer(error)) from None
            return types.Output(output.content_type, output.data)

    return Component


def load_encodings():
    """Loads every character set that Python knows. It loads them when they are used, but once the
    component is built there is nothing left to load from."""
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            importlib.import_module(f"encodings.{module.name}")
        except ImportError:
            pass  # Of another system, or of a module that this Python is built without.

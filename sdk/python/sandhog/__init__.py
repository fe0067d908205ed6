"""Write Sandhog job handlers as plain Python functions.

    import sandhog

    @sandhog.job(kind="total", timeout="10s", max_attempts=5)
    def total(order, ctx):
        '''Adds up an order.'''
        if not order["items"]:
            raise sandhog.Permanent("the order is empty", code="empty-order")
        ctx.info("adding", items=len(order["items"]))
        return {"total": sum(order["items"])}

    Handler = sandhog.export(total)

The payload is JSON, and so is what the function gives back; `Bytes` stands for bytes as they are.
An exception fails the attempt, which is tried again; its text and place are kept in the job's
history. `Permanent`, `RetryAfter`, `Snooze` and `Discard` say something else. What a handler may
ask is in `Context`. All of it runs natively too: `sandhog.testing.FakeContext` is a context for tests.
"""

from .context import Context
from .handler import Handler, describe, job, run
from .host import export
from .payload import JSON, Bytes
from .verdict import CheckpointError, Discard, EnqueueError, Error, Permanent, RetryAfter
from .verdict import Retryable, SignError, Snooze, milliseconds
from .version import VERSION as __version__

__all__ = [
    "JSON", "Bytes", "CheckpointError", "Context", "Discard", "EnqueueError", "Error", "Handler", "Permanent",
    "RetryAfter", "Retryable", "SignError", "Snooze", "describe", "export", "job", "milliseconds", "run",
]

"""One attempt at a job, as its handler sees it."""

import datetime
import json

from .payload import write
from .verdict import milliseconds

LEVELS = ("trace", "debug", "info", "warn", "error")


class Context:
    """One attempt at a job: its facts, and what the handler may ask of the host."""

    def __init__(self, facts, host):
        self._job, self._host = facts, host

    @property
    def job_id(self):
        """The job's id, the same for every attempt."""
        return self._job.id

    @property
    def kind(self):
        """The kind that chose this handler."""
        return self._job.kind

    @property
    def queue(self):
        """The queue the job came through."""
        return self._job.queue

    @property
    def attempt(self):
        """This attempt's number, from 1. Attempts lost with their host do not count."""
        return self._job.attempt

    @property
    def max_attempts(self):
        """How many attempts the job may use."""
        return self._job.max_attempts

    @property
    def is_last_attempt(self):
        """Whether a failure of this attempt is the job's end."""
        return self._job.attempt >= self._job.max_attempts

    @property
    def idempotency_key(self):
        """Stable over all attempts of the job: hand it to services that know such keys."""
        return self._job.idempotency_key

    @property
    def headers(self):
        """All headers in their order, as pairs; keys may repeat."""
        return list(self._job.headers)

    def header(self, key, default=None):
        """The header's value; the first when the key repeats."""
        return next((value for known, value in self._job.headers if known == key), default)

    @property
    def content_type(self):
        """Media type of the payload."""
        return self._job.content_type

    @property
    def enqueued_at(self):
        """When the job was accepted, in UTC."""
        return _instant(self._job.enqueued_at_ms)

    @property
    def deadline(self):
        """When this attempt will be interrupted, in UTC."""
        return _instant(self._job.deadline_ms)

    def remaining(self):
        """Seconds until the attempt is interrupted."""
        return self._host.remaining_ms() / 1_000

    def cancelled(self):
        """True once the attempt should end soon: cancelled, or its deadline is near."""
        return self._host.cancelled()

    def checkpoint(self, state):
        """Keeps a JSON value for the next attempt, or bytes as they are. It is durable when this
        returns. Raises CheckpointError."""
        data = state if isinstance(state, bytes) else write(state, "the checkpoint").data
        self._host.checkpoint(data)

    def last_checkpoint(self, default=None):
        """The JSON value that the last checkpoint of an earlier attempt held."""
        kept = self._job.checkpoint
        return json.loads(kept) if kept else default

    def last_checkpoint_bytes(self):
        """The bytes that the last checkpoint of an earlier attempt held, or None."""
        return self._job.checkpoint

    def progress(self, done, total=None, note=None):
        """Says how far the attempt has come: steps done, of how many when known, and a short note.
        Only the latest report is kept."""
        self._host.progress(done, total, note)

    def log(self, level, line, **fields):
        """Writes a line with fields to the attempt's log. What is too long is cut, what is too much
        is dropped and counted."""
        if level not in LEVELS:
            raise ValueError(f"{level!r} is no level: there are {', '.join(LEVELS)}")
        self._host.log(level, str(line), [(key, str(value)) for key, value in fields.items()])

    def log_enabled(self, level):
        """Whether a line of this level is kept; ask before building a costly one."""
        return self._host.log_enabled(level)

    def trace(self, line, **fields):
        """`log` at level trace."""
        self.log("trace", line, **fields)

    def debug(self, line, **fields):
        """`log` at level debug."""
        self.log("debug", line, **fields)

    def info(self, line, **fields):
        """`log` at level info."""
        self.log("info", line, **fields)

    def warn(self, line, **fields):
        """`log` at level warn."""
        self.log("warn", line, **fields)

    def error(self, line, **fields):
        """`log` at level error."""
        self.log("error", line, **fields)

    def enqueue(
        self,
        kind,
        payload=None,
        *,
        queue=None,
        delay=None,
        priority=None,
        max_attempts=None,
        expires_in=None,
        retry_for=None,
        group=None,
        tags=(),
        in_batch=False,
        unique_key=None,
        unique_for=None,
        unique_while=None,
        idempotency_key=None,
        headers=None,
        options=None,
    ):
        """Adds a job and gives back its id. It is written in one record with this attempt's success;
        an attempt that fails leaves none behind, and one whose key another job has is not added.
        `delay`, `expires_in`, `retry_for` and `unique_for` are durations, `headers` pairs or a dict,
        `options` further ones by their names in the contract. Raises EnqueueError."""
        spans = {"delay-ms": delay, "expires-in-ms": expires_in, "retry-for-ms": retry_for, "unique-for-ms": unique_for}
        given = {
            "queue": queue,
            "priority": priority,
            "max-attempts": max_attempts,
            "group": group,
            "batch": "own" if in_batch else None,
            "unique-key": unique_key,
            "unique-while": unique_while,
            "idempotency-key": idempotency_key,
        }
        given |= {key: None if span is None else milliseconds(span) for key, span in spans.items()}
        written = dict(options or {}) | {key: value for key, value in given.items() if value is not None}
        pairs = headers.items() if isinstance(headers, dict) else headers or []
        return self._host.enqueue(
            kind,
            write(payload, "the new job's payload"),
            [(str(key), str(value)) for key, value in pairs],
            [(key, str(value)) for key, value in written.items()] + [("tag", str(tag)) for tag in tags],
        )

    def config(self, key, default=None):
        """A setting the operator gave this handler."""
        value = self._host.config(key)
        return default if value is None else value

    def hmac_sha256(self, secret, text):
        """HMAC with SHA-256 over bytes: 32 bytes. The host makes it with the operator's secret of that
        name; the handler never holds the key. Raises SignError."""
        return self._host.hmac_sha256(secret, text)


def _instant(ms):
    return datetime.datetime.fromtimestamp(ms / 1_000, datetime.timezone.utc)

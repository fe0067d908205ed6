"""A context for native tests: facts chosen by the test, calls kept for it to look at.

    ctx = FakeContext(attempt=2, headers={"width": "320"})
    assert total({"items": [1, 2]}, ctx) == {"total": 3}
    assert ctx.logs[0].line == "adding"
"""

import json
from dataclasses import dataclass, field

from .context import Context
from .payload import JSON, Bytes
from .verdict import CheckpointError, EnqueueError, SignError


@dataclass
class LogLine:
    """A line the handler logged."""

    level: str
    line: str
    fields: dict


@dataclass
class EnqueuedJob:
    """A job the handler added; `payload` is `Bytes`, `tags` the values of the option `tag`."""

    id: str
    kind: str
    payload: Bytes
    headers: dict
    options: dict
    tags: list

    def json(self):
        """The payload's JSON value."""
        return json.loads(self.payload.data)


@dataclass
class _Job:
    """The facts of an attempt, by their names in the contract."""

    kind: str = "test"
    queue: str = "default"
    attempt: int = 1
    max_attempts: int = 25
    headers: list = field(default_factory=list)
    content_type: str = JSON
    checkpoint: bytes | None = None
    id: str = "01KDVDRC000000000000000000"
    idempotency_key: str = "01KDVDRC000000000000000000"
    enqueued_at_ms: int = 1_767_225_600_000  # 2026-01-01T00:00:00Z
    deadline_ms: int = 0


class FakeContext(Context):
    """A context without a host: a first attempt of 25, with 30 s to go and nothing else.

    `checkpoint` is what an earlier attempt left: a JSON value, or bytes. `signatures` says by the
    secret's name which bytes `hmac_sha256` gives; others are denied. `refuse_jobs` and
    `refuse_checkpoints` are texts with which every new job, or checkpoint, is refused."""

    def __init__(
        self,
        *,
        config=None,
        headers=None,
        checkpoint=None,
        remaining=30.0,
        is_cancelled=False,
        signatures=None,
        refuse_jobs=None,
        refuse_checkpoints=None,
        **facts,
    ):
        pairs = headers.items() if isinstance(headers, dict) else headers or []
        if checkpoint is not None and not isinstance(checkpoint, bytes):
            checkpoint = json.dumps(checkpoint).encode()
        job = _Job(headers=list(pairs), checkpoint=checkpoint, **facts)
        job.deadline_ms = job.deadline_ms or job.enqueued_at_ms + round(remaining * 1_000)
        super().__init__(job, _FakeHost(self))
        self.settings, self.signatures = dict(config or {}), dict(signatures or {})
        self.seconds_left, self.is_cancelled = remaining, is_cancelled
        self.refuse_jobs, self.refuse_checkpoints = refuse_jobs, refuse_checkpoints
        #: What the handler did, each in its order.
        self.logs, self.jobs, self.reports, self.checkpoints, self.signed = [], [], [], [], []


class _FakeHost:
    def __init__(self, fake):
        self._fake = fake

    def remaining_ms(self):
        return round(self._fake.seconds_left * 1_000)

    def cancelled(self):
        return self._fake.is_cancelled

    def config(self, key):
        return self._fake.settings.get(key)

    def log_enabled(self, level):
        return True

    def log(self, level, line, fields):
        self._fake.logs.append(LogLine(level, line, dict(fields)))

    def progress(self, done, total, note):
        self._fake.reports.append((done, total, note))

    def checkpoint(self, data):
        if self._fake.refuse_checkpoints:
            raise CheckpointError(self._fake.refuse_checkpoints)
        self._fake.checkpoints.append(data)

    def enqueue(self, kind, payload, headers, options):
        if self._fake.refuse_jobs:
            raise EnqueueError("denied", self._fake.refuse_jobs)
        said = {key: value for key, value in options if key != "tag"}
        tags = [value for key, value in options if key == "tag"]
        job = EnqueuedJob(f"job-{len(self._fake.jobs) + 1}", kind, payload, dict(headers), said, tags)
        self._fake.jobs.append(job)
        return job.id

    def hmac_sha256(self, secret, text):
        if secret not in self._fake.signatures:
            raise SignError("denied", f"no secret {secret!r} in this fake")
        self._fake.signed.append((secret, text))
        return self._fake.signatures[secret]

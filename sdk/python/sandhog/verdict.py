"""Everything a handler can say but success, and what the host refuses with."""

import datetime
import re

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Error(Exception):
    """A verdict that is no success. Raised as it is, the attempt is tried again after the backoff.

    `code` is a short stable token for rules and metrics, such as `not-an-image`; `details` are keys
    and values for whoever reads the job's history."""

    def __init__(self, message="", *, code="error", details=None):
        super().__init__(message)
        self.message, self.code = str(message), code
        self.details = {key: str(value) for key, value in (details or {}).items()}


class Retryable(Error):
    """A failure that another attempt may mend. So is every other exception."""


class RetryAfter(Error):
    """A failure to be tried again, not before `wait`: seconds, a timedelta, or a text like `90s`."""

    def __init__(self, wait, message="", **more):
        super().__init__(message, **more)
        self.wait_ms = milliseconds(wait)


class Permanent(Error):
    """A failure that no attempt will mend: the job goes to the dead letters at once."""


class Snooze(Error):
    """No failure: run the job again in `wait`, without using an attempt."""

    def __init__(self, wait):
        super().__init__("snoozed")
        self.wait_ms = milliseconds(wait)


class Discard(Error):
    """Drop the job: it neither succeeded nor failed."""


class EnqueueError(Exception):
    """A new job was not taken. `reason` is `invalid`, `quota`, `denied` or `other`."""

    _SAYS = {
        "invalid": "the new job is not valid",
        "quota": "too many new jobs",
        "denied": "the new job is not allowed",
        "other": "the new job was not taken",
    }

    def __init__(self, reason, text):
        super().__init__(f"{self._SAYS[reason]}: {text}")
        self.reason = reason


class SignError(Exception):
    """There is no signature. `reason` is `denied`, `unavailable` or `other`."""

    def __init__(self, reason, text):
        super().__init__(text)
        self.reason = reason


class CheckpointError(Exception):
    """A checkpoint was not kept: too large, or the attempt is no longer the job's owner."""


def milliseconds(wait):
    """Milliseconds of a duration: seconds as a number, a timedelta, or a text such as `1m30s`."""
    if isinstance(wait, datetime.timedelta):
        wait = wait.total_seconds()
    if isinstance(wait, (int, float)) and not isinstance(wait, bool):
        if not 0 < wait < 2**53:
            raise ValueError(f"the duration {wait} is not a number of seconds above 0")
        return max(1, round(wait * 1_000))
    text = str(wait).strip()
    if not re.fullmatch(r"([0-9]+(ms|s|m|h|d))+", text):
        told = "write whole numbers with `ms`, `s`, `m`, `h` or `d`, such as `1m30s`"
        raise ValueError(f"`{text}` is no duration: {told}")
    total = sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"([0-9]+)([a-z]+)", text))
    if total == 0:
        raise ValueError(f"the duration `{text}` is zero")
    return total

"""What goes into a handler and what comes out: JSON, or bytes as they are."""

import json
from dataclasses import dataclass

from .verdict import Permanent

JSON = "application/json"


@dataclass
class Bytes:
    """Bytes as they are, with their media type: a payload that is not read as JSON, or a result
    that is not written as JSON."""

    content_type: str
    data: bytes


def write(value, what):
    """A value as `Bytes`: `None` is no payload at all, `Bytes` stay as they are, the rest is JSON."""
    if value is None:
        return Bytes("", b"")
    if isinstance(value, Bytes):
        return Bytes(value.content_type, bytes(value.data))
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return Bytes(JSON, text.encode())
    except (TypeError, ValueError, RecursionError) as why:
        hint = "; wrap bytes in sandhog.Bytes(content_type, data)"
        told = f"{what} cannot be written as JSON: {why}"
        raise Permanent(told + hint * isinstance(value, bytes), code="bad-output") from why


def read(payload):
    """A payload as JSON. One that cannot be read will not get better by trying again."""
    if not payload.data:
        return None
    try:
        return json.loads(payload.data)
    except (ValueError, RecursionError) as why:
        details = {"content-type": payload.content_type}
        if isinstance(why, json.JSONDecodeError):
            details |= {"line": why.lineno, "column": why.colno}
        told = f"the payload is not the expected JSON: {why}"
        raise Permanent(told, code="bad-input", details=details) from why

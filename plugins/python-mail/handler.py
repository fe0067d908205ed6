"""Takes e-mails apart: a message goes in as it was received, what it says comes out as JSON."""

import email
import email.policy
from email.utils import getaddresses

import sandhog
from sandhog import Bytes, Permanent

# What it wishes to be granted, for when attached files become jobs: the queues of their kind.
GRANTS = """
[grants]
enqueue = { queues = ["default"] }
"""

# Characters of text that are given back; a result has a limit.
TEXT = 100_000


@sandhog.job(kind="mail", timeout="30s", max_attempts=5, content_type="message/rfc822", raw=True)
def mail(message, ctx):
    """Takes an e-mail apart: who, when, what, and which files came with it.

    The payload is the message as it was received (RFC 5322 with MIME). When the setting `files` names a
    kind, each attached file becomes a job of that kind when the attempt succeeds, with the file's name in
    its header `name` and the message's id in its header `message-id`; that needs a grant to enqueue. With
    the setting `types` (`image/png image/jpeg`) only files of these types do.

    Permanent failures: `empty`, `no-mail` for something without a single header of a message, `bad-mail`
    for one that Python's own parser does not bear."""
    if not message.data.strip():
        raise Permanent("the payload is empty: a message was expected", code="empty")
    parsed = email.message_from_bytes(message.data, policy=email.policy.default)
    if not any(name in parsed for name in ("from", "to", "date", "message-id", "subject")):
        told = "the payload is no e-mail: it has no From, To, Date, Message-ID or Subject"
        raise Permanent(told, code="no-mail", details={"bytes": len(message.data)})
    ctx.info("taking apart", bytes=len(message.data))
    try:
        told = taken_apart(parsed)
        files = [(name_of(file), Bytes(file.get_content_type(), data_of(file))) for file in parsed.iter_attachments()]
    except Exception as why:  # The parser is lenient, but not always: the same message fails it again.
        raise Permanent(f"the message cannot be taken apart: {why!r}", code="bad-mail") from why
    told["files"] = [{"name": name, "type": file.content_type, "bytes": len(file.data)} for name, file in files]
    told["jobs"] = handed_on(files, told["id"], ctx)
    return told


def taken_apart(parsed):
    """What a message says, without its files."""
    body = parsed.get_body(("plain", "html"))
    return {
        "id": first(parsed, "message-id"),
        "subject": first(parsed, "subject"),
        "date": date_of(parsed),
        "from": people(parsed, "from"),
        "to": people(parsed, "to"),
        "cc": people(parsed, "cc"),
        "text": content(body)[:TEXT] if body else "",
        "text_type": body.get_content_type() if body else None,
    }


def handed_on(files, id, ctx):
    """The ids of the jobs that the files became."""
    kind, types = ctx.config("files"), ctx.config("types", "").split()
    jobs = []
    for done, (name, file) in enumerate(files):
        ctx.progress(done, len(files), name)
        if kind and (not types or file.content_type in types):
            jobs.append(ctx.enqueue(kind, file, headers={"name": name, "message-id": id or ""}))
    ctx.progress(len(files), len(files))
    return jobs


def values(parsed, header):
    """A header's values; as they stand in the message where they break the rules."""
    try:
        return parsed.get_all(header, [])
    except Exception:  # IndexError and others, by what is wrong with it.
        return [value for name, value in parsed.raw_items() if name.lower() == header]


def first(parsed, header):
    """A header's text, None when there is none."""
    return next((str(value) for value in values(parsed, header)), None)


def people(parsed, header):
    """Names and addresses of a header."""
    pairs = getaddresses([str(value) for value in values(parsed, header)])
    return [{"name": name, "address": address} for name, address in pairs if address]


def date_of(parsed):
    """When it was sent, as ISO 8601; None when that is not a date."""
    date = getattr(next(iter(values(parsed, "date")), None), "datetime", None)
    return date.isoformat() if date else None


def content(part):
    """A part's text, whatever it says of its character set."""
    try:
        return part.get_content()
    except (LookupError, UnicodeError):
        return data_of(part).decode("utf-8", "replace")


def data_of(part):
    """A part's bytes; a message within the message as it stands."""
    data = part.get_payload(decode=True)
    return part.as_bytes() if data is None else data


def name_of(file):
    """A file's name as the sender gave it, without folders."""
    return (file.get_filename() or "unnamed").replace("\\", "/").rsplit("/", 1)[-1]


Handler = sandhog.export(mail, grants=GRANTS)

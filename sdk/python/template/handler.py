"""Job handlers for Sandhog."""

import sandhog


@sandhog.job(kind="{{name}}", timeout="10s", max_attempts=5)
def greet(guest, ctx):
    """Greets somebody by name."""
    name = str((guest or {}).get("name", "")).strip()
    if not name:
        raise sandhog.Permanent("there is nobody to greet", code="no-name")
    ctx.info(f"greeting {name}")
    return {"text": f"Hello, {name}!"}


Handler = sandhog.export(greet)

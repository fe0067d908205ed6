"""Tests of the SDK without a host: `python3 -m unittest` in this folder."""

import json
import unittest
from datetime import timedelta

import sandhog
from sandhog import Bytes, Permanent, Retryable
from sandhog.testing import FakeContext


@sandhog.job(timeout="1m30s", max_attempts=5, backoff="fixed 1s", queue="slow", content_type="text/csv")
def total(order, ctx):
    """Adds up an order.

    More about it."""
    return {"total": sum(order["items"])}


@sandhog.job(kind="raw", raw=True)
def raw(payload, ctx):
    return Bytes("text/plain", payload.data.upper())


def ran(handler, data, **facts):
    """What a handler makes of bytes, as the host would see it."""
    ctx = FakeContext(kind=handler.kind, **facts)
    return sandhog.run([handler], Bytes(sandhog.JSON, data), ctx)


def raised(handler, data=b"null"):
    """The verdict of a handler that raises."""
    try:
        ran(handler, data)
    except sandhog.Error as error:
        return error
    raise AssertionError("nothing was raised")


def handler_of(function):
    return sandhog.job(kind="it")(function)


class Payloads(unittest.TestCase):
    def test_json_goes_in_and_comes_out(self):
        self.assertEqual(ran(total, b'{"items":[1,2]}'), Bytes(sandhog.JSON, b'{"total":3}'))
        self.assertEqual(total({"items": [4]}, FakeContext()), {"total": 4})

    def test_bytes_stay_as_they_are(self):
        self.assertEqual(ran(raw, b"abc"), Bytes("text/plain", b"ABC"))

    def test_nothing_is_an_empty_payload(self):
        self.assertEqual(ran(handler_of(lambda payload, ctx: payload), b""), Bytes("", b""))

    def test_what_is_no_json_is_permanent_and_says_where(self):
        error = raised(total, b'{"items":\n [1,}')
        self.assertIsInstance(error, Permanent)
        self.assertEqual((error.code, error.details["line"]), ("bad-input", "2"))
        self.assertEqual(raised(total, b"\xff\xfe\xfd").code, "bad-input")
        self.assertEqual(raised(total, b"[" * 100_000).code, "bad-input")

    def test_a_result_that_is_no_json_is_permanent(self):
        for value in (b"bytes", {1, 2}, float("nan")):
            error = raised(handler_of(lambda payload, ctx: value))
            self.assertEqual((type(error), error.code), (Permanent, "bad-output"))


class Verdicts(unittest.TestCase):
    def test_any_exception_is_retryable_with_its_text_and_place(self):
        def fails(payload, ctx):
            try:
                {}["key"]
            except KeyError as why:
                raise OSError("no such thing") from why

        error = raised(handler_of(fails))
        self.assertIs(type(error), Retryable)
        self.assertEqual(error.message, "OSError: no such thing; from KeyError: 'key'")
        self.assertEqual(error.details, {"exception": "OSError"})
        self.assertRegex(error.places[0], r"^test_sandhog\.py:\d+ in fails$")
        self.assertFalse([place for place in error.places if place.startswith("sandhog.py")])

    def test_places_are_innermost_first(self):
        def inner():
            raise Permanent("no", code="no-such", details={"id": 7})

        error = raised(handler_of(lambda payload, ctx: inner()))
        self.assertIsInstance(error, Permanent)
        self.assertEqual((error.code, error.details), ("no-such", {"id": "7"}))
        self.assertIn("in inner", error.places[0])
        self.assertIn("in <lambda>", error.places[1])

    def test_an_exit_is_no_result(self):
        error = raised(handler_of(lambda payload, ctx: exit(3)))
        self.assertEqual((type(error), error.code), (Retryable, "exit"))
        self.assertIn("3", error.message)

    def test_an_unknown_kind_is_permanent(self):
        with self.assertRaises(Permanent) as found:
            sandhog.run([total], Bytes("", b""), FakeContext(kind="other"))
        self.assertEqual(found.exception.code, "unknown-kind")

    def test_waits_are_seconds_timedeltas_or_texts(self):
        for wait in (90, 90.0, timedelta(seconds=90), "90s", "1m30s"):
            self.assertEqual(sandhog.RetryAfter(wait, "later").wait_ms, 90_000)
        self.assertEqual(sandhog.Snooze(0.0001).wait_ms, 1)
        for wait in (0, -1, True, "", "90", "1.5s", "1 s", "0s", float("nan"), float("inf")):
            with self.assertRaises(ValueError, msg=repr(wait)):
                sandhog.Snooze(wait)


class Descriptions(unittest.TestCase):
    def test_a_description_has_what_was_said_and_no_more(self):
        told = json.loads(sandhog.describe([total, raw], 'grants.enqueue = ["x"]'))
        self.assertEqual((told["schema"], told["sdk"]["name"]), (1, "sandhog-python"))
        self.assertEqual(told["requires"], {"grants": 'grants.enqueue = ["x"]'})
        self.assertEqual(
            told["kinds"][0],
            {
                "kind": "total",
                "summary": "Adds up an order.",
                "timeout_ms": 90_000,
                "max_attempts": 5,
                "backoff": "fixed 1s",
                "queue": "slow",
                "content_type": "text/csv",
            },
        )
        self.assertEqual(told["kinds"][1], {"kind": "raw"})

    def test_mistakes_stop_the_build(self):
        for wrong in ({"kind": ""}, {"kind": "a b"}, {"timeout": "soon"}, {"max_attempts": 0}, {"queue": ""}):
            with self.assertRaises(ValueError, msg=str(wrong)):
                sandhog.job(**wrong)(lambda payload, ctx: None)
        with self.assertRaisesRegex(TypeError, "two arguments"):
            sandhog.job(kind="x")(lambda payload: None)

        async def later(payload, ctx):
            pass

        with self.assertRaisesRegex(TypeError, "async"):
            sandhog.job()(later)
        with self.assertRaisesRegex(ValueError, "same kind"):
            sandhog.export(total, total)
        with self.assertRaises(TypeError):
            sandhog.export()
        with self.assertRaises(TypeError):
            sandhog.export(lambda payload, ctx: None)


class Contexts(unittest.TestCase):
    def test_facts_and_calls(self):
        ctx = FakeContext(attempt=25, headers=[("a", "1"), ("a", "2")], config={"key": "value"}, checkpoint={"at": 7})
        self.assertTrue(ctx.is_last_attempt)
        self.assertEqual((ctx.header("a"), ctx.header("b"), ctx.header("b", "x")), ("1", None, "x"))
        self.assertEqual((ctx.config("key"), ctx.config("none", "default")), ("value", "default"))
        self.assertEqual((ctx.last_checkpoint(), ctx.last_checkpoint_bytes()), ({"at": 7}, b'{"at": 7}'))
        self.assertEqual(ctx.enqueued_at.isoformat(), "2026-01-01T00:00:00+00:00")
        self.assertEqual((ctx.deadline - ctx.enqueued_at, ctx.remaining()), (timedelta(seconds=30), 30.0))
        ctx.warn("careful", step=2)
        ctx.progress(1, 2, "half")
        ctx.checkpoint({"at": 8})
        ctx.checkpoint(b"raw")
        self.assertEqual((ctx.logs[0].level, ctx.logs[0].fields), ("warn", {"step": "2"}))
        self.assertEqual((ctx.reports, ctx.checkpoints), ([(1, 2, "half")], [b'{"at":8}', b"raw"]))
        with self.assertRaises(ValueError):
            ctx.log("loud", "no such level")

    def test_a_first_attempt_has_no_checkpoint(self):
        self.assertEqual(FakeContext().last_checkpoint({"at": 0}), {"at": 0})

    def test_new_jobs_carry_their_options_by_the_contracts_names(self):
        ctx = FakeContext()
        id = ctx.enqueue("mail", {"to": "a"}, queue="slow", delay="1m", priority=-3, max_attempts=2, headers={"h": 1})
        job = ctx.jobs[0]
        self.assertEqual((job.id, job.kind, job.json(), job.headers), (id, "mail", {"to": "a"}, {"h": "1"}))
        self.assertEqual(
            job.options, {"queue": "slow", "priority": "-3", "max-attempts": "2", "delay-ms": "60000"}
        )

    def test_new_jobs_say_who_they_share_with_and_what_they_must_not_be_twice(self):
        ctx = FakeContext()
        ctx.enqueue(
            "mail",
            expires_in="1h",
            retry_for="2m",
            group="g",
            tags=["a", "b"],
            in_batch=True,
            unique_key="u",
            unique_for="3s",
            unique_while="running",
            idempotency_key="i",
        )
        job = ctx.jobs[0]
        self.assertEqual(
            job.options,
            {
                "expires-in-ms": "3600000",
                "retry-for-ms": "120000",
                "group": "g",
                "batch": "own",
                "unique-key": "u",
                "unique-for-ms": "3000",
                "unique-while": "running",
                "idempotency-key": "i",
            },
        )
        self.assertEqual(job.tags, ["a", "b"])

    def test_refusals_are_exceptions(self):
        ctx = FakeContext(refuse_jobs="no queue is granted", refuse_checkpoints="too large")
        with self.assertRaises(sandhog.EnqueueError) as found:
            ctx.enqueue("mail")
        self.assertEqual(found.exception.reason, "denied")
        self.assertEqual(str(found.exception), "the new job is not allowed: no queue is granted")
        with self.assertRaisesRegex(sandhog.CheckpointError, "too large"):
            ctx.checkpoint(1)
        with self.assertRaises(sandhog.SignError):
            ctx.hmac_sha256("key", b"text")
        self.assertEqual(FakeContext(signatures={"key": b"sig"}).hmac_sha256("key", b"text"), b"sig")


if __name__ == "__main__":
    unittest.main()

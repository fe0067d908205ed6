"""`python3 -m unittest` in this folder, with the SDK (`sdk/python/sandhog`) beside it."""

import unittest
from email.message import EmailMessage

import sandhog
from handler import mail
from sandhog import Bytes
from sandhog.testing import FakeContext


def message(**headers):
    made = EmailMessage()
    made["From"] = "Ada Lovelace <ada@example.org>"
    made["To"] = "bob@example.org, Carol <carol@example.org>"
    made["Subject"] = "Zahlen für morgen"
    made["Date"] = "Mon, 05 Jan 2026 10:00:00 +0100"
    made["Message-ID"] = "<1@example.org>"
    made.set_content("Grüße\n")
    made.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="a/b\\chart.png")
    made.add_attachment("a,b\n", subtype="csv", filename="t.csv")
    return Bytes("message/rfc822", made.as_bytes())


class Mail(unittest.TestCase):
    def test_a_message_is_taken_apart(self):
        ctx = FakeContext()
        told = mail(message(), ctx)
        self.assertEqual(told["from"], [{"name": "Ada Lovelace", "address": "ada@example.org"}])
        self.assertEqual([one["address"] for one in told["to"]], ["bob@example.org", "carol@example.org"])
        self.assertEqual((told["subject"], told["text"]), ("Zahlen für morgen", "Grüße\n"))
        self.assertEqual(told["date"], "2026-01-05T10:00:00+01:00")
        self.assertEqual(told["files"][0], {"name": "chart.png", "type": "image/png", "bytes": 4})
        self.assertEqual((told["jobs"], ctx.jobs), ([], []))
        self.assertEqual(ctx.reports[-1], (2, 2, None))

    def test_files_become_jobs_when_the_operator_says_so(self):
        ctx = FakeContext(config={"files": "thumbnail", "types": "image/png image/jpeg"})
        told = mail(message(), ctx)
        self.assertEqual(told["jobs"], [ctx.jobs[0].id])
        job = ctx.jobs[0]
        self.assertEqual((job.kind, job.payload), ("thumbnail", Bytes("image/png", b"\x89PNG")))
        self.assertEqual(job.headers, {"name": "chart.png", "message-id": "<1@example.org>"})

    def test_what_is_no_mail_is_permanent(self):
        for data, code in ((b" \n", "empty"), (b"just words", "no-mail")):
            with self.assertRaises(sandhog.Permanent) as raised:
                mail(Bytes("", data), FakeContext())
            self.assertEqual(raised.exception.code, code)

    def test_odd_messages_do_not_fail(self):
        for text in (
            "Subject: x\nContent-Type: text/plain; charset=none-such\n\nhi",
            "From: <\nDate: never\n\n",
            "To: a\nContent-Type: multipart/mixed; boundary=b\n\n--b\n",
            "Subject: =?utf-8?q?broken\n\n",
        ):
            told = mail(Bytes("", text.encode()), FakeContext())
            self.assertIsNone(told["date"])


if __name__ == "__main__":
    unittest.main()

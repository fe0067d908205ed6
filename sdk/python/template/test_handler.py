"""The handler as a plain function: `python3 -m unittest`."""

import unittest

import sandhog
from handler import greet
from sandhog.testing import FakeContext


class Greet(unittest.TestCase):
    def test_somebody_is_greeted(self):
        ctx = FakeContext()
        self.assertEqual(greet({"name": "Ada"}, ctx), {"text": "Hello, Ada!"})
        self.assertEqual(ctx.logs[0].line, "greeting Ada")

    def test_nobody_is_a_permanent_failure(self):
        with self.assertRaises(sandhog.Permanent) as raised:
            greet({"name": " "}, FakeContext())
        self.assertEqual(raised.exception.code, "no-name")


if __name__ == "__main__":
    unittest.main()

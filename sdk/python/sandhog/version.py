"""The SDK's version, as it is told to the host."""

VERSION = "0.1.0"

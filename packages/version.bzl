"""The version of Qanat: of every part, and of the assembled distribution."""

VERSION = "0.1.0"

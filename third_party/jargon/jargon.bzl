"""jargon: the Jargon File out of Debian's package jargon-text."""

load("//tools/debian:debian.bzl", "debian_files")

def jargon(name):
    debian_files(
        name = name,
        advice = "It comes with Debian's package jargon-text. On another machine, name any text in UTF-8 by --data_file.",
        files = {"jargon.txt.gz": "fcaa76e4c2ebdf90c6557524b9430373dc49d1a26462ef30f43c0ace70a25a3a"},
        folder = "/usr/share/doc/jargon-text",
        package = "jargon-text",
        what = "The Jargon File",
    )

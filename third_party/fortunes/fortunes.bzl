"""fortunes: English text out of Debian's package fortunes."""

load("//tools/debian:debian.bzl", "debian_files")

def fortunes(name):
    debian_files(
        name = name,
        advice = "It comes with Debian's package fortunes. On a machine that cannot install it, name any text " +
                 "file by --text.",
        files = {
            "computers": "a86be224d9f733b88eeaf8a46ea0427e05cc69c69edcf5f6db47ddf561ca37fd",
            "definitions": "57be4744c353d931fa2ca95f50215d4b67539f5a527ae628a6441fb4a1258caa",
            "science": "7ab350b142ee6c70c1d8517c5a1b3790c09b190a62859427cad98e6e35a19fcc",
            "wisdom": "9b0bd6b9331a68c9172219784a411c417c055ed69734edc7b4406795b87d4e94",
        },
        folder = "/usr/share/games/fortunes",
        package = "fortunes",
        what = "The collection of fortunes",
    )

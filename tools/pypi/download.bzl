"""Locked wheels from PyPI. Repository rules load this file: editing it fetches everything again."""

def normalize(name):
    """The name of a distribution as a Bazel target is called."""
    return name.lower().replace("-", "_").replace(".", "_")

def parse_lock(text):
    """{normalized name: its requirement line with hashes}."""
    requirements = {}
    for line in text.replace("\\\n", " ").split("\n"):
        line = " ".join([word for word in line.split(" ") if word])
        if not line or line.startswith("#"):
            continue
        if "==" not in line or " --hash=sha256:" not in line:
            fail("a lock line is `name==version --hash=sha256:...`, not: " + line)
        requirements[normalize(line.split("==")[0])] = line
    return requirements

def python_on_path(rctx):
    """Any CPython 3: to run pip and the repository rules' own scripts."""
    python = rctx.which("python3")
    if not python:
        fail("no python3 on PATH")
    return python

def pip_download(rctx, python, requirements, folder):
    """Fetches wheels for `python` into `folder`; pip's configuration says whence, the hashes what."""
    rctx.file("requirements.txt", "\n".join(requirements) + "\n")
    result = rctx.execute(
        [
            python,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--only-binary=:all:",
            "--require-hashes",
            "-r",
            "requirements.txt",
            "-d",
            folder,
        ],
        timeout = 3600,
        environment = {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    if result.return_code != 0:
        fail("pip download failed (exit %d):\n%s%s" % (result.return_code, result.stdout, result.stderr))
    rctx.delete("requirements.txt")
    return {normalize(path.basename.split("-")[0]): path for path in rctx.path(folder).readdir()}

def unpack(rctx, python, wheel, folder):
    """Lays a wheel out as an installer does; returns the names that it requires."""
    script = rctx.path(Label("//tools/pypi:unpack.py"))
    result = rctx.execute([python, script, wheel, folder])
    if result.return_code != 0:
        fail("cannot unpack %s:\n%s" % (wheel.basename, result.stderr))
    return [normalize(name) for name in result.stdout.split("\n") if name]

"""What pip is told before the build is what it then finds in the wheel."""

import pathlib
import zipfile

from tools.pep517 import backend

(WHEEL,) = pathlib.Path(__file__).parents[2].glob("qanat/qanat/*.whl")


def test_the_metadata_is_that_of_the_built_wheel(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / backend.prepare_metadata_for_build_wheel(str(tmp_path))
    told = {str(f.relative_to(tmp_path)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    with zipfile.ZipFile(WHEEL) as archive:
        names = [name for name in archive.namelist() if name.startswith(folder.name)]
        built = {name: archive.read(name) for name in names if not name.endswith("/RECORD")}
    assert f"{folder.name}/METADATA" in built and told == built

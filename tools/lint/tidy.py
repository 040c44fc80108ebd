# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources of src/, several at a time, remembering what passed.

A file is checked again when it, a project header it includes, the configuration or clang-tidy
itself changed; the memory is a folder of stamps in the build tree. Of the tree it needs only the
commands and the generated headers, not that anything was compiled.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def folders_of(command: str) -> list[Path]:
    """Return the folders of `command` that hold the project's headers, in their order."""
    words = [Path(word[2:]) for word in shlex.split(command) if word.startswith("-I")]
    return [folder for folder in words if folder.is_relative_to(ROOT)]


@functools.cache
def quoted_includes(source: Path) -> list[str]:
    """Return what `source` includes in quotes, whatever the preprocessor would leave out."""
    return INCLUDE.findall(source.read_text(encoding="utf-8"))


def files_of(source: Path, folders: list[Path]) -> list[Path]:
    """Return `source` and the project's headers that it includes, also through others."""
    found = {source}
    pending = [source]
    while pending:
        includer = pending.pop()
        for name in quoted_includes(includer):
            places = (folder / name for folder in (includer.parent, *folders))
            header = next((place.resolve() for place in places if place.is_file()), None)
            if header is not None and header not in found:
                found.add(header)
                pending.append(header)
    return sorted(found)


def digest_of(parts: list[bytes]) -> str:
    """One digest over `parts`, in their order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def stamps_of(build: Path) -> dict[Path, Path]:
    """Return the stamp of every source of src/: its name changes with what the check depends on."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    version = subprocess.run(
        ["clang-tidy", "--version"], capture_output=True, text=True, check=True
    ).stdout
    common = [version.encode(), (ROOT / ".clang-tidy").read_bytes()]
    stamps = {}
    for entry in commands:
        source = Path(entry["file"])
        if not source.is_relative_to(ROOT / "src"):
            continue
        files = files_of(source, folders_of(entry["command"]))
        parts = [*common, entry["command"].encode(), *(f.read_bytes() for f in files)]
        stamps[source] = build / "tidy" / digest_of(parts)
    missing = set((ROOT / "src").rglob("*.cpp")) - stamps.keys()
    if missing:
        sys.exit(f"{min(missing)}: {build} compiles it in another or in none; use PYPTX_MERGE=OFF")
    return stamps


def check(source: Path, build: Path) -> tuple[Path, int, str]:
    """Run clang-tidy on one source; its path, exit status and output."""
    command = ["clang-tidy", "-p", str(build), "--quiet", "--warnings-as-errors=*", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return source, done.returncode, done.stdout


def main() -> int:
    """Check what changed; the exit status says whether anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="a build tree with the generated headers")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args()
    build = options.build.resolve()
    stamps = stamps_of(build)
    (build / "tidy").mkdir(exist_ok=True)
    pending = sorted(source for source, stamp in stamps.items() if not stamp.exists())
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for source, status, output in pool.map(lambda s: check(s, build), pending):
            if status == 0:
                stamps[source].touch()
            else:
                failed += 1
                print(output)
    print(f"clang-tidy: {len(stamps)} files, {len(pending)} checked, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources of src/, several at a time, remembering what passed.

A file is checked again when it, a project header it includes, the configuration or clang-tidy
itself changed; the memory is a folder of stamps in the build tree.
"""

import argparse
import concurrent.futures
import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def output_of(command: list[str]) -> str:
    """Run `command` and return what it printed."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read_dependencies(listing: str, build: Path) -> dict[str, list[Path]]:
    """Return the project's own files that each object depends on, from `ninja -t deps`."""
    found: dict[str, list[Path]] = {}
    target = ""
    for line in listing.splitlines():
        if line.startswith(" "):
            path = build / line.strip()
            if path.is_relative_to(ROOT) and ".venv" not in path.parts:
                found[target].append(path)
        elif ": #deps" in line:
            target = line.split(": #deps")[0]
            found[target] = []
    return found


def digest_of(parts: list[bytes]) -> str:
    """One digest over `parts`, in their order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def stamps_of(build: Path) -> dict[Path, Path]:
    """Return the stamp of every source of src/: its name changes with what the check depends on."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    dependencies = read_dependencies(output_of(["ninja", "-C", str(build), "-t", "deps"]), build)
    version = output_of(["clang-tidy", "--version"]).encode()
    common = [version, (ROOT / ".clang-tidy").read_bytes()]
    stamps = {}
    for entry in commands:
        source = Path(entry["file"])
        if not source.is_relative_to(ROOT / "src"):
            continue
        target = str(Path(entry["output"]).relative_to(build))
        if target not in dependencies:
            sys.exit(f"{source}: not built in {build}; clang-tidy needs an up-to-date build")
        files = sorted({source, *dependencies[target]})
        parts = [*common, entry["command"].encode(), *(f.read_bytes() for f in files)]
        stamps[source] = build / "tidy" / digest_of(parts)
    return stamps


def check(source: Path, build: Path) -> tuple[Path, int, str]:
    """Run clang-tidy on one source; its path, exit status and output."""
    command = ["clang-tidy", "-p", str(build), "--quiet", "--warnings-as-errors=*", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return source, done.returncode, done.stdout


def main() -> int:
    """Check what changed; the exit status says whether anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="a build tree made with Ninja, up to date")
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

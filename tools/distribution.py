"""What setup.py adds to setuptools: systems refused by name, compilers of Windows, archives with the same bytes, an SBOM.

    python tools/distribution.py        prints the SBOM (CycloneDX) that a wheel built here would have
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import re
import struct
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

from Cython.Build import cythonize
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

__all__ = ["SHARED", "Build", "Sdist", "Wheel", "headers_of", "refusal", "sbom"]

ROOT = Path(__file__).resolve().parent.parent
SHARED = "ndcore._cyutility"  # Cython's code for memoryviews, once for all extensions: half of what there is to compile
CYTHON = {
    "include_path": ["src"],
    "shared_utility_qualified_name": SHARED,
    "compiler_directives": {
        "auto_pickle": False,  # what holds memory of C refuses to be pickled without Cython's code for it
        "freethreading_compatible": True,
    },
}
# Names of static functions are a sixteenth of a wheel. A build ID names files of debugging information, and there are none.
STRIP = {"linux": ["-s", "-Wl,--build-id=none"], "darwin": ["-Wl,-x"]}
EARLIEST = 315532800  # 1980-01-01, where the dates of zip files begin
# By the kind of compiler: for all files, for the C core, for Cython's code, which calls kernels and is small that way.
# Cython's code raises exceptions of Python, and needs no tables to unwind the stack by: a hundredth of a wheel.
# Visual C++ knows neither `restrict` nor `_Pragma` without /std:c11; /Brepro: no dates in objects.
FLAGS = {
    "unix": (["-std=c11", "-fno-plt", "-fvisibility=hidden", "-Wall", "-Werror=ignored-attributes"], ["-O3"],
             ["-Os", "-fno-asynchronous-unwind-tables"]),
    "msvc": (["/std:c11", "/Brepro"], ["/O2"], ["/O1"]),
    "clang-cl": (["/std:c11", "/Brepro", "-Werror=ignored-attributes"], ["/clang:-O3"], ["/clang:-Os"]),
}


def refusal(pointer: int, byteorder: str, machine: str) -> str | None:
    """Say why ndcore does not run on a system, or return None where it does.

    Parameters
    ----------
    pointer : int
        Bytes of an address.
    byteorder : {"little", "big"}
    machine : str
        The name of the processor, for the message.
    """
    if pointer == 8 and byteorder == "little":
        return None
    return (
        f"ndcore needs a 64-bit little-endian system; this Python is {8 * pointer}-bit and {byteorder}-endian ({machine}). "
        "Install a 64-bit Python for x86-64 or ARM64."
    )


def sbom(ndcore: str, unicode: str, cython: str) -> dict[str, object]:
    """Return the bill of materials of a wheel as CycloneDX 1.5 (PEP 770): what is compiled in beside ndcore's own code.

    Parameters
    ----------
    ndcore, unicode, cython : str
        Versions. No date and no random number: the same sources give the same bytes.
    """
    purl = f"pkg:pypi/ndcore@{ndcore}"

    def part(kind: str, name: str, of: str, license: str, reference: str, text: str) -> dict[str, object]:
        return {"type": kind, "bom-ref": reference, "name": name, "version": of, "description": text,
                "licenses": [{"license": {"id": license}}]}  # fmt: skip

    tables = part("data", "Unicode Character Database", unicode, "Unicode-3.0", f"unicode@{unicode}",
                  "tables of case folding, categories, scripts, grapheme clusters, sentences and NFKC in C")  # fmt: skip
    runtime = part("library", "Cython", cython, "Apache-2.0", f"pkg:pypi/cython@{cython}",
                   "code that Cython writes into the extension modules")  # fmt: skip
    runtime["purl"] = runtime["bom-ref"]
    own = part("library", "ndcore", ndcore, "Apache-2.0", purl, "near-duplicate detection")
    own["purl"] = purl
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": [tables, runtime],
        "dependencies": [{"ref": purl, "dependsOn": [tables["bom-ref"], runtime["bom-ref"]]}],
    }


def sbom_of_this() -> str:
    """Return the SBOM of these sources, built with the Cython that is installed, as JSON without date and serial number."""
    found = {
        path: re.search(pattern, (ROOT / "src/ndcore" / path).read_text("utf-8"))
        for path, pattern in [("_version.py", r'__version__ = "(.+)"'), ("core/unicode_tables.h", r'UNICODE_VERSION "(.+)"')]
    }
    ndcore, unicode = (match[1] if match else "" for match in found.values())
    return json.dumps(sbom(ndcore, unicode, version("cython")), indent=2) + "\n"


def headers_of(sources: list[str], core: Path) -> list[str]:
    """Return the headers of the C core that files include, directly or through others, as .c, .pyx and .pxd name them.

    A changed header then compiles the extensions that read it, and no others.
    """
    headers: set[str] = set()
    pending = [Path(source) for source in sources]
    pending += [path.with_suffix(".pxd") for path in pending if path.with_suffix(".pxd").exists()]
    seen = set(pending)
    while pending:
        text = pending.pop().read_text(encoding="utf-8")
        included = [core / name for name in re.findall(r'(?:#include|extern from) "([\w.]+)"', text)]
        cimported = [core.parent / f"{name}.pxd" for name in re.findall(r"from ndcore\.(\w+) cimport", text)]
        new = {path for path in [*included, *cimported] if path.exists()} - seen
        headers.update(path.as_posix() for path in included if path.exists())
        pending += new
        seen |= new
    return sorted(headers)


class Build(build_ext):
    """Compiles as many extensions at a time as there are CPUs, unless --parallel says otherwise.

    On Windows ``CC=clang-cl`` compiles with clang. Visual C++ cannot enable vector instructions for one function, so each of
    its kernels is the portable one.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.parallel is None:
            self.parallel = True

    def build_extensions(self) -> None:
        why_not = refusal(struct.calcsize("P"), sys.byteorder, platform.machine())
        if why_not:
            raise SystemExit(why_not)
        kind = self.compiler.compiler_type
        if kind == "msvc":
            self.compiler.initialize(self.plat_name)
            if os.environ.get("CC"):
                self.compiler.cc = os.environ["CC"]
                kind = "clang-cl"
        flags, core, glue = FLAGS[kind]
        if kind == "unix" and not os.environ.get("CFLAGS"):
            flags = [*flags, "-g0"]  # Python's flags ask for debugging information: 3/4 of the bytes, 1/4 of the time
        compile_all = self.compiler.compile

        def compile_each(sources: list[str], extra_postargs: list[str], **options: object) -> list[str]:
            compiled: list[str] = []
            for source in sources:
                own = core if "/core/" in source else glue
                compiled += compile_all([source], extra_postargs=[*extra_postargs, *own], **options)
            return compiled

        self.compiler.compile = compile_each
        # Here and not in setup.py, which runs several times for one wheel, and for an sdist too.
        translated = cythonize(list(self.extensions), nthreads=os.cpu_count() or 1, **CYTHON)
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
            extension.extra_compile_args = flags
            extension.extra_link_args = ["/Brepro"] if "/Brepro" in flags else STRIP.get(sys.platform, [])
        super().build_extensions()


class Wheel(bdist_wheel):
    """A wheel with its SBOM in ``.dist-info/sboms``, and with the same bytes from every build of the same sources."""

    def run(self) -> None:
        os.environ.setdefault("SOURCE_DATE_EPOCH", str(EARLIEST))
        super().run()

    def write_wheelfile(self, wheelfile_base: str, *arguments: str) -> None:
        """Write the last file of ``.dist-info``, and beside it the SBOM; then set modes that no umask has changed."""
        super().write_wheelfile(wheelfile_base, *arguments)
        bill = Path(wheelfile_base, "sboms", "ndcore.cdx.json")
        bill.parent.mkdir(exist_ok=True)
        bill.write_text(sbom_of_this(), encoding="utf-8", newline="\n")
        for path in Path(wheelfile_base).parent.rglob("*"):
            path.chmod(0o755 if path.is_dir() or path.suffix in {".so", ".pyd"} else 0o644)


class Sdist(sdist):
    """An sdist with the same bytes from every build of the same files: sorted, one date, one owner."""

    def make_archive(self, base_name: str, format: str, root_dir: str | None = None, base_dir: str | None = None,
                     owner: str | None = None, group: str | None = None) -> str:  # fmt: skip
        """Write the .tar.gz that PEP 625 asks for; other formats are refused."""
        if format != "gztar" or base_dir is None:
            raise SystemExit(f"sdists are gztar, not {format!r}: leave out --formats")
        date = int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST))

        def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = date
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            return entry

        name = f"{base_name}.tar.gz"
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        with (
            Path(name).open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=plain)  # in the order of the names
        return name


if __name__ == "__main__":
    sys.stdout.write(sbom_of_this())

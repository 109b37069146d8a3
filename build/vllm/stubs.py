"""Makes PyPI's torch importable without NVIDIA's 2 GB of libraries, for use on CPU alone.

Run by the Python that torch is installed for. For each library that torch is linked with and that is missing, a stub of that
name is compiled into torch's folder. All functions of the stubs return 35, cudaErrorInsufficientDriver, which is what the real
ones say where there is no GPU. Needs gcc and readelf.
"""

import collections
import pathlib
import re
import subprocess
import sysconfig
import tempfile

# Functions whose symbols carry no version are known by these prefixes; what has a version names its library itself.
NVIDIA = re.compile(r"(cu|nccl|nv)[a-zA-Z]*[A-Z_]")


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, capture_output=True, text=True).stdout


def linked(path):
    """The names of the libraries that an object is linked with."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", path))


def owners(path):
    """The library of each version of a symbol that an object asks for."""
    found, library = {}, None
    for line in readelf("-V", path).splitlines():
        if match := re.search(r"File: (\S+)", line):
            library = match[1]
        elif library and (match := re.search(r"Name: (\S+)\s+Flags", line)):
            found[match[1]] = library
    return found


def symbols(path):
    """The (name, version, is defined) of each symbol that an object shows."""
    for line in readelf("--dyn-syms", path).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK"):
            name, _, version = fields[7].partition("@")
            yield name, version.lstrip("@"), fields[6] != "UND"


def installed(library):
    """Whether the system has a library."""
    path = subprocess.run(["gcc", f"-print-file-name={library}"], check=True, capture_output=True, text=True).stdout.strip()
    return path != library


def wanted(objects):
    """For each missing library its {function: versions}."""
    here = {path.name for path in objects}
    missing = sorted({name for path in objects for name in linked(path)} - here)
    functions = {name: collections.defaultdict(set) for name in missing if not installed(name)}
    other = next(name for name in functions if name.startswith("libcudart"))
    defined = {name for path in objects for name, _, is_defined in symbols(path) if is_defined}
    for path in objects:
        library = owners(path)
        for name, version, is_defined in symbols(path):
            if is_defined or name in defined:
                continue
            if version:
                if library.get(version) in functions:
                    functions[library[version]][name].add(version)
            elif NVIDIA.match(name):
                functions[other][name]  # without a version, any library will do
    return functions


def compile_stub(path, functions, work):
    versions = collections.defaultdict(list)
    for name, names in functions.items():
        for version in names:
            versions[version].append(name)
    source, script = work / "stub.c", work / "stub.map"
    source.write_text("".join(f"int {name}() {{ return 35; }}\n" for name in sorted(functions)))
    script.write_text("".join(f"{v} {{ global: {'; '.join(sorted(names))}; }};\n" for v, names in sorted(versions.items())))
    options = [f"-Wl,--version-script={script}"] if versions else []
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-w", "-O1", "-fno-builtin", f"-Wl,-soname,{path.name}", *options, "-o", path, source],
        check=True,
    )


def main():
    folder = pathlib.Path(sysconfig.get_paths()["purelib"], "torch", "lib")
    stubs = wanted(sorted(folder.glob("*.so*")))
    with tempfile.TemporaryDirectory() as work:
        for library, functions in stubs.items():
            compile_stub(folder / library, functions, pathlib.Path(work))


main()

"""Render recipe.yaml for the platforms of conda-forge: what a build would ask for. Needs py-rattler-build.

    pip install py-rattler-build && python packaging/conda/render.py
"""

from pathlib import Path

import rattler_build as rb

COMPILERS = {"linux": ("gcc", "sysroot"), "osx": ("clang", "macosx_deployment_target"), "win": ("vs2022", "vs")}
PYTHONS = ["3.11.* *_cpython", "3.12.* *_cpython", "3.13.* *_cp313", "3.14.* *_cp314"]

recipe = rb.Stage0Recipe.from_file(Path(__file__).with_name("recipe.yaml"))
for target in ("linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64"):
    compiler, stdlib = COMPILERS[target.partition("-")[0]]
    variants = rb.VariantConfig({"python": PYTHONS, "c_compiler": [compiler], "c_stdlib": [stdlib]})
    platform = rb.PlatformConfig(target_platform=target, build_platform="linux-64", host_platform=target)
    for rendered in recipe.render(variants, rb.RenderConfig(platform=platform)):
        found = rendered.recipe
        print(target, found.package.name, found.package.version, rendered.variant["python"], found.requirements.to_dict())

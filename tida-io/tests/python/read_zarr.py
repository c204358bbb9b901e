"""Compares a store that tida wrote with .npy files that it wrote of the same values, by zarr and by xarray."""

import pathlib
import sys
import warnings

import numpy
import xarray
import zarr

folder = pathlib.Path(sys.argv[1])
# What a program that opens the store would be told of it.
warnings.simplefilter("error", UserWarning)


def same(found, wanted, what):
    found, wanted = numpy.asarray(found), numpy.asarray(wanted)
    assert found.dtype == wanted.dtype, f"{what}: {found.dtype}, not {wanted.dtype}"
    assert found.shape == wanted.shape, f"{what}: {found.shape}, not {wanted.shape}"
    assert found.tobytes() == wanted.tobytes(), f"{what}: other bits"


for store in sorted(folder.glob("*.zarr")):
    group = zarr.open_group(store, mode="r")
    assert group.attrs["tida"]["snapshots"] == 3, dict(group.attrs)
    times, steps = numpy.array([0.0, 1.0, 2.0]), numpy.array([0, 2, 4], dtype=numpy.uint64)
    same(group["time"][:], times, "time")
    same(group["step"][:], steps, "step")
    count = 0
    for index, step in enumerate(steps):
        for file in sorted((folder / f"step-{step}").glob("*.npy")):
            wanted = numpy.load(file)
            path = file.stem.replace(".", "/")
            what = f"{store.name}, {path} of step {step}"
            same(group[path][index], wanted, what)
            # Its own file says the same as the root.
            same(zarr.open_array(store / path, mode="r")[index], wanted, what)
            count += 1
    assert count == 21, count

    data = xarray.open_zarr(store)
    assert data["u"].dims == ("time", "y", "x"), data["u"].dims
    assert data["speed"].dims == ("time", "y", "x", "speed_0"), data["speed"].dims
    same(data["time"].values, times, "times of xarray")
    assert data["u"].attrs["units"] == "K", data["u"].attrs
    same(data["y"].values[:2], numpy.array([-0.75, -0.25]), "y")
    same(data["x"].values[:2], numpy.array([0.125, 0.375]), "x")
    for index, step in enumerate(steps):
        wanted = numpy.load(folder / f"step-{step}" / "u.npy")
        same(data["u"].sel(time=times[index]).values, wanted, f"u of xarray at step {step}")
    flow = xarray.open_zarr(store, group="flow")
    same(flow["density"][2].values, numpy.load(folder / "step-4" / "flow.density.npy"), "flow of xarray")
    assert flow["density"].dims == ("time", "y", "x") and "time" in flow.coords
    print(store.name, "ok")

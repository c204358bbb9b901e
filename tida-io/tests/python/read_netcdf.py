"""Compares a series that tida wrote with .npy files that it wrote of the same values, by netCDF4, h5py and xarray."""

import pathlib
import sys

import h5py
import netCDF4
import numpy
import xarray

folder = pathlib.Path(sys.argv[1])


def same(found, wanted, what):
    found, wanted = numpy.asarray(found), numpy.asarray(wanted)
    assert found.dtype == wanted.dtype, f"{what}: {found.dtype}, not {wanted.dtype}"
    assert found.shape == wanted.shape, f"{what}: {found.shape}, not {wanted.shape}"
    assert found.tobytes() == wanted.tobytes(), f"{what}: other bits"


def as_kept(wanted):
    """As NetCDF keeps values that it has no type for."""
    if wanted.dtype == bool:
        return wanted.astype("u1")
    if wanted.dtype.kind == "c":
        return numpy.ascontiguousarray(wanted).view("f4").reshape(wanted.shape + (2,))
    return wanted


series = folder / "series"
count = 0
for index, step in enumerate([0, 2, 4]):
    path = series / f"{step:08}.nc"
    with netCDF4.Dataset(path) as data, h5py.File(path) as raw:
        data.set_auto_mask(False)
        assert data.Conventions == "CF-1.11" and data.title == "a test", data
        same(data["time"][:], numpy.array([index * 1.0]), "time")
        same(data["step"][:], numpy.array([step], dtype="u8"), "step")
        assert data["u"].dimensions == ("time", "y", "x") and data["u"].units == "K", data["u"]
        for file in sorted((folder / f"step-{step}").glob("*.npy")):
            wanted = as_kept(numpy.load(file))
            name = file.stem.replace(".", "/")
            same(data[name][0], wanted, f"{name} of step {step} by netCDF4")
            same(raw[name][0], wanted, f"{name} of step {step} by h5py")
            count += 1
assert count == 21, count

files = [xarray.open_dataset(path) for path in sorted(series.glob("*.nc"))]
data = xarray.concat(files, "time")
same(data["time"].values, numpy.array([0.0, 1.0, 2.0]), "times of xarray")
same(data["y"].values[:2], numpy.array([-0.75, -0.25]), "y")
same(data["x"].values[:2], numpy.array([0.125, 0.375]), "x")
same(data["u"].sel(time=2.0).values, numpy.load(folder / "step-4" / "u.npy"), "u of xarray")
flow = xarray.open_dataset(series / "00000004.nc", group="flow")
same(flow["density"][0].values, numpy.load(folder / "step-4" / "flow.density.npy"), "flow of xarray")

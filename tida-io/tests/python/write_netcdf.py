"""Writes files by netCDF4, h5py and xarray, and .npy files of the same values, for tida to read."""

import pathlib
import sys

import h5py
import netCDF4
import numpy
import xarray

folder = pathlib.Path(sys.argv[1])
random = numpy.random.default_rng(1)

values = {
    "f8": random.standard_normal((3, 11, 70)),
    "f4": random.standard_normal((3, 11, 70)).astype("f4"),
    "i2": random.integers(-1000, 1000, (3, 11, 70), dtype="i2"),
    "vec": random.standard_normal((3, 11, 70, 2)).astype("f4"),
}
for name, value in values.items():
    numpy.save(folder / f"{name}.npy", value[1])
flat = random.standard_normal((11, 70))
numpy.save(folder / "flat.npy", flat)
wave = random.standard_normal((3, 11, 70)) + 1j * random.standard_normal((3, 11, 70))
numpy.save(folder / "c16.npy", wave[1])

with netCDF4.Dataset(folder / "netcdf4.nc", "w") as data:
    for name, count in [("time", None), ("y", 11), ("x", 70), ("two", 2)]:
        data.createDimension(name, count)
    for name, value in values.items():
        axes = ("time", "y", "x", "two")[: value.ndim]
        data.createVariable(name, value.dtype, axes, zlib=True, chunksizes=(1, 4, 32, 2)[: value.ndim])[:] = value
    data.createVariable("c16", "f8", ("time", "y", "x", "two"))[:] = wave.view("f8").reshape(3, 11, 70, 2)
    data.createVariable("flat", "f8", ("y", "x"))[:] = flat

with h5py.File(folder / "h5py.h5", "w") as data:
    for name, value in values.items():
        data.create_dataset(name, data=value, chunks=(1, 4, 32, 2)[: value.ndim], compression="gzip")
    data["flat"] = flat

xarray.Dataset({"f8": (("time", "y", "x"), values["f8"])}).to_netcdf(folder / "xarray.nc")

"""Writes stores by zarr and by xarray, and .npy files of the same values, for tida to read."""

import pathlib
import sys

import numpy
import xarray
import zarr
from zarr.codecs import BytesCodec, ZstdCodec

folder = pathlib.Path(sys.argv[1])
random = numpy.random.default_rng(1)

values = {
    "f8": random.standard_normal((3, 11, 70)),
    "f4": random.standard_normal((3, 11, 70)).astype("f4"),
    "i2": random.integers(-1000, 1000, (3, 11, 70), dtype="i2"),
    "b1": random.integers(0, 2, (3, 11, 70)).astype(bool),
    "c16": random.standard_normal((3, 11, 70)) + 1j * random.standard_normal((3, 11, 70)),
    "vec": random.standard_normal((3, 11, 70, 2)).astype("f4"),
}
group = zarr.open_group(folder / "python.zarr", mode="w", zarr_format=3)
for name, value in values.items():
    numpy.save(folder / f"{name}.npy", value[1])
    chunks = (1, 4, 32) + value.shape[3:]
    shards = (1, 8, 64) + value.shape[3:] if name in ("f4", "vec") else None
    array = group.create_array(name, shape=value.shape, dtype=value.dtype, chunks=chunks, shards=shards)
    array[:] = value
    # A chunk that is not there holds zeros.
array = group.create_array("gaps", shape=(11, 70), dtype="f8", chunks=(4, 32))
array[8:, :] = 3.0

big = zarr.create_array(
    folder / "big.zarr",
    shape=(11, 70),
    dtype="f8",
    chunks=(5, 70),
    serializer=BytesCodec(endian="big"),
    compressors=[ZstdCodec(level=5)],
)
big[:] = values["f8"][1]

data = xarray.Dataset({"f8": (("time", "y", "x"), values["f8"])}, coords={"time": [0.0, 0.5, 1.0]})
data.to_zarr(folder / "xarray.zarr", mode="w", zarr_format=3)
zarr.create_group(folder / "old.zarr", zarr_format=2)

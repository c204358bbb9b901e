"""Looks at the store of a program that was killed: all snapshots that it shows are whole."""

import pathlib
import sys

import numpy
import xarray
import zarr

store = pathlib.Path(sys.argv[1]) / "killed.zarr"
group = zarr.open_group(store, mode="r")
count = group.attrs["tida"]["snapshots"]
k, j, i = numpy.indices(group["u"].shape[1:])
start = (k * 10000 + j * 100 + i).astype("f8")


def check(number, found, a, b, step):
    wanted = start + step * 1e6
    assert found.tobytes() == wanted.tobytes(), f"u of snapshot {number}"
    assert a.tobytes() == (wanted * 0.5).tobytes(), f"pair.a of snapshot {number}"
    assert (b == step + 7).all(), f"pair.b of snapshot {number}"


assert group["u"].shape[0] == group["pair/a"].shape[0] == group["step"].shape[0] == count
for number, step in list(enumerate(group["step"][:]))[-8:]:
    check(number, group["u"][number], group["pair/a"][number], group["pair/b"][number], float(step))
data = xarray.open_zarr(store)
assert data.sizes["time"] == count and (data["time"].values == numpy.arange(count)).all()
# An array that is opened alone may be a snapshot behind, and is whole.
alone = zarr.open_array(store / "u", mode="r")
assert alone.shape[0] in (count - 1, count), (alone.shape, count)
assert alone[-1].tobytes() == (start + (alone.shape[0] - 1) * 1e6).tobytes()
print("ok")

"""Compares a series that tida wrote with .npy files that it wrote of the same values, by VTK."""

import pathlib
import sys
import xml.etree.ElementTree

import numpy
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXML import vtkXMLImageDataReader

folder = pathlib.Path(sys.argv[1])


def read(path):
    reader = vtkXMLImageDataReader()
    failed = []
    reader.AddObserver("ErrorEvent", lambda *_: failed.append(True))
    reader.SetFileName(str(path))
    reader.Update()
    assert not failed and reader.GetErrorCode() == 0, f"VTK cannot read {path}"
    return reader.GetOutput()


def same(data, name, wanted, what):
    array = data.GetArray(name)
    assert array is not None, f"{what}: no array"
    found = vtk_to_numpy(array)
    wanted = numpy.ascontiguousarray(wanted)
    if wanted.dtype.kind == "c":
        wanted = wanted.view(wanted.real.dtype)
    if wanted.dtype == bool:
        wanted = wanted.astype("u1")
    assert found.dtype == wanted.dtype, f"{what}: {found.dtype}, not {wanted.dtype}"
    assert found.tobytes() == wanted.tobytes(), f"{what}: other bits"


root = xml.etree.ElementTree.parse(folder / "series.pvd").getroot()
sets = root.findall("Collection/DataSet")
assert [float(s.get("timestep")) for s in sets] == [0.0, 1.0, 2.0], sets
for data_set, step in zip(sets, [0, 2, 4]):
    image = read(folder / data_set.get("file"))
    assert image.GetDimensions() == (137, 24, 1), image.GetDimensions()
    assert image.GetSpacing()[:2] == (0.25, 0.5) and image.GetOrigin()[:2] == (0.0, -1.0)
    files = sorted((folder / f"step-{step}").glob("*.npy"))
    assert len(files) == 7, files
    for file in files:
        same(image.GetCellData(), file.stem, numpy.load(file), f"{file.stem} of step {step}")

image = read(folder / "points" / "00000000.vti")
assert image.GetDimensions() == (71, 10, 8), image.GetDimensions()
same(image.GetPointData(), "corner", numpy.load(folder / "corner.npy"), "points")
same(image.GetCellData(), "middle", numpy.load(folder / "middle.npy"), "cells")
print("ok")

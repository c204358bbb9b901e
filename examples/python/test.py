"""What the module computes is what NumPy computes, bit for bit."""

import threading

import heat2d
import numpy

random = numpy.random.default_rng(1)
start = random.standard_normal((60, 90))


def by_numpy(u, rate, steps):
    for _ in range(steps):
        wide = numpy.pad(u, 1)
        around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
        u = u + rate * (around - 4.0 * u)
    return u


def same(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()


heat = heat2d.Heat(start, rate=0.1)
same(heat.values(), start)
heat.run(25)
same(heat.values(), by_numpy(start, 0.1, 25))
assert abs(heat.total() - heat.values().sum()) < 1e-9

# Values that do not lie one after the other are read where they are.
same(heat2d.Heat(start.T).values(), numpy.ascontiguousarray(start.T))
same(heat2d.Heat(start[::2, ::-3]).values(), numpy.ascontiguousarray(start[::2, ::-3]))

# Others run meanwhile.
many = [heat2d.Heat(start, rate=0.1) for _ in range(3)]
threads = [threading.Thread(target=one.run, args=(25,)) for one in many]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
[same(one.values(), heat.values()) for one in many]

for wrong, exception in [(start.astype("f4"), TypeError), (start[0], TypeError), (numpy.zeros((0, 5)), ValueError)]:
    try:
        heat2d.Heat(wrong)
    except exception as e:
        assert str(e)
    else:
        raise AssertionError("no exception")
print("ok")

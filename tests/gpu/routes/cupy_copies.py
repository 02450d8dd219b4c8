"""A CuPy program: pinned copies in both directions on the default stream and another, and in a graph."""
from ledger import Ledger, skip

try:
    import cupy
    import cupyx
    import numpy
except ImportError as missing:
    skip(f"CuPy cannot be imported: {missing}")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as refused:
    skip(f"CuPy finds no CUDA device: {refused}")

SIZE = 1 << 20


def main():
    ledger = Ledger("cupy_copies")
    pinned = cupyx.empty_pinned(SIZE, dtype=numpy.uint8)
    pinned[:] = numpy.arange(SIZE).astype(numpy.uint8)
    back = cupyx.zeros_pinned(SIZE, dtype=numpy.uint8)
    device = cupy.empty(SIZE, dtype=cupy.uint8)
    other = cupy.empty(SIZE, dtype=cupy.uint8)
    stream = cupy.cuda.Stream(non_blocking=True)
    for name, array in {"pinned": pinned, "back": back}.items():
        ledger.name(name, array.ctypes.data, SIZE)
    for name, array in {"device": device, "other": other}.items():
        ledger.name(name, array.data.ptr, SIZE)
    ledger.name("stream1", stream.ptr)

    device.set(pinned)
    ledger.copied("device", "pinned", SIZE, "H2D")
    cupy.cuda.get_current_stream().synchronize()
    device[100:5100].set(pinned[200:5200], stream=stream)
    ledger.copied("device+100", "pinned+200", 5000, "H2D", "stream1")
    other.data.copy_from_device_async(device.data, SIZE, stream)
    ledger.copied("other", "device", SIZE, "D2D", "stream1")
    other[:7000].get(stream=stream, out=back[:7000])
    ledger.copied("back", "other", 7000, "D2H", "stream1")
    stream.synchronize()

    stream.begin_capture()
    # CuPy's arrays refuse copies with the host under capture; its runtime calls do not.
    copy = cupy.cuda.runtime.memcpyAsync
    copy(device.data.ptr, pinned[1000:].ctypes.data, 8000, 1, stream.ptr)
    copy(back[16384:].ctypes.data, device.data.ptr, 8000, 2, stream.ptr)
    graph = stream.end_capture()
    for _ in range(3):
        graph.launch(stream=stream)
        ledger.copied("device", "pinned+1000", 8000, "H2D", "stream1", (0, 2))
        ledger.copied("back+16384", "device", 8000, "D2H", "stream1", (1, 2))
    stream.synchronize()

    ledger.result("back", back.tobytes())
    ledger.print()


main()

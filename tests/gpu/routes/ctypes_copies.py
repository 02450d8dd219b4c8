"""A Python program that calls the runtime through ctypes, as vLLM's own wrapper of it does."""
import ctypes

from ledger import Ledger, skip

SIZE = 1 << 16
H2D, D2H = 1, 2

try:
    cuda = ctypes.CDLL("libcudart.so.13")
except OSError as missing:
    skip(f"the runtime cannot be loaded: {missing}")


def check(result, what):
    if result != 0:
        raise SystemExit(f"ctypes_copies: {what}: error {result}")


def made(call, *arguments):
    """What a call writes through its first argument."""
    value = ctypes.c_void_p()
    check(getattr(cuda, call)(ctypes.byref(value), *arguments), call)
    return value.value


def main():
    devices = ctypes.c_int()
    if cuda.cudaGetDeviceCount(ctypes.byref(devices)) != 0 or devices.value == 0:
        skip("no CUDA device on this machine")
    ledger = Ledger("ctypes_copies")
    device = made("cudaMalloc", ctypes.c_size_t(SIZE))
    pinned = made("cudaMallocHost", ctypes.c_size_t(SIZE))
    stream = made("cudaStreamCreate")
    ctypes.memmove(pinned, bytes(i % 251 for i in range(SIZE)), SIZE)
    ledger.name("device", device, SIZE)
    ledger.name("pinned", pinned, SIZE)
    ledger.name("stream1", stream)

    def copy(dst, src, size, kind):
        pointers = [ctypes.c_void_p(p) for p in (dst, src)]
        check(cuda.cudaMemcpyAsync(*pointers, ctypes.c_size_t(size), kind, ctypes.c_void_p(stream)), "copy")

    copy(device + 512, pinned, 6000, H2D)
    ledger.copied("device+512", "pinned", 6000, "H2D", "stream1")
    for i in range(3):
        copy(pinned + 8192, device + 512 + i, 5000 + i, D2H)
        ledger.copied("pinned+8192", f"device+{512 + i}", 5000 + i, "D2H", "stream1")
    check(cuda.cudaStreamSynchronize(ctypes.c_void_p(stream)), "synchronize")

    ledger.result("pinned", ctypes.string_at(pinned, SIZE))
    ledger.print()


main()

"""A stock PyTorch program: pinned copies in both directions, blocking and not, on streams, in a graph."""
from ledger import Ledger, skip

try:
    import torch
except ImportError as missing:
    skip(f"PyTorch cannot be imported: {missing}")
if not torch.cuda.is_available():
    skip("PyTorch finds no CUDA device")

SIZE = 1 << 20


def main():
    ledger = Ledger("torch_copies")
    pinned = torch.arange(SIZE, dtype=torch.int64).to(torch.uint8).pin_memory()
    back = torch.zeros(SIZE, dtype=torch.uint8, pin_memory=True)
    device = torch.empty(SIZE, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(device)
    stream = torch.cuda.Stream()
    for name, tensor in {"pinned": pinned, "back": back, "device": device, "other": other}.items():
        ledger.name(name, tensor.data_ptr(), SIZE)
    ledger.name("stream1", stream.cuda_stream)

    device.copy_(pinned)
    ledger.copied("device", "pinned", SIZE, "H2D")
    device[100:5100].copy_(pinned[200:5200], non_blocking=True)
    ledger.copied("device+100", "pinned+200", 5000, "H2D")
    other.copy_(device)
    ledger.copied("other", "device", SIZE, "D2D")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        back[:7000].copy_(other[:7000], non_blocking=True)
        ledger.copied("back", "other", 7000, "D2H", "stream1")
        other[4096:10096].copy_(pinned[:6000], non_blocking=True)
        ledger.copied("other+4096", "pinned", 6000, "H2D", "stream1")
    stream.synchronize()

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        device[:8000].copy_(pinned[1000:9000], non_blocking=True)
        back[16384:24384].copy_(device[:8000], non_blocking=True)
    with torch.cuda.stream(stream):
        for _ in range(3):
            graph.replay()
            ledger.copied("device", "pinned+1000", 8000, "H2D", "stream1", (0, 2))
            ledger.copied("back+16384", "device", 8000, "D2H", "stream1", (1, 2))
    torch.cuda.synchronize()
    back[32768:].copy_(device[32768:])
    ledger.copied("back+32768", "device+32768", SIZE - 32768, "D2H")

    ledger.result("back", back.numpy().tobytes())
    ledger.print()


main()

#include "engine/runtime/nccl_collectives.h"

#include "engine/runtime/nccl_link.h"

#include <algorithm>

namespace hitproof::engine {
namespace {

class Nccl final : public Collectives {
 public:
  Nccl(Collectives& host, const kernels::ModelKernels& kernels, const device::Stream& stream,
       const NcclOptions& options)
      : host_(host), kernels_(kernels), stream_(stream), scratch_(options.scratch_bytes),
        link_(host, stream, options.gpu, options.timeout) {
    kernels_.zero(stream_.get(), scratch_.data, scratch_.bytes);
  }

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  void all_gather_rows(const float* own, int rows, int cols, float* all) override;
  void reduce_scatter_rows(const float* partial, int rows, int cols, float* own) override;
  void all_reduce(float* data, int n) override;
  void all_gather(const void* mine, size_t bytes_each, void* all) override;
  // On the device and on the host.
  void barrier() override {
    all_reduce(scratch_.floats(), 1);
    host_.barrier();
  }
  void check() override { link_.check(); }
  std::string missing_peer() const override { return host_.missing_peer(); }

 private:
  struct Scratch {
    explicit Scratch(size_t size)
        : bytes(size), data(static_cast<std::byte*>(device::allocate(size))) {}
    ~Scratch() {
      try {
        device::release(data);
      } catch (const device::DeviceError&) {
        // The process ends; the driver takes the memory back.
      }
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    float* floats() const { return reinterpret_cast<float*>(data); }
    size_t bytes;
    std::byte* data;
  };

  void gather(const void* own, void* all, size_t count, nccl::DataType type) {
    link_.enqueue("ncclAllGather", [&](nccl::Comm comm) {
      return link_.library().all_gather(own, all, count, type, comm, stream_.get());
    });
  }
  void reduce_scatter(const float* partial, float* own, size_t count) {
    link_.enqueue("ncclReduceScatter", [&](nccl::Comm comm) {
      return link_.library().reduce_scatter(partial, own, count, nccl::float32, nccl::sum, comm,
                                            stream_.get());
    });
  }
  // By a kernel: a copy call would be a record in the byte ledger of every operation.
  void copy(const float* from, int rows, int cols, float* to) {
    if (rows > 0 && from != to) kernels_.copy_rows(stream_.get(), from, cols, rows, cols, to, cols);
  }
  // Rows of each rank that fit the scratch memory at once.
  int rows_of_piece(int cols) const;

  Collectives& host_;
  const kernels::ModelKernels& kernels_;
  const device::Stream& stream_;
  const Scratch scratch_;
  NcclLink link_; // goes first: the stream is still then
};

int Nccl::rows_of_piece(int cols) const {
  const size_t rows =
      scratch_.bytes / (static_cast<size_t>(size()) * static_cast<size_t>(cols) * sizeof(float));
  if (rows == 0)
    throw CollectiveError("a row of every rank is larger than the scratch memory of the NCCL "
                          "collectives");
  return static_cast<int>(std::min<size_t>(rows, 1u << 30));
}

void Nccl::all_reduce(float* data, int n) {
  if (n <= 0) return;
  link_.enqueue("ncclAllReduce", [&](nccl::Comm comm) {
    return link_.library().all_reduce(data, data, static_cast<size_t>(n), nccl::float32, nccl::sum,
                                      comm, stream_.get());
  });
}

// NCCL takes equal counts of every rank. Uneven ones are padded in the scratch memory, where each
// rank has room for as many rows as the first, which never has fewer than another.
void Nccl::reduce_scatter_rows(const float* partial, int rows, int cols, float* own) {
  if (rows <= 0 || cols <= 0) return;
  const auto width = static_cast<size_t>(cols);
  const auto [first, last] = row_range(rows, rank(), size());
  const int most = row_range(rows, 0, size()).second;
  if (rows % size() == 0) return reduce_scatter(partial, own, static_cast<size_t>(most) * width);
  const int piece_rows = rows_of_piece(cols);
  for (int at = 0; at < most; at += piece_rows) {
    const int n = std::min(piece_rows, most - at);
    const size_t room = static_cast<size_t>(n) * width;
    for (int r = 0; r < size(); ++r) {
      const auto [a, b] = row_range(rows, r, size());
      copy(partial + static_cast<size_t>(a + at) * width, std::clamp(b - a - at, 0, n), cols,
           scratch_.floats() + static_cast<size_t>(r) * room);
    }
    float* place = scratch_.floats() + static_cast<size_t>(rank()) * room;
    reduce_scatter(scratch_.floats(), place, room);
    copy(place, std::clamp(last - first - at, 0, n), cols, own + static_cast<size_t>(at) * width);
  }
}

void Nccl::all_gather_rows(const float* own, int rows, int cols, float* all) {
  if (rows <= 0 || cols <= 0) return;
  const auto width = static_cast<size_t>(cols);
  const auto [first, last] = row_range(rows, rank(), size());
  const int most = row_range(rows, 0, size()).second;
  if (rows % size() == 0) return gather(own, all, static_cast<size_t>(most) * width, nccl::float32);
  const int piece_rows = rows_of_piece(cols);
  for (int at = 0; at < most; at += piece_rows) {
    const int n = std::min(piece_rows, most - at);
    const size_t room = static_cast<size_t>(n) * width;
    float* place = scratch_.floats() + static_cast<size_t>(rank()) * room;
    copy(own + static_cast<size_t>(at) * width, std::clamp(last - first - at, 0, n), cols, place);
    gather(place, scratch_.floats(), room, nccl::float32);
    for (int r = 0; r < size(); ++r) {
      const auto [a, b] = row_range(rows, r, size());
      // The own rows may be in their place already.
      copy(r == rank() ? own + static_cast<size_t>(at) * width
                       : scratch_.floats() + static_cast<size_t>(r) * room,
           std::clamp(b - a - at, 0, n), cols, all + static_cast<size_t>(a + at) * width);
    }
  }
}

void Nccl::all_gather(const void* mine, size_t bytes_each, void* all) {
  if (bytes_each > 0) gather(mine, all, bytes_each, nccl::bytes);
}

} // namespace

std::unique_ptr<Collectives> open_nccl_collectives(Collectives& host,
                                                   const kernels::ModelKernels& kernels,
                                                   const device::Stream& stream,
                                                   const NcclOptions& options) {
  return std::make_unique<Nccl>(host, kernels, stream, options);
}

} // namespace hitproof::engine

#include "tests/model/late_device.h"

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <type_traits>

namespace hitproof::engine::testing {
namespace {

using kernels::ModelKernels;

constexpr size_t arena_bytes = size_t{4} << 30; // of addresses; pages come when they are touched
constexpr size_t border = 4096;                 // allocations end at a page: overruns are noticed

// Addresses are never used twice, so what still points to released memory is found out.
class Arena {
 public:
  Arena() {
    void* p =
        ::mmap(nullptr, arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(p);
  }

  void* allocate(size_t bytes) {
    if (bytes == 0) return nullptr; // as CUDA does
    std::byte* p = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (bytes > arena_bytes - used_) return nullptr;
      p = base_ + used_;
      used_ += (bytes / border + 1) * border;
      live_[p] = bytes;
    }
    open();
    std::memset(p, 0xcb, bytes);
    close();
    return p;
  }
  void release(void* memory) {
    const std::lock_guard lock(mutex_);
    live_.erase(static_cast<const std::byte*>(memory));
  }
  bool owns(const void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto* p = static_cast<const std::byte*>(pointer);
    const auto after = live_.upper_bound(p);
    if (after == live_.begin()) return false;
    const auto& [begin, bytes] = *std::prev(after);
    return p < begin + bytes;
  }

  void open() {
    const std::lock_guard lock(mutex_);
    // Also what other threads have allocated since the first one opened.
    ++open_;
    protect(PROT_READ | PROT_WRITE);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) protect(PROT_NONE);
  }

 private:
  void protect(int access) {
    if (used_ != 0 && ::mprotect(base_, used_, access) != 0)
      throw std::runtime_error("cannot protect the stand-in's memory");
  }

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  size_t used_ = 0;
  int open_ = 0;
  std::map<const std::byte*, size_t> live_;
};

Arena& arena() {
  static Arena a;
  return a;
}

void require_side(const void* pointer) {
  if (pointer != nullptr && !arena().owns(pointer))
    throw std::logic_error("an operation was given memory that is not the device's");
}

void require_host(const void* pointer) {
  if (arena().owns(pointer)) throw std::logic_error("device memory in place of the host's");
}

template <class T> void check(const T& argument) {
  if constexpr (std::is_pointer_v<T>) {
    require_side(argument);
  } else if constexpr (std::is_same_v<T, kernels::MhcSite>) {
    for (const void* p : {argument.fn_packed, argument.base, argument.scale, argument.norm_weight})
      require_side(p);
  } else if constexpr (std::is_same_v<T, kernels::KdaInput>) {
    for (const void* p : {argument.qkv, argument.g, argument.beta})
      require_side(p);
  } else if constexpr (std::is_same_v<T, kernels::TailView>) {
    require_side(argument.data);
  } else if constexpr (std::is_same_v<T, kernels::PagedCache>) {
    require_side(argument.base);
    require_side(argument.blocks);
  }
}

LateStream& stream_of(void* stream) {
  if (stream == nullptr) throw std::logic_error("work on a stream that is not the model's");
  return *static_cast<LateStream*>(stream);
}

template <auto Member, class... A> void late_call(void* stream, A... arguments) {
  (check(arguments), ...);
  stream_of(stream).add([=] { (kernels::cpu_model_kernels().*Member)(nullptr, arguments...); });
}
template <auto Member, class... A> constexpr auto late(void (*ModelKernels::*)(void*, A...)) {
  return &late_call<Member, A...>;
}

const char* bind(int) { return nullptr; }
void* allocate(size_t bytes) { return arena().allocate(bytes); }
void release(void* memory) { arena().release(memory); }
void* allocate_host(size_t bytes) {
  void* p = ::operator new(bytes, std::nothrow);
  if (p != nullptr) std::memset(p, 0xcb, bytes);
  return p;
}
void release_host(void* memory) { ::operator delete(memory); }

void to_device(void* stream, void* to, const void* from, size_t bytes) {
  require_side(to);
  require_host(from);
  stream_of(stream).add([=] { std::memcpy(to, from, bytes); });
}
void to_host(void* stream, void* to, const void* from, size_t bytes) {
  require_host(to);
  require_side(from);
  stream_of(stream).add([=] { std::memcpy(to, from, bytes); });
}
const char* synchronize(void* stream) {
  stream_of(stream).run();
  return nullptr;
}

ModelKernels make_table() {
  ModelKernels t = kernels::cpu_model_kernels();
  t.device = true;
  t.name = "late";
  t.bind = bind;
  t.allocate = allocate;
  t.release = release;
  t.allocate_host = allocate_host;
  t.release_host = release_host;
  t.to_device = to_device;
  t.to_host = to_host;
  t.synchronize = synchronize;
#define LATE(name) t.name = late<&ModelKernels::name>(&ModelKernels::name)
  LATE(copy);
  LATE(zero);
  LATE(gather_rows);
  LATE(copy_rows);
  LATE(best_tokens);
  LATE(count_visible);
  LATE(small_gemm);
  LATE(rms_norm);
  LATE(add_rms_norm);
  LATE(layer_norm);
  LATE(add_rows);
  LATE(mhc_spread);
  LATE(mhc_pre);
  LATE(mhc_post);
  LATE(mhc_post_pre);
  LATE(mhc_mean);
  LATE(kda_conv_silu);
  LATE(kda_conv_state);
  LATE(kda_conv_silu_exact);
  LATE(kda_conv_state_exact);
  LATE(kda_gates);
  LATE(kda_prefill);
  LATE(kda_decode);
  LATE(kda_output_gate);
  LATE(mla_append);
  LATE(mla_load);
  LATE(mla_gather);
  LATE(mla_attend);
  LATE(indexer_append);
  LATE(indexer_queries);
  LATE(indexer_load_keys);
  LATE(indexer_scores);
  LATE(indexer_topk);
  LATE(indexer_select);
  LATE(indexer_expand);
  LATE(moe_route);
  LATE(expert_mlp);
  LATE(moe_grouped);
#undef LATE
  return t;
}

} // namespace

void LateStream::run() {
  if (queue_.empty()) return;
  arena().open();
  for (const std::function<void()>& work : queue_)
    work();
  arena().close();
  queue_.clear();
}

const kernels::ModelKernels& late_device_kernels() {
  static const ModelKernels table = make_table();
  return table;
}

} // namespace hitproof::engine::testing

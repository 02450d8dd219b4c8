// Work that the probe puts on the program's own streams, in order with what the program put there:
// closures, which go through the real cuLaunchHostFunc, past the hooks. On the simulated device
// they read device memory directly; on a real one they only write down what kernels found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace hitproof::probes {

struct Closure {
  static constexpr std::size_t room = 160;
  void (*run)(void* state) noexcept = nullptr;
  Closure* next = nullptr;
  alignas(16) unsigned char state[room];
};

// A closure from the fixed pool; more are made when it is empty, which only announcements see,
// never a hook. Null where memory is short.
Closure* take_closure() noexcept;
// Puts it on the stream. False: the driver refused it, and the closure is back in the pool.
bool enqueue(void* stream, Closure* closure) noexcept;

// Puts a call of `work(state)` on the stream; State is copied.
template <class State>
bool put_on_stream(void* stream, const State& state, void (*work)(State&) noexcept) noexcept {
  struct Packed {
    void (*work)(State&) noexcept;
    State state;
  };
  static_assert(sizeof(Packed) <= Closure::room && std::is_trivially_copyable_v<State>);
  Closure* closure = take_closure();
  if (closure == nullptr) return false;
  new (closure->state) Packed{work, state};
  closure->run = [](void* raw) noexcept {
    Packed& packed = *static_cast<Packed*>(raw);
    packed.work(packed.state);
  };
  return enqueue(stream, closure);
}

// Who does the work on pages: closures that read device memory by its address (simulated device),
// or kernels on the program's own streams.
enum class BackEnd : int { unknown = -1, kernels = 0, closures = 1 };
BackEnd back_end() noexcept;

} // namespace hitproof::probes

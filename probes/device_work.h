// Work that the probe puts on the program's own streams, in order with what the program put there.
// On the simulated device a closure runs on the stream's worker and reads device memory directly.
// It goes through the real cuLaunchHostFunc, past the hooks.
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

// True where the host can read device memory by its address: on the simulated device only.
// Elsewhere page work is left out and counted.
bool device_memory_is_readable() noexcept;

} // namespace hitproof::probes

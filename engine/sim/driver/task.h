// A closure with its state inside, so that a small copy costs no allocation when it is enqueued.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace hitproof::sim {

class Task {
 public:
  static constexpr std::size_t inline_bytes = 104;

  Task() = default;
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, Task>)
      Task(F&& f) { // NOLINT: implicit on purpose, a lambda is a task
    using Fn = std::decay_t<F>;
    if constexpr (sizeof(Fn) <= inline_bytes && alignof(Fn) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<Fn>) {
      new (storage_) Fn(std::forward<F>(f));
      table_ = &inline_table<Fn>;
    } else {
      auto boxed = [held = std::make_unique<Fn>(std::forward<F>(f))] { (*held)(); };
      using Boxed = decltype(boxed);
      new (storage_) Boxed(std::move(boxed));
      table_ = &inline_table<Boxed>;
    }
  }
  Task(Task&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {
    if (table_) table_->move(storage_, other.storage_);
  }
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      table_ = std::exchange(other.table_, nullptr);
      if (table_) table_->move(storage_, other.storage_);
    }
    return *this;
  }
  ~Task() { reset(); }

  void operator()() { table_->run(storage_); }
  explicit operator bool() const { return table_ != nullptr; }
  void reset() {
    if (table_) std::exchange(table_, nullptr)->destroy(storage_);
  }

 private:
  struct Table {
    void (*run)(void*);
    void (*move)(void* to, void* from); // constructs in `to`, destroys in `from`
    void (*destroy)(void*);
  };
  template <class Fn>
  static constexpr Table inline_table{
      [](void* at) { (*static_cast<Fn*>(at))(); },
      [](void* to, void* from) {
        new (to) Fn(std::move(*static_cast<Fn*>(from)));
        static_cast<Fn*>(from)->~Fn();
      },
      [](void* at) { static_cast<Fn*>(at)->~Fn(); },
  };

  alignas(std::max_align_t) unsigned char storage_[inline_bytes];
  const Table* table_ = nullptr;
};

} // namespace hitproof::sim

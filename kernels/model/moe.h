// Router, clamped SwiGLU and grouped experts (docs/model.md 2.6).
//
// Experts may be sharded by width: each rank holds `width` of the intermediate channels and its
// output is a partial sum over ranks. Each row's bits are independent of the other rows: experts are
// added in ascending expert id, whatever the grouping. hidden and width are multiples of 8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hitproof::kernels {

// s = sigmoid(logits); chosen: topk of s + bias (equal: lower id); weight = s of the chosen /
// (their sum + 1e-20) * scaling. ids ascending. logits: [rows][experts] row stride logits_stride;
// bias: [experts]; ids, weights: [rows][topk] contiguous. experts <= 512, topk <= 16.
void moe_route(const float* logits, int64_t logits_stride, const float* bias, int rows, int experts,
               int topk, float scaling, int32_t* ids, float* weights) noexcept;

struct ExpertShape {
  int hidden;
  int width;            // of this rank's shard
  float limit = 10.0f;  // swiglu_limit: gate <= limit, -limit <= up <= limit
};

// One expert packed: gate|up interleaved, then down.
size_t expert_packed_floats(const ExpertShape& shape) noexcept;
// gate, up: [width][hidden] row stride ld_in; down: [hidden][width] row stride ld_down (this rank's
// rows and columns).
void expert_pack(const ExpertShape& shape, const float* gate, const float* up, int64_t ld_in,
                 const float* down, int64_t ld_down, float* packed) noexcept;

// Floats of workspace for expert_mlp and moe_grouped; ints for moe_grouped.
size_t expert_workspace_floats(const ExpertShape& shape) noexcept;
size_t moe_workspace_ints(int rows, int experts, int topk) noexcept;

// y = down(silu(min(gate x, limit)) * clamp(up x, +-limit)); accumulate: y += (dense MLP, shared
// expert). block: KernelProfile::moe_block.
void expert_mlp(const ExpertShape& shape, const float* x, int64_t x_stride, int rows,
                const float* packed, int block, bool accumulate, float* y, int64_t y_stride,
                float* workspace) noexcept;

// y[r] = sum over the row's experts, ascending, of weight * expert(x[r]). packed: experts one after
// another, expert_packed_floats apart. ids, weights as from moe_route. y is overwritten.
void moe_grouped(const ExpertShape& shape, const float* x, int64_t x_stride, int rows,
                 const float* packed, int experts, const int32_t* ids, const float* weights,
                 int topk, int block, float* y, int64_t y_stride, float* workspace,
                 int32_t* int_workspace) noexcept;

}  // namespace hitproof::kernels

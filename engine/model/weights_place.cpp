#include "engine/model/weights.h"

#include <stdexcept>
#include <string>

namespace hitproof::engine {
namespace {

constexpr size_t border = 256; // as the table's allocate

template <class Visit> void each_array(HyperWeights& w, Visit& visit) {
  for (WeightArray* a : {&w.fn, &w.base, &w.scale, &w.norm})
    visit(*a);
}

template <class Visit> void each_array(KdaWeights& w, Visit& visit) {
  for (Projection* p : {&w.in, &w.forget, &w.gate, &w.out})
    visit(p->packed);
  for (WeightArray* a : {&w.conv, &w.a_exp, &w.dt_bias, &w.out_norm})
    visit(*a);
}

template <class Visit> void each_array(DsaWeights& w, Visit& visit) {
  for (Projection* p : {&w.down, &w.query, &w.out, &w.index_query})
    visit(p->packed);
  for (WeightArray* a : {&w.q_norm, &w.kv_norm, &w.key_norm, &w.key_bias, &w.ape})
    visit(*a);
}

template <class Visit> void each_array(FfnWeights& w, Visit& visit) {
  visit(w.router.packed);
  for (WeightArray* a : {&w.mlp, &w.correction, &w.experts})
    visit(*a);
}

template <class Visit> void each_array(RankWeights& w, Visit&& visit) {
  visit(w.embedding);
  visit(w.norm);
  visit(w.lm_head.packed);
  for (LayerWeights& layer : w.layers) {
    each_array(layer.attention_site, visit);
    each_array(layer.ffn_site, visit);
    each_array(layer.kda, visit);
    each_array(layer.dsa, visit);
    each_array(layer.ffn, visit);
  }
  for (WeightArray* a : {&w.mtp.embedding_norm, &w.mtp.hidden_norm, &w.mtp.input_norm,
                         &w.mtp.ffn_norm, &w.mtp.head_norm})
    visit(*a);
  visit(w.mtp.combine.packed);
  each_array(w.mtp.dsa, visit);
  each_array(w.mtp.ffn, visit);
}

size_t room_of(const WeightArray& array) { return (array.bytes() + border - 1) / border * border; }

} // namespace

void place_weights(RankWeights& weights, const kernels::ModelKernels& kernels, void* stream) {
  if (!kernels.device) return;
  size_t bytes = 0;
  each_array(weights, [&](WeightArray& array) { bytes += room_of(array); });
  weights.memory = SideMemory(kernels, SideMemory::Place::side, bytes);
  auto* const base = static_cast<std::byte*>(weights.memory.data());

  std::byte* at = base;
  each_array(weights, [&](WeightArray& array) {
    kernels.to_device(stream, at, array.data(), array.bytes());
    at += room_of(array);
  });
  // Until then the copies read the host's arrays.
  if (const char* error = kernels.synchronize(stream); error != nullptr)
    throw std::runtime_error(std::string(kernels.name) + " kernels: " + error);
  at = base;
  each_array(weights, [&](WeightArray& array) {
    const size_t room = room_of(array);
    array.read_from(reinterpret_cast<const float*>(at));
    at += room;
  });
}

} // namespace hitproof::engine

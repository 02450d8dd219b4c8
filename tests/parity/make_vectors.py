#!/usr/bin/env python3
"""Makes the reference vectors of the parity tests with Transformers' own model.

Pinned: transformers==5.17.0, torch==2.11.0 (CPU, one thread), numpy, safetensors. The weights are not stored: they
come from the same counter-based generator as in engine/model/random_tensor.h, written a second time here.

    python3 -m venv venv && venv/bin/pip install torch==2.11.0 transformers==5.17.0 numpy safetensors
    venv/bin/python tests/parity/make_vectors.py tests/parity/vectors

Files: vectors/stack.safetensors: for each prompt its ids, the hidden states after the final norm and the logits.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers.models.glm5_next.configuration_glm5_next import Glm5NextTextConfig
from transformers.models.glm5_next.modeling_glm5_next import Glm5NextTextModel

import transformers

SEED = 20260915
PROMPT_LENGTHS = [150, 67]

# The dimensions of preset "parity" (engine/model/preset.cpp).
HIDDEN, VOCAB = 32, 256
KDA_HEADS, KDA_DIM, KDA_RANK = 4, 8, 8
MLA_HEADS, MLA_DIM, Q_LORA, LATENT = 4, 16, 16, 8
INDEX_HEADS, INDEX_DIM, INDEX_TOPK, POOL = 16, 16, 32, 4
DENSE, EXPERTS, TOP, WIDTH = 64, 8, 2, 32
LAYERS, DENSE_LAYERS, STREAMS = 45, 3, 4

OUTPUT_GAIN, QUERY_GAIN, NORM_SPREAD, A_LOG_SPREAD, SELF_PENALTY = 0.08, 2.0, 0.1, 0.5, 0.5

F = np.float32
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    """Finaliser of splitmix64 on an array of uint64."""
    x = x ^ (x >> np.uint64(30))
    x = x * np.uint64(0xBF58476D1CE4E5B9)
    x = x ^ (x >> np.uint64(27))
    x = x * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def key_of(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    outer = int(mix(np.array([(SEED + GOLDEN) & MASK], dtype=np.uint64))[0])
    return mix(np.array([outer ^ h], dtype=np.uint64))


def bits(name, n):
    i = np.arange(1, n + 1, dtype=np.uint64)
    return mix(key_of(name) + i * np.uint64(GOLDEN))


def normal(name, shape, deviation):
    b = bits(name, int(np.prod(shape)))
    parts = [(b >> np.uint64(s)) & np.uint64(0xFFFF) for s in (0, 16, 32, 48)]
    total = sum(p.astype(np.int64) for p in parts) - 2 * 65535
    return (total.astype(F) * F(2.6428996e-05) * F(deviation)).reshape(shape)


def uniform(name, shape, low, high):
    u = (bits(name, int(np.prod(shape))) >> np.uint64(40)).astype(F) * F(2.0**-24)
    return (F(low) + (F(high) - F(low)) * u).reshape(shape)


def around_one(name, n):
    return normal(name, (n,), NORM_SPREAD) + F(1)


def inv_sqrt(n):
    return F(1) / np.sqrt(F(n))


def hyper(weights, target, name):
    weights[target + ".fn"] = normal(name + "_fn", (24, STREAMS * HIDDEN), F(0.5) * inv_sqrt(STREAMS * HIDDEN))
    base = np.zeros(24, dtype=F)
    base[:4] = F(-0.45) + F(0.3) * np.arange(4, dtype=F)
    base[[8, 13, 18, 23]] = 3.0
    weights[target + ".base"] = base
    weights[target + ".scale"] = np.ones(3, dtype=F)


def kda(weights, at):
    full = KDA_HEADS * KDA_DIM
    scale = inv_sqrt(HIDDEN)
    for p in ("q_proj", "k_proj", "v_proj"):
        weights[f"{at}{p}.weight"] = normal(f"{at}{p}.weight", (full, HIDDEN), scale)
    weights[at + "b_proj.weight"] = normal(at + "b_proj.weight", (KDA_HEADS, HIDDEN), scale)
    low = inv_sqrt(KDA_RANK)
    for theirs, ours, gain in (("forget_gate.f", "f", F(0.5) * low), ("g", "g", low)):
        weights[f"{at}{theirs}_a_proj.weight"] = normal(f"{at}{ours}_a_proj.weight", (KDA_RANK, HIDDEN), scale)
        weights[f"{at}{theirs}_b_proj.weight"] = normal(f"{at}{ours}_b_proj.weight", (full, KDA_RANK), gain)
    convs = [normal(f"{at}{p}_conv1d.weight", (full, 1, 4), 0.5) for p in "qkv"]
    weights[at + "conv1d.weight"] = np.concatenate(convs, axis=0)
    weights[at + "forget_gate.A_log"] = uniform(at + "A_log", (KDA_HEADS,), -A_LOG_SPREAD, A_LOG_SPREAD)
    weights[at + "forget_gate.dt_bias"] = uniform(at + "dt_bias", (full,), -4.5, -1.5)
    weights[at + "o_norm.weight"] = around_one(at + "o_norm.weight", KDA_DIM)
    weights[at + "o_proj.weight"] = normal(at + "o_proj.weight", (HIDDEN, full), F(OUTPUT_GAIN) / np.sqrt(F(full)))


def dsa(weights, at):
    scale, lora, latent = inv_sqrt(HIDDEN), inv_sqrt(Q_LORA), inv_sqrt(LATENT)
    weights[at + "q_a_proj.weight"] = normal(at + "q_a_proj.weight", (Q_LORA, HIDDEN), scale)
    weights[at + "kv_a_proj_with_mqa.weight"] = normal(at + "kv_a_proj_with_mqa.weight", (LATENT, HIDDEN), scale)
    weights[at + "q_a_layernorm.weight"] = around_one(at + "q_a_layernorm.weight", Q_LORA)
    weights[at + "kv_a_layernorm.weight"] = around_one(at + "kv_a_layernorm.weight", LATENT)
    ix = at + "indexer."
    weights[ix + "wk.weight"] = normal(ix + "wk.weight", (INDEX_DIM, HIDDEN), scale)
    name = ix + "index_kpool_compress_gate"
    weights[name] = normal(name, (INDEX_DIM, HIDDEN), scale)
    weights[ix + "weights_proj.weight"] = normal(ix + "weights_proj.weight", (INDEX_HEADS, HIDDEN), scale)
    weights[ix + "k_norm.weight"] = around_one(ix + "k_norm.weight", INDEX_DIM)
    weights[ix + "k_norm.bias"] = normal(ix + "k_norm.bias", (INDEX_DIM,), NORM_SPREAD)
    weights[ix + "index_kpool_compress_ape"] = normal(ix + "index_kpool_compress_ape", (POOL, INDEX_DIM), 0.5)
    weights[ix + "wq_b.weight"] = normal(ix + "wq_b.weight", (INDEX_HEADS * INDEX_DIM, Q_LORA), lora)
    kv = normal(at + "kv_b_proj.weight", (MLA_HEADS, 2, MLA_DIM, LATENT), latent)
    kv[:, 0] *= F(QUERY_GAIN)
    weights[at + "kv_b_proj.weight"] = kv.reshape(-1, LATENT)
    full = MLA_HEADS * MLA_DIM
    weights[at + "q_b_proj.weight"] = normal(at + "q_b_proj.weight", (full, Q_LORA), F(QUERY_GAIN) * lora)
    weights[at + "o_proj.weight"] = normal(at + "o_proj.weight", (HIDDEN, full), F(OUTPUT_GAIN) / np.sqrt(F(full)))


def mlp(name, width):
    gate = normal(name + "gate_proj.weight", (width, HIDDEN), inv_sqrt(HIDDEN))
    up = normal(name + "up_proj.weight", (width, HIDDEN), inv_sqrt(HIDDEN))
    down = normal(name + "down_proj.weight", (HIDDEN, width), F(OUTPUT_GAIN) / np.sqrt(F(width)))
    return gate, up, down


def ffn(weights, at, dense):
    if dense:
        for part, w in zip(("gate", "up", "down"), mlp(at, DENSE)):
            weights[f"{at}{part}_proj.weight"] = w
        return
    weights[at + "gate.weight"] = normal(at + "gate.weight", (EXPERTS, HIDDEN), inv_sqrt(HIDDEN))
    weights[at + "gate.e_score_correction_bias"] = normal(at + "gate.e_score_correction_bias", (EXPERTS,), 0.05)
    experts = [mlp(f"{at}experts.{e}.", WIDTH) for e in range(EXPERTS)]
    weights[at + "experts.gate_up_proj"] = np.stack([np.concatenate([g, u]) for g, u, _ in experts])
    weights[at + "experts.down_proj"] = np.stack([d for _, _, d in experts])
    for part, w in zip(("gate", "up", "down"), mlp(at + "shared_experts.", WIDTH)):
        weights[f"{at}shared_experts.{part}_proj.weight"] = w


def make_weights():
    weights = {"embed_tokens.weight": normal("embed_tokens.weight", (VOCAB, HIDDEN), 1.0)}
    head = normal("lm_head.weight", (VOCAB, HIDDEN), inv_sqrt(HIDDEN))
    head = head - F(SELF_PENALTY) * inv_sqrt(HIDDEN) * weights["embed_tokens.weight"]
    weights["norm.weight"] = around_one("norm.weight", HIDDEN)
    for i in range(LAYERS):
        layer = f"layers.{i}."
        hyper(weights, layer + "attn_hc", layer + "hc_attn")
        hyper(weights, layer + "ffn_hc", layer + "hc_ffn")
        for norm in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{layer}{norm}.weight"] = around_one(f"{layer}{norm}.weight", HIDDEN)
        (dsa if i % 4 == 3 else kda)(weights, layer + "self_attn.")
        ffn(weights, layer + "mlp.", i < DENSE_LAYERS)
    return weights, head


def make_model(weights):
    config = Glm5NextTextConfig(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=DENSE, moe_intermediate_size=WIDTH,
        num_hidden_layers=LAYERS, num_attention_heads=MLA_HEADS, num_key_value_heads=MLA_HEADS,
        n_routed_experts=EXPERTS, num_experts_per_tok=TOP, kv_lora_rank=LATENT, q_lora_rank=Q_LORA,
        v_head_dim=MLA_DIM, qk_nope_head_dim=MLA_DIM, qk_rope_head_dim=0, pad_token_id=0,
        index_topk=INDEX_TOPK, index_head_dim=INDEX_DIM, index_n_heads=INDEX_HEADS, index_kpool=POOL,
        indexer_types=["full"] * LAYERS, linear_head_dim=KDA_DIM, linear_num_heads=KDA_HEADS,
        max_position_embeddings=1024)
    config._attn_implementation = "eager"
    model = Glm5NextTextModel(config).to(torch.float32).eval()
    state = {k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in weights.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    if missing or unexpected:
        raise SystemExit(f"missing {missing}, unexpected {unexpected}")
    return model


def main():
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "vectors")
    if transformers.__version__ != "5.17.0" or not torch.__version__.startswith("2.11.0"):
        raise SystemExit("pinned: transformers 5.17.0 and torch 2.11.0")
    torch.set_num_threads(1)
    np.seterr(over="ignore")
    weights, head = make_weights()
    model = make_model(weights)
    tensors = {}
    for i, n in enumerate(PROMPT_LENGTHS):
        ids = (bits(f"prompt.{i}", n) % np.uint64(VOCAB)).astype(np.int64)
        ids[ids == 0] = 1  # 0 is the padding id of this configuration
        with torch.no_grad():
            hidden = model(input_ids=torch.from_numpy(ids)[None], use_cache=False).last_hidden_state[0].numpy()
        logits = (hidden.astype(np.float64) @ head.astype(np.float64).T).astype(F)
        tensors[f"prompt.{i}.ids"] = ids.astype(np.int32)
        tensors[f"prompt.{i}.hidden"] = np.ascontiguousarray(hidden, dtype=F)
        tensors[f"prompt.{i}.logits"] = logits
    out.mkdir(parents=True, exist_ok=True)
    save_file(tensors, out / "stack.safetensors", metadata={"seed": str(SEED), "transformers": "5.17.0", "torch": "2.11.0"})


if __name__ == "__main__":
    main()

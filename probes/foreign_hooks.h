// Other libraries that have CUDA calls of their own in the process: preloaded tools, and libraries
// that stand in for CUDA. They see a copy before the probe, or behind it, and may make another one
// of it, so the ledger alone does not prove what moved.
#pragma once

namespace hitproof::probes {

// Counts the call as `path:foreign_hook`, which makes the verdict inconclusive. Where the process
// is recorded, each file is named once, on stderr and as `meta` record `foreign_hook`.
void note_foreign_hook(const char* symbol, const char* path) noexcept;

struct HookState;
// `function` is another library's: calls from its object have passed it.
void remember_tool(HookState& state, const void* function) noexcept;

} // namespace hitproof::probes

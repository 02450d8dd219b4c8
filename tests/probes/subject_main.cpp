#include "tests/probes/subject.h"

namespace subject {

Memory::Memory() {
  void* p = nullptr;
  SUBJECT_OK(cudaMalloc(&p, bytes));
  device = static_cast<char*>(p);
  SUBJECT_OK(cudaMalloc(&p, bytes));
  device2 = static_cast<char*>(p);
  SUBJECT_OK(cudaMallocHost(&p, bytes));
  pinned = static_cast<char*>(p);
  pageable = static_cast<char*>(std::malloc(bytes));
  for (std::size_t i = 0; i < bytes; ++i)
    pinned[i] = static_cast<char>(i * 7 + 1), pageable[i] = static_cast<char>(i);
  SUBJECT_OK(cudaStreamCreate(&stream));
}

Memory::~Memory() {
  SUBJECT_OK(cudaStreamSynchronize(stream));
  SUBJECT_OK(cudaStreamDestroy(stream));
  SUBJECT_OK(cudaFree(device));
  SUBJECT_OK(cudaFree(device2));
  SUBJECT_OK(cudaFreeHost(pinned));
  std::free(pageable);
}

} // namespace subject

int main(int argc, char** argv) {
  using namespace subject;
  if (argc < 2) return 91;
  for (const Scenario* list : {copy_scenarios, lookup_scenarios, graph_scenarios, order_scenarios,
                               page_scenarios, process_scenarios, end_scenarios}) {
    for (; list->name != nullptr; ++list) {
      if (std::strcmp(list->name, argv[1]) == 0) return list->run(argc, argv);
    }
  }
  std::fprintf(stderr, "subject: no scenario %s\n", argv[1]);
  return 91;
}

#define HP_PART "probes/hooks_graph.def"
#define HP_DIRECT direct_graph
#include "probes/wrap.h"

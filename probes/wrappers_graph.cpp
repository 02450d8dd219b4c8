#define HP_PART "probes/hooks_graph.def"
#include "probes/wrap.h"

#define HP_ONLY "probes/hooks_graph.def"
#include "probes/wrap.h"

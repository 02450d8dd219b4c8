#define HP_PART "probes/hooks_memory.def"
#define HP_DIRECT direct_memory
#include "probes/wrap.h"

#define HP_PART "probes/hooks_memory.def"
#include "probes/wrap.h"

#define HP_ONLY "probes/hooks_memory.def"
#include "probes/wrap.h"

#define HP_ONLY "probes/hooks_order.def"
#include "probes/wrap.h"

#define HP_PART "probes/hooks_order.def"
#define HP_DIRECT direct_order
#include "probes/wrap.h"

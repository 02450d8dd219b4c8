#define HP_PART "probes/hooks_order.def"
#include "probes/wrap.h"

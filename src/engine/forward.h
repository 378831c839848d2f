/* forward.h: the transformer, recorded once as a list of ops. */
#ifndef SH_ENGINE_FORWARD_H
#define SH_ENGINE_FORWARD_H

#include "backend/oplist.h"
#include "model/weights.h"

/* Records the pass of a Qwen3 network into an empty list. */
sh_status sh_forward_record(const sh_params *params, sh_oplist *list);

#endif

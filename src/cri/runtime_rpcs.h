// The RPCs of the CRI's RuntimeService by their subjects, without gRPC.
#ifndef PLIMSOLL_CRI_RUNTIME_RPCS_H_
#define PLIMSOLL_CRI_RUNTIME_RPCS_H_

#include "cri/command_rpcs.h"
#include "cri/messages/object_caches.h"
#include "cri/node_info.h"
#include "cri/pod_rpcs.h"
#include "cri/status_rpcs.h"
#include "cri/usage/usage_rpcs.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"

namespace plimsoll::cri {

// `engine` outlives them, and `events` too unless it is null.
struct RuntimeRpcs {
  RuntimeRpcs(runtime::Engine* engine, runtime::EventLog* events, const NodeInfo& info)
      : caches(engine),
        status(info),
        pods(engine, events, info, &caches),
        commands(engine, info.streaming),
        usage(engine, events, &caches) {}

  ObjectCaches caches;
  StatusRpcs status;
  PodRpcs pods;
  CommandRpcs commands;
  UsageRpcs usage;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_RUNTIME_RPCS_H_

// What each RPC of the CRI's RuntimeService does, without gRPC, by the RPCs' subjects.
#ifndef PLIMSOLL_CRI_RUNTIME_HANDLERS_H_
#define PLIMSOLL_CRI_RUNTIME_HANDLERS_H_

#include "cri/command_handlers.h"
#include "cri/node_info.h"
#include "cri/object_caches.h"
#include "cri/pod_handlers.h"
#include "cri/status_handlers.h"
#include "cri/usage_handlers.h"
#include "runtime/engine.h"
#include "runtime/event_log.h"

namespace plimsoll::cri {

// `engine` outlives them, and `events` too unless it is null.
struct RuntimeHandlers {
  RuntimeHandlers(runtime::Engine* engine, runtime::EventLog* events, const NodeInfo& info)
      : caches(engine),
        status(info),
        pods(engine, events, info, &caches),
        commands(engine, info.streaming),
        usage(engine, events, &caches) {}

  ObjectCaches caches;
  StatusHandlers status;
  PodHandlers pods;
  CommandHandlers commands;
  UsageHandlers usage;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_RUNTIME_HANDLERS_H_

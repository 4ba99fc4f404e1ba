// The gRPC services. Each runs its calls through `calls`; all pointers must outlive the service.
#ifndef PLIMSOLL_CRI_SERVICES_H_
#define PLIMSOLL_CRI_SERVICES_H_

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "cri/calls/calls.h"
#include "cri/container_events.h"
#include "cri/image_rpcs.h"
#include "cri/node_info.h"
#include "cri/runtime_rpcs.h"
#include "cri/topology_feed.h"
#include "image/image_service.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"

namespace plimsoll::cri {

// runtime.v1.RuntimeService (runtime_service.cc). `topology`: null if it isn't served.
std::unique_ptr<grpc::Service> NewRuntimeService(Calls* calls, RuntimeRpcs* rpcs,
                                                 ContainerEvents* events, TopologyFeed* topology);

// runtime.v1.ImageService (image_service.cc)
std::unique_ptr<grpc::Service> NewImageService(Calls* calls, ImageRpcs* rpcs);

struct NodeServiceOptions {
  runtime::Engine* engine = nullptr;
  runtime::EventLog* events = nullptr;
  image::ImageService* images = nullptr;
  NodeInfo info;
  UsageRpcs* usage = nullptr;
};

// plimsoll.v1.NodeService (node_service.cc)
std::unique_ptr<grpc::Service> NewNodeService(Calls* calls, NodeServiceOptions options);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_SERVICES_H_

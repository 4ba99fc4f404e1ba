// The mark by which a client of GetDynamicRuntimeConfig says that it only observes the topology.
#ifndef PLIMSOLL_CRI_CALLS_OBSERVER_H_
#define PLIMSOLL_CRI_CALLS_OBSERVER_H_

namespace plimsoll::cri {

// A key of the call's metadata, with any value. A client without it is held to the topology: from
// then on a request outside the node's share for pods is refused, unless the configuration says
// otherwise.
inline constexpr char kObserverMetadata[] = "plimsoll-observer";

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CALLS_OBSERVER_H_

// How a client of GetDynamicRuntimeConfig says that it only looks at the topology.
#ifndef PLIMSOLL_CRI_OBSERVER_H_
#define PLIMSOLL_CRI_OBSERVER_H_

namespace plimsoll::cri {

// Key of the call's metadata, with any value. Whoever takes the topology without it is held to it:
// what it asks for outside of the node's share for pods is refused from then on, unless the
// configuration says otherwise.
inline constexpr char kObserverMetadata[] = "plimsoll-observer";

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_OBSERVER_H_

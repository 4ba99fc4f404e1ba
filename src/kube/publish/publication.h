// One kind of object or part that is published of a node, with its own pace and failures.
#ifndef PLIMSOLL_KUBE_PUBLISH_PUBLICATION_H_
#define PLIMSOLL_KUBE_PUBLISH_PUBLICATION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/steady_time.h"
#include "kube/publish/desired_node.h"
#include "kube/publish/own_node.h"

namespace plimsoll::kube {

// The moment of a call, by both clocks.
struct Moment {
  SteadyTime now;   // for waits
  absl::Time time;  // for texts
};

// Not thread-safe.
class Publication {
 public:
  virtual ~Publication() = default;

  // For messages: "labels and annotations".
  virtual absl::string_view name() const = 0;

  // Writes the differences from the desired node. True: something was written. `node` is known. It
  // is called again whenever something may have changed, so it compares first, without requests
  // where it knows the server's state. UNIMPLEMENTED and FAILED_PRECONDITION: the object can't be
  // this program's for now.
  virtual absl::StatusOr<bool> Publish(const DesiredNode& desired, OwnNode& node,
                                       const Moment& at) = 0;

  // The server's state is to be read again at the next call.
  virtual void Forget() {}
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_PUBLICATION_H_

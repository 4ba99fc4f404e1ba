// Brings changes of a living pod's resources into force (KEP-1287, KEP-2273), again and again until
// they are.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_RESIZE_KEEPER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_RESIZE_KEEPER_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/life/pod_reader.h"
#include "agent/pods/life/pod_stopper.h"
#include "agent/pods/life/retries.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// Used by one thread at a time.
class ResizeKeeper {
 public:
  // Puts a change of the pod's record on the disk.
  using ChangeRecord = absl::FunctionRef<absl::Status(absl::FunctionRef<void(PodRecord&)>)>;
  struct Means {
    const PodHost& host;
    PodReader& reader;  // of this pod, as the stopper
    PodStopper& stopper;
    ChangeRecord change;
  };

  // Makes the calls that are left where the record has resources that are not in force, reads the
  // pod again into `observed`, and takes them off the record once the runtime reports the new ones.
  // `pod` is that of record.Allocated(). A failure is an event and failure(), and retried after a
  // pause, which is returned; one of a runtime that is away is retried soon, without a word.
  absl::Duration Keep(const Means& means, const PodRecord& record, const pod::Manifest& pod,
                      ObservedPod& observed);
  // Another change is asked for: failures of the one before say nothing of it.
  void Forget();
  // The last try's; empty: none failed.
  const std::string& failure() const { return failure_; }

 private:
  static absl::Status Try(const Means& means, const PodRecord& record, const pod::Manifest& pod,
                          ObservedPod& observed);

  Retries retries_;
  std::string failure_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_RESIZE_KEEPER_H_

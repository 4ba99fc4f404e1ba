// The daemon's QoS classes: made at its start, reloaded on demand, and kept in step with the
// machine's disks.
#ifndef PLIMSOLL_DAEMON_QOS_CLASSES_H_
#define PLIMSOLL_DAEMON_QOS_CLASSES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "daemon/class_warnings.h"
#include "daemon/config/config.h"
#include "daemon/held_news.h"
#include "linux/cgroup/cgroup.h"
#include "linux/uevents.h"
#include "qos/container_freezer.h"
#include "qos/registry.h"
#include "runtime/store/store.h"
#include "service/logging.h"

namespace plimsoll::daemon {

// Thread-safe once opened.
class QosClasses {
 public:
  // All arguments outlive it. Errors as those of MakeClasses.
  static absl::StatusOr<std::unique_ptr<QosClasses>> Open(const FsRoot& host, const Config& config,
                                                          linux::CgroupManager* cgroups,
                                                          runtime::Store* store, Log* log);
  QosClasses(const QosClasses&) = delete;
  QosClasses& operator=(const QosClasses&) = delete;

  qos::Registry* registry() { return registry_.get(); }
  // The types that this machine can't have, one sentence each.
  std::vector<std::string> Unavailable() const;

  // Call once the engine exists and its containers hold their classes: logs the warnings that need
  // running containers, and follows the disks from now on.
  void Follow();
  // Stops following the disks. Call before the engine is destroyed.
  void StopFollowing() { devices_.reset(); }
  // Reads the class files again, and logs the result.
  void Reload();

 private:
  QosClasses(linux::CgroupManager* cgroups, runtime::Store* store, Log* log)
      : log_(log), warnings_(log), freezer_(cgroups, store) {}

  absl::Status Make(const FsRoot& host, const Config& config, linux::CgroupManager* cgroups,
                    runtime::Store* store);
  void HearOfDevices();
  void LookAtDevicesAgain();

  Log* const log_;
  ClassWarnings warnings_;
  // Each uses the members above it.
  qos::ContainerFreezer freezer_;
  std::unique_ptr<qos::Registry> registry_;
  HeldNews device_news_;
  std::unique_ptr<linux::UeventWatcher> devices_;  // notifies `device_news_`
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_QOS_CLASSES_H_

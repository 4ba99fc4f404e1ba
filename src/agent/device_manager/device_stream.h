// A plugin's list of devices, for as long as the plugin lives.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_STREAM_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_STREAM_H_

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "agent/device_manager/plugin_answers.h"

namespace plimsoll::agent {

// One ListAndWatch. Holds no thread.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;
  // The stream ends soon. May be called at any time, also after the end.
  virtual void Cancel() = 0;
};

// Runs streams, and waits for their end. Thread-safe.
class DeviceStreams {
 public:
  struct Hooks {
    // Both come from threads of gRPC, which they must not hold up; one at a time for a stream.
    std::function<void(ListedDevices)> on_list;
    std::function<void(const absl::Status&)> on_end;  // the last; OK: the plugin ended it
  };
  // A plugin that sends list after list is read ten times a second at most, and held up otherwise.
  // After EndAll the stream ends at once.
  std::shared_ptr<DeviceStream> Start(std::shared_ptr<grpc::Channel> channel, Hooks hooks);
  // Lets go of streams that are over. Not from a thread of gRPC's: with its last call, a channel
  // joins gRPC's threads (1.51, CallbackAlternativeCQ), and no thread can join itself.
  void Reap();
  // Ends all, and reaps. No hook is called once this has returned. Not from a hook.
  void EndAll();

 private:
  class Reader;

  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<Reader>> running_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Reader>> over_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_STREAM_H_

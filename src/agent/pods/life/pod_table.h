// The workers of all pods, and the threads that step them.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_TABLE_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_TABLE_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/pods/life/pod_worker.h"
#include "agent/pods/records/pod_key.h"
#include "base/steady_time.h"
#include "base/worker_pool.h"

namespace plimsoll::agent {

// Thread-safe. A pod is stepped by one thread at a time: at once after news, and when its worker
// asked for it.
class PodTable {
 public:
  // `on_gone` is called after a pod has left the table, in a thread of the pool.
  PodTable(int max_threads, std::function<void(const PodKey&)> on_gone);
  // Waits for the steps under way.
  ~PodTable();
  PodTable(const PodTable&) = delete;
  PodTable& operator=(const PodTable&) = delete;

  using Worker = std::shared_ptr<PodWorker>;

  // Steps it at once. The key is free.
  void Add(Worker worker);
  // Null without the pod.
  Worker Find(const PodKey& pod) const;
  std::vector<Worker> All() const;

  // There is news of the pod, or of all. An unknown uid is none of the table's.
  void Wake(const std::string& uid);
  void WakeAll();

 private:
  struct Entry {
    Worker worker;
    SteadyTime due;
    bool is_stepping = false;
    bool has_news = false;  // since the present step began
  };

  void Schedule();
  void Step(const std::string& uid, const Worker& worker);
  void Settle(const std::string& uid, const PodWorker::Next& next);

  const std::function<void(const PodKey&)> on_gone_;
  mutable std::mutex mutex_;
  // The standard library's: its waits use the monotonic clock.
  std::condition_variable changed_;
  std::map<std::string, Entry> pods_;  // by uid
  bool is_ending_ = false;
  WorkerPool pool_;
  std::thread scheduler_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_TABLE_H_

// For tests: a runtime's calls, which a test counts, holds up, lets fail or loses.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_CALL_SCRIPT_FOR_TEST_H_
#define PLIMSOLL_AGENT_PODS_LIFE_CALL_SCRIPT_FOR_TEST_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/wait_until_for_test.h"

namespace plimsoll::agent {

// Thread-safe. Methods have their names of the CRI, "StopContainer".
class CallScript {
 public:
  // Calls of the method wait before they do anything, until Release.
  void Hold(const std::string& method) {
    const absl::MutexLock lock(&mutex_);
    methods_[method].is_held = true;
  }
  void Release(const std::string& method) {
    const absl::MutexLock lock(&mutex_);
    methods_[method].is_held = false;
    changed_.SignalAll();
  }
  // Waits until so many calls are held. False: they didn't come.
  bool AwaitHeld(const std::string& method, int count = 1) {
    return WaitUntil([&] {
      const absl::MutexLock lock(&mutex_);
      return methods_[method].waiting >= count;
    });
  }
  // The next call fails and does nothing.
  void Fail(const std::string& method, grpc::StatusCode code, const std::string& why) {
    const absl::MutexLock lock(&mutex_);
    methods_[method].failures.push_back({code, why});
  }
  // The next call is carried out, and its answer is lost.
  void LoseAnswer(const std::string& method) {
    const absl::MutexLock lock(&mutex_);
    ++methods_[method].to_lose;
  }
  // Every held call ends, and so do later ones: the runtime goes.
  void End() {
    const absl::MutexLock lock(&mutex_);
    is_ending_ = true;
    changed_.SignalAll();
  }

  // Calls that began.
  int Count(const std::string& method) {
    const absl::MutexLock lock(&mutex_);
    return methods_[method].count;
  }
  // "StopContainer c1", in their order. Reads are left out.
  std::vector<std::string> Changes() {
    const absl::MutexLock lock(&mutex_);
    return changes_;
  }

  // For the runtime: begins a call, of an object where it changes something.
  grpc::Status Enter(const std::string& method, const grpc::ServerContext* context,
                     const std::string& object = "") {
    const absl::MutexLock lock(&mutex_);
    Method& called = methods_[method];
    ++called.count;
    if (!object.empty()) changes_.push_back(absl::StrCat(method, " ", object));
    ++called.waiting;
    while (called.is_held && !is_ending_ && !context->IsCancelled()) {
      changed_.WaitWithTimeout(&mutex_, absl::Milliseconds(20));
    }
    --called.waiting;
    if (is_ending_) return {grpc::StatusCode::UNAVAILABLE, "the runtime has ended"};
    if (called.failures.empty()) return grpc::Status::OK;
    const Failure failure = called.failures.front();
    called.failures.pop_front();
    return {failure.code, failure.why};
  }
  // The status that the client gets of a call that was carried out.
  grpc::Status Leave(const std::string& method) {
    const absl::MutexLock lock(&mutex_);
    Method& called = methods_[method];
    if (called.to_lose == 0) return grpc::Status::OK;
    --called.to_lose;
    return {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  }

 private:
  struct Failure {
    grpc::StatusCode code;
    std::string why;
  };
  struct Method {
    bool is_held = false;
    int waiting = 0;  // held now
    int count = 0;
    int to_lose = 0;
    std::deque<Failure> failures;
  };

  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::map<std::string, Method> methods_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> changes_ ABSL_GUARDED_BY(mutex_);
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_CALL_SCRIPT_FOR_TEST_H_

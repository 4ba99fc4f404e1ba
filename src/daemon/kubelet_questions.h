// Questions to kubelet's sockets, counted and timed, with a log line for each change in what
// kubelet reports.
#ifndef PLIMSOLL_DAEMON_KUBELET_QUESTIONS_H_
#define PLIMSOLL_DAEMON_KUBELET_QUESTIONS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "cri/facts_source.h"
#include "daemon/telemetry/metrics.h"
#include "kubelet/kubelet.h"
#include "service/logging.h"

namespace plimsoll::daemon {

// Thread-safe. Outlives the services that got its source. The log gets no line for a pod, and at
// most two at once and one a minute, whatever kubelet does; the last state is logged in the end.
class KubeletQuestions {
 public:
  // Pointers outlive it; `clock` is for the log's limit.
  KubeletQuestions(std::unique_ptr<kubelet::Kubelet> kubelet, Log* log, Metrics* metrics,
                   Clock* clock = &Clock::Real())
      : log_(log),
        metrics_(metrics),
        limit_(1.0 / 60, 2, clock),
        reason_limit_(1.0 / 300, 1, clock),
        kubelet_(std::move(kubelet)) {}

  cri::FactsSource Source();
  // See Kubelet::AskGrants. Neither counted nor logged.
  absl::StatusOr<kubelet::Grants> Grants() { return kubelet_->AskGrants(); }

 private:
  enum class Tells { kNotAsked, kAll, kGrantsAlone, kSpecAlone, kNothing };
  using Answer = cri::FactsSource::Answer;
  void OnAnswer(const Answer& answer, absl::Duration took);
  void TellChange(Tells now, const std::string& why);

  Log* const log_;
  Metrics* const metrics_;
  RateLimit limit_;
  RateLimit reason_limit_;
  absl::Mutex mutex_;
  Tells told_ ABSL_GUARDED_BY(mutex_) = Tells::kNotAsked;  // by the last log line
  std::string why_ ABSL_GUARDED_BY(mutex_);                // as told_
  // Last member: its end waits for questions, which use the others.
  const std::unique_ptr<kubelet::Kubelet> kubelet_;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_KUBELET_QUESTIONS_H_

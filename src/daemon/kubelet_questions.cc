#include "daemon/kubelet_questions.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "base/steady_time.h"

namespace plimsoll::daemon {
namespace {

absl::Duration Since(SteadyTime start) {
  return absl::FromChrono(SteadyNow() - start);
}

// The value of the metric's label.
const char* ResultOf(const absl::Status& status) {
  if (status.ok()) return "answered";
  if (absl::IsDeadlineExceeded(status)) return "late";
  return absl::IsResourceExhausted(status) ? "refused" : "untold";
}

}  // namespace

cri::FactsSource KubeletQuestions::Source() {
  return {.ask =
              [this](const runtime::PodIdentity& pod) {
                const SteadyTime start = SteadyNow();
                Answer answer = kubelet_->Ask(pod);
                OnAnswer(answer, Since(start));
                return answer;
              },
          .ask_later =
              [this](const runtime::PodIdentity& pod, std::function<void(Answer)> done) {
                const SteadyTime start = SteadyNow();
                kubelet_->AskLater(pod, [this, start, done = std::move(done)](Answer answer) {
                  OnAnswer(answer, Since(start));
                  done(std::move(answer));
                });
              }};
}

void KubeletQuestions::OnAnswer(const Answer& answer, absl::Duration took) {
  metrics_->ObserveKubelet(ResultOf(answer.status()), took);
  // A question that this daemon didn't ask says nothing of kubelet.
  if (absl::IsResourceExhausted(answer.status())) return;
  if (!answer.ok()) return TellChange(Tells::kNothing, std::string(answer.status().message()));
  const Tells now = !answer->has_spec     ? Tells::kGrantsAlone
                    : !answer->has_grants ? Tells::kSpecAlone
                                          : Tells::kAll;
  TellChange(now, now == Tells::kAll ? "" : absl::StrJoin(answer->missing, "; "));
}

void KubeletQuestions::TellChange(Tells now, const std::string& why) {
  absl::MutexLock lock(&mutex_);
  if (now == told_ && why == why_) return;
  // A reason may be one pod's: another limit, so that it keeps no change of `now` from the log.
  RateLimit& limit = now == told_ ? reason_limit_ : limit_;
  if (!limit.Ask().pass) return;
  const bool told_before = told_ != Tells::kNotAsked;
  told_ = now;
  why_ = why;
  switch (now) {
    case Tells::kNotAsked:
      return;
    case Tells::kAll:
      return log_->Write(LogLevel::kInfo, "kubelet reports pods' resources and devices", {});
    case Tells::kGrantsAlone:
      return log_->Write(LogLevel::kInfo, "kubelet reports pods' devices, and no resources",
                         {{"why", why}});
    case Tells::kSpecAlone:
      return log_->Write(LogLevel::kInfo, "kubelet reports pods' resources, and no devices",
                         {{"why", why}});
    case Tells::kNothing:
      return log_->Write(told_before ? LogLevel::kWarning : LogLevel::kInfo,
                         "kubelet reports nothing of its pods: pictures of pods rest on the CRI",
                         {{"why", why}});
  }
}

}  // namespace plimsoll::daemon

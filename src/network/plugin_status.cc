#include "network/plugin_status.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::network {

PluginStatus::PluginStatus(std::function<absl::Time()> now,
                           std::function<void(const std::string&)> tell)
    : now_(std::move(now)), tell_(std::move(tell)) {}

absl::Status PluginStatus::Of(const std::string& config, const std::function<absl::Status()>& ask) {
  {
    absl::MutexLock lock(&mutex_);
    const bool is_young = config == config_ && now_() - asked_ < kStatusAge;
    if (is_asking_ || is_young) return Verdict();
    is_asking_ = true;
  }
  const absl::Status answer = ask();
  absl::Status verdict;
  std::string news;
  {
    absl::MutexLock lock(&mutex_);
    news = Take(config, answer);
    verdict = Verdict();
  }
  if (!news.empty() && tell_) tell_(news);
  return verdict;
}

std::string PluginStatus::Take(const std::string& config, const absl::Status& answer) {
  const absl::Time now = now_();
  if (config != config_) {
    has_served_ = false;
    failing_since_ = absl::InfiniteFuture();
  }
  is_asking_ = false;
  config_ = config;
  answer_ = answer;
  asked_ = now;
  if (answer.ok()) {
    has_served_ = true;
    failing_since_ = absl::InfiniteFuture();
    return "";
  }
  const bool is_first = failing_since_ == absl::InfiniteFuture();
  if (is_first) failing_since_ = now;
  if (!is_first || !has_served_) return "";
  return absl::StrCat(answer.message(), "; the network counts as ready for ",
                      absl::FormatDuration(kStatusGrace), ", unless that goes on");
}

absl::Status PluginStatus::Verdict() const {
  const bool forgiven = has_served_ && now_() - failing_since_ < kStatusGrace;
  return forgiven ? absl::OkStatus() : answer_;
}

}  // namespace plimsoll::network

#include "nri/plugin_counts.h"

#include <algorithm>

#include "base/text/printable.h"

namespace plimsoll::nri {
namespace {

// A plugin's message may be as long as a message of the protocol.
constexpr size_t kLongestError = 2000;

}  // namespace

RequestCounts& PluginCounts::Took(absl::string_view request, absl::Duration took) {
  const auto found = requests_.find(request);
  RequestCounts& counts =
      found != requests_.end() ? found->second : requests_[std::string(request)];
  ++counts.count;
  counts.total += took;
  counts.longest = std::max(counts.longest, took);
  return counts;
}

void PluginCounts::SetError(absl::string_view text) {
  last_error_ = Printable(text.substr(0, kLongestError));
}

void PluginCounts::Answered(absl::string_view request, absl::Duration took,
                            const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  RequestCounts& counts = Took(request, took);
  strikes_ = 0;
  if (const auto kind = strikes_of_.find(request); kind != strikes_of_.end()) {
    strikes_of_.erase(kind);
  }
  if (status.ok()) return;
  ++counts.errors;
  SetError(status.message());
}

int PluginCounts::Strike(absl::string_view request, absl::Duration took,
                         const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  ++Took(request, took).strikes;
  SetError(status.message());
  return std::max(++strikes_, ++strikes_of_[std::string(request)]);
}

void PluginCounts::Connected() {
  absl::MutexLock lock(&mutex_);
  strikes_ = 0;
  strikes_of_.clear();
}

void PluginCounts::Failed(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  SetError(text);
}

void PluginCounts::Fill(PluginReport* report) const {
  absl::MutexLock lock(&mutex_);
  report->strikes = strikes_;
  for (const auto& [kind, strikes] : strikes_of_) {
    report->strikes = std::max(report->strikes, strikes);
  }
  report->last_error = last_error_;
  report->requests = {requests_.begin(), requests_.end()};
  report->adjusted_containers = changes_.adjusted;
  report->updated_containers = changes_.updated;
  report->evicted_containers = changes_.evicted;
}

}  // namespace plimsoll::nri

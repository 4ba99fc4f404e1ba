#include "daemon/telemetry/telemetry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "daemon/telemetry/counts.h"
#include "daemon/telemetry/status_pages.h"

namespace plimsoll::daemon {

Telemetry::Telemetry(const std::string& version, const FsRoot& host,
                     std::function<std::vector<cri::LaneState>()> lanes, Log* log)
    : log_(log),
      metrics_(version,
               [this] {
                 const runtime::Engine* engine = engine_;
                 return engine == nullptr ? StateCounts() : CountStates(*engine);
               }),
      activity_(log, &metrics_) {
  metrics_.SetLanes([lanes = std::move(lanes)] { return CountLanes(lanes()); });
  metrics_.SetHost(host);
}

Telemetry::~Telemetry() {
  ClosePages();
  LetGoOfEngine();
}

void Telemetry::LetGoOfEngine() {
  if (listener_.has_value()) events_->Unlisten(*listener_);
  listener_.reset();
  health_.reset();
  engine_ = nullptr;
}

void Telemetry::Follow(runtime::EventLog* events) {
  events_ = events;
  listener_ =
      events->Listen([this](const runtime::Event& event, const runtime::EventSubject& subject) {
        activity_.OnEvent(event, subject);
        if (event.type == runtime::EventType::kSandboxRemoved) freed_memory_.Note();
      });
}

absl::Status Telemetry::ServePages(const std::string& address) {
  if (address.empty()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(
      pages_, ServeStatusPages(address,
                               {.metrics = [this] { return metrics_.Text(); },
                                .alive = [this] { return health_->Alive(); },
                                .conditions = [this] { return health_->Conditions(); }},
                               [this](absl::string_view text) {
                                 log_->Write(LogLevel::kWarning, absl::StrCat("metrics: ", text),
                                             {});
                               }));
  return absl::OkStatus();
}

void Telemetry::Recovered(const runtime::Engine* engine) {
  engine_ = engine;
  freed_memory_.Note();  // of what the start needed
}

}  // namespace plimsoll::daemon

#include "daemon/metrics.h"

#include <optional>

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/class_metrics.h"
#include "daemon/http_server.h"

namespace plimsoll::daemon {
namespace {

const prometheus::Histogram::BucketBoundaries& DurationBuckets() {
  static const auto* const kBuckets = new prometheus::Histogram::BucketBoundaries{
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  return *kBuckets;
}

prometheus::MetricFamily GaugeByState(const std::string& name, const std::string& help,
                                      const std::map<std::string, uint64_t>& counts) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  for (const auto& [state, count] : counts) {
    prometheus::ClientMetric metric;
    metric.label.push_back({"state", state});
    metric.gauge.value = static_cast<double>(count);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

std::vector<prometheus::MetricFamily> LaneMetrics(const std::map<std::string, LaneCounts>& lanes) {
  const auto family = [&](const char* name, const char* help, prometheus::MetricType type,
                          const auto& value) {
    prometheus::MetricFamily made;
    made.name = name;
    made.help = help;
    made.type = type;
    for (const auto& [lane, counts] : lanes) {
      prometheus::ClientMetric metric;
      metric.label.push_back({"calls", lane});
      const auto number = static_cast<double>(value(counts));
      (type == prometheus::MetricType::Gauge ? metric.gauge.value : metric.counter.value) = number;
      made.metric.push_back(std::move(metric));
    }
    return made;
  };
  using enum prometheus::MetricType;
  return {family("plimsoll_call_workers", "Threads that calls of a kind may have", Gauge,
                 [](const LaneCounts& lane) { return lane.workers; }),
          family("plimsoll_calls_running", "Calls that have a thread", Gauge,
                 [](const LaneCounts& lane) { return lane.running; }),
          family("plimsoll_calls_waiting", "Calls that wait for a thread", Gauge,
                 [](const LaneCounts& lane) { return lane.waiting; }),
          family("plimsoll_calls_delayed_total",
                 "Calls that came when all threads of their kind were taken", Counter,
                 [](const LaneCounts& lane) { return lane.exhausted; })};
}

// Counted when asked, so that nothing has to be kept in step.
class StateCollector : public prometheus::Collectable {
 public:
  explicit StateCollector(std::function<StateCounts()> count) : count_(std::move(count)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const StateCounts counts = count_();
    return {GaugeByState("plimsoll_sandboxes", "Pod sandboxes by state", counts.sandboxes),
            GaugeByState("plimsoll_containers", "Containers by state", counts.containers)};
  }

 private:
  const std::function<StateCounts()> count_;
};

}  // namespace

struct Metrics::State {
  State(std::function<StateCounts()> count, std::function<absl::Status()> is_healthy)
      : health(std::move(is_healthy)),
        registry(std::make_shared<prometheus::Registry>()),
        states(std::make_shared<StateCollector>(std::move(count))),
        rpc_total(prometheus::BuildCounter()
                      .Name("plimsoll_rpc_total")
                      .Help("Calls that have ended, by method and status code")
                      .Register(*registry)),
        rpc_duration(prometheus::BuildHistogram()
                         .Name("plimsoll_rpc_duration_seconds")
                         .Help("Time from a call's arrival to its answer")
                         .Register(*registry)),
        events_total(prometheus::BuildCounter()
                         .Name("plimsoll_events_total")
                         .Help("Entries of the event log by type")
                         .Register(*registry)),
        phases(prometheus::BuildHistogram()
                   .Name("plimsoll_start_phase_duration_seconds")
                   .Help("Time that each part of starting a pod or container took")
                   .Register(*registry)),
        topologies_sent(prometheus::BuildCounter()
                            .Name("cri_dynamic_runtime_config_responses_total")
                            .Help("Node topologies sent to clients of GetDynamicRuntimeConfig")
                            .Register(*registry)
                            .Add({})) {}

  const std::function<absl::Status()> health;
  std::shared_ptr<prometheus::Registry> registry;
  std::shared_ptr<StateCollector> states;
  prometheus::Family<prometheus::Counter>& rpc_total;
  prometheus::Family<prometheus::Histogram>& rpc_duration;
  prometheus::Family<prometheus::Counter>& events_total;
  prometheus::Family<prometheus::Histogram>& phases;
  prometheus::Counter& topologies_sent;
  std::function<std::map<std::string, LaneCounts>()> lanes;
  const qos::Registry* classes = nullptr;
  std::optional<qos::DriftWatch> drift;  // with `classes`
  std::unique_ptr<HttpServer> server;
};

Metrics::Metrics(const std::string& version, std::function<StateCounts()> count,
                 std::function<absl::Status()> health)
    : state_(std::make_unique<State>(std::move(count), std::move(health))) {
  prometheus::BuildGauge()
      .Name("plimsoll_build_info")
      .Help("Always 1; the label says which build this is")
      .Register(*state_->registry)
      .Add({{"version", version}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::SetClasses(const qos::Registry* registry) {
  state_->classes = registry;
  state_->drift.emplace(registry);
}

void Metrics::SetLanes(std::function<std::map<std::string, LaneCounts>()> lanes) {
  state_->lanes = std::move(lanes);
}

void Metrics::ObserveRpc(const std::string& method, const std::string& code,
                         absl::Duration duration) {
  state_->rpc_total.Add({{"method", method}, {"code", code}}).Increment();
  state_->rpc_duration.Add({{"method", method}}, DurationBuckets())
      .Observe(absl::ToDoubleSeconds(duration));
}

void Metrics::ObserveEvent(const std::string& type) {
  state_->events_total.Add({{"type", type}}).Increment();
}

void Metrics::ObserveTopologySent() {
  state_->topologies_sent.Increment();
}

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> families = state_->registry->Collect();
  for (prometheus::MetricFamily& family : state_->states->Collect()) {
    families.push_back(std::move(family));
  }
  if (state_->lanes) {
    for (prometheus::MetricFamily& family : LaneMetrics(state_->lanes())) {
      families.push_back(std::move(family));
    }
  }
  if (state_->classes != nullptr) {
    for (prometheus::MetricFamily& family : ClassMetrics(*state_->classes, *state_->drift)) {
      families.push_back(std::move(family));
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

void Metrics::ObservePhase(const std::string& phase, absl::Duration duration) {
  state_->phases.Add({{"phase", phase}}, DurationBuckets())
      .Observe(absl::ToDoubleSeconds(duration));
}

absl::Status Metrics::Serve(const std::string& address) {
  const auto answer = [this](absl::string_view path) -> HttpResponse {
    if (path == "/metrics") return {200, Text()};
    if (path != "/healthz") return {404, "there is /metrics and /healthz\n"};
    const absl::Status health = state_->health ? state_->health() : absl::OkStatus();
    if (health.ok()) return {200, "ok\n"};
    return {503, absl::StrCat(health.message(), "\n")};
  };
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(address, answer, {});
  if (!server.ok()) {
    return absl::UnavailableError(absl::StrCat(
        "metrics.address: cannot listen on ", address,
        " (is it this machine's, and the port not in use?): ", server.status().message()));
  }
  state_->server = *std::move(server);
  return absl::OkStatus();
}

int Metrics::port() const {
  return state_->server == nullptr ? 0 : state_->server->port();
}

}  // namespace plimsoll::daemon

#include "daemon/telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "daemon/telemetry/class_metrics.h"
#include "service/metric_family.h"
#include "service/process_metrics.h"

namespace plimsoll::daemon {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

// In seconds.
const Buckets& CallBuckets() {
  static const auto* const kBuckets =
      new Buckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  return *kBuckets;
}
const Buckets& PullBuckets() {
  static const auto* const kBuckets =
      new Buckets{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600};
  return *kBuckets;
}

// All reasons that the engine gives (runtime/container_exits.cc).
constexpr const char* kExitReasons[] = {"Completed",  "Error",   "OOMKilled",
                                        "StartError", "Unknown", "Other"};

// Results of questions to kubelet (daemon/kubelet_questions.h).
constexpr const char* kKubeletResults[] = {"answered", "late", "refused", "untold"};

prometheus::MetricFamily GaugeByState(const std::string& name, const std::string& help,
                                      const std::map<std::string, uint64_t>& counts) {
  prometheus::MetricFamily family = MakeFamily(name, help, prometheus::MetricType::Gauge);
  for (const auto& [state, count] : counts) {
    AddValue(&family, {{"state", state}}, static_cast<double>(count));
  }
  return family;
}

MetricFamilies LaneMetrics(const std::map<std::string, LaneCounts>& lanes) {
  const auto family = [&](const char* name, const char* help, prometheus::MetricType type,
                          const auto& value) {
    prometheus::MetricFamily made = MakeFamily(name, help, type);
    for (const auto& [lane, counts] : lanes) {
      AddValue(&made, {{"calls", lane}}, static_cast<double>(value(counts)));
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

MetricFamilies ClusterMetrics(const ClusterCounts& counts) {
  const auto family = [](const char* name, const char* help, prometheus::MetricType type,
                         uint64_t value) {
    prometheus::MetricFamily made = MakeFamily(name, help, type);
    AddValue(&made, {}, static_cast<double>(value));
    return made;
  };
  using enum prometheus::MetricType;
  return {family("plimsoll_cluster_watchers", "Open streams of WatchNode", Gauge, counts.watchers),
          family("plimsoll_cluster_reports_total", "Reports of the node that were sent", Counter,
                 counts.reports_sent),
          family("plimsoll_cluster_told_claims", "Claims whose pod-level classes were told", Gauge,
                 counts.told_claims)};
}

prometheus::Family<prometheus::Counter>& Counters(prometheus::Registry& registry, const char* name,
                                                  const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Gauge>& Gauges(prometheus::Registry& registry, const char* name,
                                              const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Histogram>& Histograms(prometheus::Registry& registry,
                                                      const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

}  // namespace

struct Metrics::State {
  // Metrics that are counted as things happen, by subject. Before its first event a counter is 0,
  // not absent.
  struct Calls {
    explicit Calls(prometheus::Registry& registry)
        : total(Counters(registry, "plimsoll_rpc_total",
                         "Calls that have ended, by service, method and status code")),
          duration(Histograms(registry, "plimsoll_rpc_duration_seconds",
                              "Time from a call's arrival to its answer")) {}

    prometheus::Family<prometheus::Counter>& total;
    prometheus::Family<prometheus::Histogram>& duration;
  };

  struct Topologies {
    explicit Topologies(prometheus::Registry& registry)
        : sent(Counters(registry, "cri_dynamic_runtime_config_responses_total",
                        "Node topologies sent to clients of GetDynamicRuntimeConfig")
                   .Add({})),
          shown(Counters(registry, "plimsoll_topology_observer_responses_total",
                         "Node topologies sent to observers")
                    .Add({})) {}

    prometheus::Counter& sent;
    prometheus::Counter& shown;
  };

  struct Pods {
    explicit Pods(prometheus::Registry& registry)
        : sandbox_restarts(Counters(registry, "plimsoll_sandbox_restarts_total",
                                    "Pod sandboxes started in place of an earlier one of their pod")
                               .Add({})),
          container_restarts(Counters(registry, "plimsoll_container_restarts_total",
                                      "Containers started in place of an earlier one of their name")
                                 .Add({})),
          exits_total(Counters(registry, "plimsoll_container_exits_total",
                               "Containers that have ended, by reason")) {
      for (const char* reason : kExitReasons) exits_total.Add({{"reason", reason}});
    }

    prometheus::Counter& sandbox_restarts;
    prometheus::Counter& container_restarts;
    prometheus::Family<prometheus::Counter>& exits_total;
  };

  struct Pulls {
    explicit Pulls(prometheus::Registry& registry)
        : total(Counters(registry, "plimsoll_image_pulls_total",
                         "Image pulls that have ended, by status code")),
          duration(Histograms(registry, "plimsoll_image_pull_duration_seconds",
                              "Duration of image pulls, failed ones included")
                       .Add({}, PullBuckets())),
          bytes(Counters(registry, "plimsoll_image_pull_bytes_total",
                         "Bytes of layers and configurations that came from registries")
                    .Add({})),
          running(
              Gauges(registry, "plimsoll_image_pulls_running", "Image pulls under way").Add({})) {
      total.Add({{"code", "OK"}});
    }

    prometheus::Family<prometheus::Counter>& total;
    prometheus::Histogram& duration;
    prometheus::Counter& bytes;
    prometheus::Gauge& running;
  };

  struct Kubelet {
    explicit Kubelet(prometheus::Registry& registry)
        : total(Counters(registry, "plimsoll_kubelet_questions_total",
                         "Questions to kubelet's sockets about a pod, by result")),
          duration(
              Histograms(
                  registry, "plimsoll_kubelet_answer_duration_seconds",
                  "Time from a question to kubelet's sockets to its end, with or without an answer")
                  .Add({}, CallBuckets())) {
      for (const char* result : kKubeletResults) total.Add({{"result", result}});
    }

    prometheus::Family<prometheus::Counter>& total;
    prometheus::Histogram& duration;
  };

  // The sources of values that are read when the metrics are.
  struct Sources {
    std::function<StateCounts()> count;
    std::function<std::map<std::string, LaneCounts>()> lanes;
    const qos::Registry* classes = nullptr;
    std::optional<qos::DriftWatch> drift;  // set with `classes`
    std::function<ClusterCounts()> cluster;
    std::function<MetricFamilies()> nri;
    std::optional<FsRoot> host;
  };

  explicit State(std::function<StateCounts()> count) { sources.count = std::move(count); }

  Sources sources;
  prometheus::Registry registry;
  Calls calls{registry};
  prometheus::Family<prometheus::Counter>& events_total =
      Counters(registry, "plimsoll_events_total", "Entries of the event log by type");
  prometheus::Family<prometheus::Histogram>& phases =
      Histograms(registry, "plimsoll_start_phase_duration_seconds",
                 "Duration of each part of a pod's or container's start");
  Topologies topologies{registry};
  Pods pods{registry};
  Pulls pulls{registry};
  Kubelet kubelet{registry};
};

Metrics::Metrics(const std::string& version, std::function<StateCounts()> count)
    : state_(std::make_unique<State>(std::move(count))) {
  Gauges(state_->registry, "plimsoll_build_info", "Always 1; the label is the daemon's version")
      .Add({{"version", version}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::SetClasses(const qos::Registry* registry) {
  state_->sources.classes = registry;
  state_->sources.drift.emplace(registry);
}

void Metrics::SetLanes(std::function<std::map<std::string, LaneCounts>()> lanes) {
  state_->sources.lanes = std::move(lanes);
}

void Metrics::SetCluster(std::function<ClusterCounts()> cluster) {
  state_->sources.cluster = std::move(cluster);
}

void Metrics::SetNri(std::function<MetricFamilies()> nri) {
  state_->sources.nri = std::move(nri);
}

void Metrics::SetHost(const FsRoot& host) {
  state_->sources.host = host;
}

void Metrics::ObserveRpc(absl::string_view service, absl::string_view method,
                         absl::string_view code, absl::Duration duration) {
  const prometheus::Labels labels = {{"service", std::string(service)},
                                     {"method", std::string(method)}};
  prometheus::Labels with_code = labels;
  with_code["code"] = std::string(code);
  state_->calls.total.Add(with_code).Increment();
  state_->calls.duration.Add(labels, CallBuckets()).Observe(absl::ToDoubleSeconds(duration));
}

void Metrics::ObserveEvent(const std::string& type) {
  state_->events_total.Add({{"type", type}}).Increment();
}

void Metrics::ObserveTopologySent(bool to_client) {
  (to_client ? state_->topologies.sent : state_->topologies.shown).Increment();
}

void Metrics::ObservePhase(const std::string& phase, absl::Duration duration) {
  state_->phases.Add({{"phase", phase}}, CallBuckets()).Observe(absl::ToDoubleSeconds(duration));
}

void Metrics::ObserveSandboxStart(uint32_t attempt) {
  if (attempt > 0) state_->pods.sandbox_restarts.Increment();
}

void Metrics::ObserveContainerStart(uint32_t attempt) {
  if (attempt > 0) state_->pods.container_restarts.Increment();
}

void Metrics::ObserveContainerExit(const std::string& reason) {
  const bool known = absl::c_linear_search(kExitReasons, reason);
  state_->pods.exits_total.Add({{"reason", known ? reason : "Other"}}).Increment();
}

void Metrics::ObservePullStart() {
  state_->pulls.running.Increment();
}

void Metrics::ObservePullEnd(const absl::Status& result, absl::Duration duration, uint64_t bytes) {
  state_->pulls.running.Decrement();
  state_->pulls.total.Add({{"code", absl::StatusCodeToString(result.code())}}).Increment();
  state_->pulls.duration.Observe(absl::ToDoubleSeconds(duration));
  state_->pulls.bytes.Increment(static_cast<double>(bytes));
}

void Metrics::ObserveKubelet(const std::string& result, absl::Duration duration) {
  state_->kubelet.total.Add({{"result", result}}).Increment();
  state_->kubelet.duration.Observe(absl::ToDoubleSeconds(duration));
}

void Metrics::ObserveRecovery(const RecoveryCounts& recovery) {
  Gauges(state_->registry, "plimsoll_recovery_duration_seconds",
         "Duration of the recovery at the daemon's start")
      .Add({})
      .Set(absl::ToDoubleSeconds(recovery.duration));
  prometheus::Family<prometheus::Gauge>& objects =
      Gauges(state_->registry, "plimsoll_recovered_objects",
             "Pod sandboxes and containers recovered at the daemon's start");
  objects.Add({{"kind", "sandbox"}}).Set(static_cast<double>(recovery.sandboxes));
  objects.Add({{"kind", "container"}}).Set(static_cast<double>(recovery.containers));
  Gauges(state_->registry, "plimsoll_recovery_troubles",
         "Objects that recovery could not put in order at the daemon's start")
      .Add({})
      .Set(static_cast<double>(recovery.troubles));
}

std::string Metrics::Text() const {
  MetricFamilies families = state_->registry.Collect();
  const StateCounts counts = state_->sources.count();
  families.push_back(
      GaugeByState("plimsoll_sandboxes", "Pod sandboxes by state", counts.sandboxes));
  families.push_back(GaugeByState("plimsoll_containers", "Containers by state", counts.containers));
  if (state_->sources.lanes) Append(&families, LaneMetrics(state_->sources.lanes()));
  if (state_->sources.cluster) Append(&families, ClusterMetrics(state_->sources.cluster()));
  if (state_->sources.nri) Append(&families, state_->sources.nri());
  if (state_->sources.classes != nullptr) {
    Append(&families, ClassMetrics(*state_->sources.classes, *state_->sources.drift));
  }
  if (state_->sources.host.has_value()) Append(&families, ProcessMetrics(*state_->sources.host));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace plimsoll::daemon

#include "harness/statistics.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"

namespace plimsoll::testing {
namespace {

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + Patience(absl::Seconds(60))));
}

// An empty entry stands for one that the answer lacks.
template <typename List>
auto Find(const List& list, const std::string& id) {
  for (const auto& each : list) {
    if (each.attributes().id() == id) return each;
  }
  return typename List::value_type();
}

template <typename Method, typename Request, typename Response>
void Ask(cri::RuntimeService::Stub& stub, Method method, const Request& request,
         Response* response) {
  grpc::ClientContext context;
  SetDeadline(&context);
  const grpc::Status status = (stub.*method)(&context, request, response);
  EXPECT_TRUE(status.ok()) << request.GetTypeName() << ": " << status.error_message();
}

// `add`: takes one part of the answer.
template <typename Part, typename Reader, typename Add>
void ReadAll(Reader reader, const Add& add) {
  Part part;
  while (reader->Read(&part)) add(part);
  const grpc::Status status = reader->Finish();
  EXPECT_TRUE(status.ok()) << part.GetTypeName() << ": " << status.error_message();
}

std::string KernelText(const std::string& group, const std::string& controller,
                       const std::string& file) {
  const auto text = Cgroups().ReadFile(group, controller, file);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

uint64_t Number(absl::string_view text, const std::string& where) {
  uint64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &number)) << where << ": " << text;
  return number;
}

}  // namespace

cri::ContainerStats Statistics::Of(const std::string& container) {
  cri::ContainerStatsRequest request;
  request.set_container_id(container);
  cri::ContainerStatsResponse response;
  Ask(node_.runtime(), &cri::RuntimeService::Stub::ContainerStats, request, &response);
  return response.stats();
}

cri::PodSandboxStats Statistics::OfPod(const std::string& pod) {
  cri::PodSandboxStatsRequest request;
  request.set_pod_sandbox_id(pod);
  cri::PodSandboxStatsResponse response;
  Ask(node_.runtime(), &cri::RuntimeService::Stub::PodSandboxStats, request, &response);
  return response.stats();
}

cri::ContainerStats Statistics::Listed(const std::string& container) {
  cri::ListContainerStatsResponse response;
  Ask(node_.runtime(), &cri::RuntimeService::Stub::ListContainerStats,
      cri::ListContainerStatsRequest(), &response);
  return Find(response.stats(), container);
}

cri::ContainerStats Statistics::Streamed(const std::string& container) {
  grpc::ClientContext context;
  SetDeadline(&context);
  cri::ListContainerStatsResponse all;
  ReadAll<cri::StreamContainerStatsResponse>(
      node_.runtime().StreamContainerStats(&context, cri::StreamContainerStatsRequest()),
      [&all](const cri::StreamContainerStatsResponse& part) {
        all.mutable_stats()->MergeFrom(part.container_stats());
      });
  return Find(all.stats(), container);
}

cri::ContainerStats Statistics::ListedWithPods(const std::string& container) {
  cri::ListPodSandboxStatsResponse response;
  Ask(node_.runtime(), &cri::RuntimeService::Stub::ListPodSandboxStats,
      cri::ListPodSandboxStatsRequest(), &response);
  cri::ListContainerStatsResponse all;
  for (const cri::PodSandboxStats& pod : response.stats()) {
    all.mutable_stats()->MergeFrom(pod.linux().containers());
  }
  return Find(all.stats(), container);
}

cri::ContainerStats Statistics::StreamedWithPods(const std::string& container) {
  grpc::ClientContext context;
  SetDeadline(&context);
  cri::ListContainerStatsResponse all;
  ReadAll<cri::StreamPodSandboxStatsResponse>(
      node_.runtime().StreamPodSandboxStats(&context, cri::StreamPodSandboxStatsRequest()),
      [&all](const cri::StreamPodSandboxStatsResponse& part) {
        for (const cri::PodSandboxStats& pod : part.pod_sandbox_stats()) {
          all.mutable_stats()->MergeFrom(pod.linux().containers());
        }
      });
  return Find(all.stats(), container);
}

cri::PodSandboxStats Statistics::ListedPod(const std::string& pod) {
  cri::ListPodSandboxStatsResponse response;
  Ask(node_.runtime(), &cri::RuntimeService::Stub::ListPodSandboxStats,
      cri::ListPodSandboxStatsRequest(), &response);
  return Find(response.stats(), pod);
}

std::vector<cri::Metric> Statistics::MetricsOf(const std::string& container) {
  cri::ListPodSandboxMetricsResponse response;
  Ask(node_.runtime(), &cri::RuntimeService::Stub::ListPodSandboxMetrics,
      cri::ListPodSandboxMetricsRequest(), &response);
  std::vector<cri::Metric> metrics;
  for (const cri::PodSandboxMetrics& pod : response.pod_metrics()) {
    for (const cri::ContainerMetrics& each : pod.container_metrics()) {
      if (each.container_id() != container) continue;
      metrics.assign(each.metrics().begin(), each.metrics().end());
    }
  }
  return metrics;
}

std::map<std::string, uint64_t> Statistics::Metrics(const std::string& container) {
  std::map<std::string, uint64_t> values;
  for (const cri::Metric& metric : MetricsOf(container)) {
    values[metric.name()] += metric.value().value();
  }
  return values;
}

std::map<std::string, uint64_t> Statistics::Metric(const std::string& container,
                                                   const std::string& name) {
  std::map<std::string, uint64_t> values;
  for (const cri::Metric& metric : MetricsOf(container)) {
    if (metric.name() != name || metric.label_values().empty()) continue;
    values[*metric.label_values().rbegin()] = metric.value().value();
  }
  return values;
}

uint64_t KernelNumber(const std::string& group, const std::string& controller,
                      const std::string& file) {
  return Number(KernelText(group, controller, file), file);
}

uint64_t KernelNumber(const std::string& group, const std::string& controller,
                      const std::string& file, const std::string& key) {
  const std::string text = KernelText(group, controller, file);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() == 2 && words[0] == key) return Number(words[1], absl::StrCat(file, " ", key));
  }
  ADD_FAILURE() << file << " of " << group << " has no " << key << ": " << text;
  return 0;
}

uint64_t KernelPressure(const std::string& group, const std::string& resource,
                        const std::string& line) {
  const std::string file = absl::StrCat(resource, ".pressure");
  const std::string text = KernelText(group, resource, file);
  // some avg10=0.00 avg60=0.00 avg300=0.00 total=0
  for (const absl::string_view each : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(each, ' ');
    if (words[0] != line) continue;
    const std::vector<absl::string_view> total = absl::StrSplit(words.back(), '=');
    return Number(total.back(), absl::StrCat(file, " ", line));
  }
  ADD_FAILURE() << file << " of " << group << " has no line " << line << ": " << text;
  return 0;
}

}  // namespace plimsoll::testing

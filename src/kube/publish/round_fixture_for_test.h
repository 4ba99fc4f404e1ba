// For tests: rounds of a publisher against an API server in memory, at times of the test's own.
#ifndef PLIMSOLL_KUBE_PUBLISH_ROUND_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_KUBE_PUBLISH_ROUND_FIXTURE_FOR_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kube/apiserver/fake_api_client_for_test.h"
#include "kube/apiserver/json_fields.h"
#include "kube/publish/publish_round.h"
#include "kube/publish/reports_for_test.h"

namespace plimsoll::kube {

inline constexpr char kNodePath[] = "/api/v1/nodes/n1";
inline constexpr char kStatusPath[] = "/api/v1/nodes/n1/status";
inline constexpr char kObjectPath[] =
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/n1";

class RoundTest : public testing::Test {
 protected:
  using Json = nlohmann::json;

  RoundTest() {
    options_.note = [this](const std::string& note) { notes_.push_back(note); };
    options_.warn = [this](const std::string& warning) {
      notes_.push_back(warning);
      warnings_.push_back(warning);
    };
    options_.pace.jitter = [] { return 1.0; };
    options_.publish.labels = {"classes", "numa-nodes"};
    options_.publish.annotations = {"classes"};
  }

  // Stores the Node that kubelet and others left.
  void PutNode(const std::string& uid = "uid-n1") {
    Json node = Json::parse(R"({
      "metadata": {"labels": {"kubernetes.io/os": "linux"}, "annotations": {"a": "b"}},
      "status": {"conditions": [{"type": "Ready", "status": "True"}]}})");
    node["metadata"]["uid"] = uid;
    server_.Put(kNodePath, node);
  }

  // A new publisher, as after a start of the program.
  void Begin() { round_ = std::make_unique<PublishRound>(server_, "n1", options_); }

  void Report(NodeReport report) {
    round_->Take(std::make_shared<const NodeReport>(std::move(report)), now_);
  }
  void Lose() { round_->Take(nullptr, now_); }

  // Runs one round, and returns the server's requests.
  std::vector<std::string> Round() {
    const auto next = round_->Run({now_, time_});
    EXPECT_TRUE(next.ok()) << next.status();
    next_ = next.value_or(kNever);
    EXPECT_GE(next_, now_);
    return server_.TakeLines();
  }
  void Pass(absl::Duration duration) {
    now_ += absl::ToChronoNanoseconds(duration);
    time_ += duration;
  }
  // The wait that the last round asked for.
  absl::Duration Wait() const {
    return next_ == kNever ? absl::InfiniteDuration() : absl::FromChrono(next_ - now_);
  }
  // Rounds at the moments that they ask for, as long as `duration`. All requests.
  std::vector<std::string> RunFor(absl::Duration duration) {
    const SteadyTime end = now_ + absl::ToChronoNanoseconds(duration);
    std::vector<std::string> lines;
    for (int i = 0; now_ < end; ++i) {
      EXPECT_LT(i, 10000) << "the rounds spin";
      if (i >= 10000) break;
      for (std::string& line : Round()) lines.push_back(std::move(line));
      const SteadyTime to = std::min(next_, end);
      Pass(absl::FromChrono(to - now_));
    }
    return lines;
  }

  std::string Label(const std::string& key) const {
    return TextOf(server_.Get(kNodePath), {"metadata", "labels", key.c_str()});
  }
  // "Warning ClassesDrifted: note" of each Event.
  std::vector<std::string> Events() const {
    std::vector<std::string> texts;
    for (const Json& event : server_.All("/apis/events.k8s.io/v1/namespaces/default/events")) {
      texts.push_back(absl::StrCat(TextOf(event, "type"), " ", TextOf(event, "reason"), ": ",
                                   TextOf(event, "note")));
    }
    return texts;
  }
  // "True" and so on; empty: there is none.
  std::string Condition(const std::string& type) const {
    const Json node = server_.Get(kNodePath);
    for (const Json& each : ElementsOf(node, {"status", "conditions"})) {
      if (TextOf(each, "type") == type) return TextOf(each, "status");
    }
    return "";
  }

  static NodeReport Healthy() {
    NodeReport report = ReportOf(TopologyOf(kTwoPackages));
    report.types = {RdtType()};
    return report;
  }
  static NodeReport WithDrift(const std::string& sentence) {
    NodeReport report = Healthy();
    report.types[0].classes[0].drift = {sentence};
    return report;
  }

  FakeApiClient server_;
  RoundOptions options_;
  std::unique_ptr<PublishRound> round_;
  std::vector<std::string> notes_;  // and warnings
  std::vector<std::string> warnings_;
  SteadyTime now_ = SteadyNow();
  absl::Time time_ = absl::FromUnixSeconds(1'800'000'000);
  SteadyTime next_ = kNever;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_ROUND_FIXTURE_FOR_TEST_H_

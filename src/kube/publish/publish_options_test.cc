#include "kube/publish/publish_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::kube {
namespace {

using testing::HasSubstr;

TEST(PublishOptions, DefaultsAndAllFactsAreValid) {
  EXPECT_TRUE(CheckPublishOptions({}).ok());
  PublishOptions options;
  options.labels = LabelFacts();
  options.annotations = AnnotationFacts();
  options.topology_manager_policy = "single-numa-node";
  options.topology_manager_scope = "pod";
  EXPECT_TRUE(CheckPublishOptions(options).ok()) << CheckPublishOptions(options);
}

TEST(PublishOptions, EachMistakeIsNamed) {
  PublishOptions options;
  options.labels = {"classes", "clases", "cpus", "cpus"};
  options.annotations = {"cpus"};
  options.topology_manager_policy = "static";
  options.topology_manager_scope = "node";
  const absl::Status status = CheckPublishOptions(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("publish.labels: \"clases\" is none of \"classes\""));
  EXPECT_THAT(message, HasSubstr("publish.labels: \"cpus\" stands there twice"));
  EXPECT_THAT(message, HasSubstr("publish.annotations: \"cpus\" is none of"));
  EXPECT_THAT(message, HasSubstr("publish.topologyManager.policy: \"static\" is none of \"none\""));
  EXPECT_THAT(message, HasSubstr("publish.topologyManager.scope: \"node\" is none of"));
}

}  // namespace
}  // namespace plimsoll::kube

#include "logger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::examples {
namespace {

TEST(DescribeTest, NamesPodsAndContainersWithWhatTheyAskFor) {
  api::PodSandbox pod;
  pod.set_id("5f2c");
  pod.set_name("web");
  pod.set_namespace_("default");
  EXPECT_EQ(Describe(pod), "pod=default/web id=5f2c");
  api::Container container;
  container.set_id("a1");
  container.set_name("app");
  EXPECT_EQ(Describe(container), "container=app id=a1");
  auto& resources = *container.mutable_kubernetes_resources();
  (*resources.mutable_requests())["memory"].set_string("1Gi");
  (*resources.mutable_requests())["cpu"].set_string("2");
  (*resources.mutable_limits())["cpu"].set_string("4");
  EXPECT_EQ(Describe(container), "container=app id=a1 requests=cpu=2,memory=1Gi limits=cpu=4");
}

TEST(LoggerTest, PrintsALineForEachEvent) {
  const TestDir dir;
  Logger logger;
  api::ConfigureRequest configure;
  configure.set_config(absl::StrCat("file: ", dir.path(), "/events"));
  configure.set_runtime_name("plimsoll");
  configure.set_runtime_version("0.1");
  configure.set_nri_version("0.12.0");
  ASSERT_TRUE(logger.Configure(configure).ok());
  api::StopContainerRequest stop;
  stop.mutable_pod()->set_name("w\neb");
  stop.mutable_container()->set_name("app");
  ASSERT_TRUE(logger.Synchronize({stop.pod()}, {stop.container()}).ok());
  ASSERT_TRUE(logger.StopContainer(stop).ok());
  ASSERT_TRUE(logger.RunPodSandbox({}).ok());
  logger.Shutdown();
  EXPECT_EQ(*dir.root().Read("events"),
            "Configure runtime=plimsoll 0.1 nri=0.12.0\n"
            "Synchronize pods=1 containers=1\n"
            "Synchronize pod=/w\\neb id=\n"
            "Synchronize container=app id=\n"
            "StopContainer pod=/w\\neb id= container=app id=\n"
            "RunPodSandbox pod=/ id=\n"
            "Shutdown\n");
}

TEST(LoggerTest, RefusesAFileThatItCantOpen) {
  Logger logger;
  api::ConfigureRequest configure;
  configure.set_config("file: /nowhere/events");
  EXPECT_EQ(logger.Configure(configure).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace plimsoll::examples

#include "cli/terminal/message_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cri/runtime/v1/api.pb.h"
#include "plimsoll/v1/node.pb.h"

namespace plimsoll::cli {
namespace {

namespace cri = ::runtime::v1;

TEST(MessageJson, KeysAreInCamelCaseAndTimesAreRfc3339) {
  cri::ContainerStatus status;
  status.set_created_at(1'700'000'000'250'000'000);
  (*status.mutable_labels())["my_label"] = "x";
  status.mutable_resources()->mutable_linux()->set_cpu_quota(5);
  const auto json = *MessageJson(status);
  EXPECT_EQ(json["createdAt"], "2023-11-14T22:13:20.25+00:00");
  EXPECT_TRUE(json["finishedAt"].is_null());
  EXPECT_EQ(json["labels"]["my_label"], "x") << "the client's own";
  EXPECT_EQ(json["resources"]["linux"]["cpuQuota"], "5");
  EXPECT_EQ(json["exitCode"], 0);
  plimsoll::v1::Event event;
  event.set_timestamp(1'700'000'000'000'000'000);
  EXPECT_EQ((*MessageJson(event))["timestamp"], "2023-11-14T22:13:20+00:00");
}

TEST(MessageJson, AnAcronymAtTheStartIsLowerCaseToo) {
  cri::ContainerConfig config;
  config.add_cdi_devices()->set_name("vendor.com/gpu=0");
  const auto json = *MessageJson(config);
  EXPECT_EQ(json["cdiDevices"][0]["name"], "vendor.com/gpu=0");
  EXPECT_FALSE(json.contains("CDIDevices"));
}

TEST(MessageJson, InfoIsJson) {
  cri::ContainerStatusResponse response;
  (*response.mutable_info())["info"] =
      R"({"bootId":"b","spec":{"working_directory":"/","annotations":{"a_b":"c_d"},)"
      R"("mounts":[{"host_path":"/x"}]}})";
  (*response.mutable_info())["text"] = "{no JSON";
  const auto json = *MessageJson(response);
  const auto& spec = json["info"]["info"]["spec"];
  EXPECT_EQ(spec["workingDirectory"], "/");
  EXPECT_EQ(spec["annotations"]["a_b"], "c_d");
  EXPECT_EQ(spec["mounts"][0]["hostPath"], "/x");
  EXPECT_EQ(json["info"]["text"], "{no JSON");
}

TEST(CamelCase, IsForSnakeCaseAlone) {
  EXPECT_EQ(CamelCase("pod_sandbox_id"), "podSandboxId");
  EXPECT_EQ(CamelCase("some_avg10"), "someAvg10");
  EXPECT_EQ(CamelCase("memory.high"), "memory.high");
  EXPECT_EQ(CamelCase("A_B"), "A_B");
  EXPECT_EQ(CamelCase(""), "");
}

}  // namespace
}  // namespace plimsoll::cli

#include "cli/terminal/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/terminal/api.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Output, MapsAreSortedAndTheRestIsInItsOrder) {
  cri::ContainerStatus status;
  for (const char* key : {"b", "e", "a", "d", "c"}) (*status.mutable_labels())[key] = "x";
  (*status.mutable_kubernetes_resources()->mutable_limits())["m"].set_string("1");
  (*status.mutable_kubernetes_resources()->mutable_limits())["c"].set_string("2");
  const std::string json = *ToJson(status);
  EXPECT_THAT(json, HasSubstr("\"labels\": {\n  \"a\": \"x\",\n  \"b\": \"x\",\n  \"c\""));
  EXPECT_LT(json.find("\"c\": {"), json.find("\"m\": {"));
  EXPECT_LT(json.find("\"id\""), json.find("\"createdAt\"")) << "as the message has them";
}

TEST(Output, JsonAndYamlSayTheSame) {
  cri::ListPodSandboxResponse response;
  cri::PodSandbox* const pod = response.add_items();
  pod->set_id("0123");
  pod->mutable_metadata()->set_name("true");
  pod->mutable_metadata()->set_namespace_("default");
  const auto json = ToJson(response);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(*json, HasSubstr("\"createdAt\": null"));
  const auto yaml = JsonToYaml(*json);
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  // A string that looks like another type keeps its quotes.
  EXPECT_THAT(*yaml, AllOf(HasSubstr("id: \"0123\""), HasSubstr("name: \"true\""),
                           HasSubstr("namespace: default"), HasSubstr("labels: {}")));
  EXPECT_EQ(*JsonToYaml("{\"a\": null, \"b\": \"null\", \"c\": true}"),
            "a: ~\nb: \"null\"\nc: true\n");
  EXPECT_FALSE(JsonToYaml("{").ok());
}

}  // namespace
}  // namespace plimsoll::cli

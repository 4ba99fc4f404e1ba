#include "yaml/config_place.h"

#include <gtest/gtest.h>

#include "base/dir_for_test.h"

namespace plimsoll {
namespace {

constexpr char kText[] =
    "state_dir: /s\n"
    "streaming:\n"
    "  key: /k\n"
    "  certificate: /c\n"
    "runtime_handlers:\n"
    "  kata: {program: /none}\n"
    "nodeResources:\n"
    "  cpus: {list: 8-9}\n";

std::string Placed(const std::string& message) {
  return std::string(WithPlaces(absl::InvalidArgumentError(message), kText, "f.yaml").message());
}

TEST(ConfigPlaceTest, AFaultIsAtItsInnermostKey) {
  EXPECT_EQ(Placed("state_dir and run_dir: no"), "f.yaml:1:1: state_dir and run_dir: no");
  EXPECT_EQ(Placed("streaming.certificate and streaming.key: both"),
            "f.yaml:4:3: streaming.certificate and streaming.key: both");
  EXPECT_EQ(Placed("state_dir /s: no"), "f.yaml:1:1: state_dir /s: no");
  EXPECT_EQ(Placed("runtime_handlers.kata.program: no program"),
            "f.yaml:6:10: runtime_handlers.kata.program: no program");
  EXPECT_EQ(Placed("nodeResources: cpus.list: CPUs 8-9: none"),
            "f.yaml:8:10: nodeResources: cpus.list: CPUs 8-9: none");
  EXPECT_EQ(Placed("nodeResources: memory: too much"),
            "f.yaml:7:1: nodeResources: memory: too much");
}

TEST(ConfigPlaceTest, WhatIsNotInTheFileHasNoPlace) {
  for (const char* message : {"crun: no program at /x", "no key", "", "--crun: no: x"}) {
    EXPECT_EQ(Placed(message), message);
  }
  EXPECT_EQ(Placed("crun: one\nstate_dir: two"), "crun: one\nf.yaml:1:1: state_dir: two");
  EXPECT_TRUE(WithPlaces(absl::OkStatus(), kText, "f.yaml").ok());
}

TEST(ConfigPlaceTest, ThePathIsAsItWasGiven) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("c.yaml", kText).ok());
  const std::string path = dir.path() + "/c.yaml";
  EXPECT_EQ(WithPlaces(absl::InvalidArgumentError("state_dir: x"), path).message(),
            path + ":1:1: state_dir: x");
  for (const char* none : {"", "/nonexistent"}) {
    EXPECT_EQ(WithPlaces(absl::InvalidArgumentError("state_dir: x"), std::string(none)).message(),
              "state_dir: x");
  }
}

}  // namespace
}  // namespace plimsoll

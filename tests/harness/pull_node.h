// Tests of pulls from a registry of Debian's, which is skipped where there is none.
#ifndef PLIMSOLL_TESTS_HARNESS_PULL_NODE_H_
#define PLIMSOLL_TESTS_HARNESS_PULL_NODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "image/image_for_test.h"
#include "image/registry_for_test.h"

namespace plimsoll::testing {

// Constructed before the node, whose configuration names it.
class WithRegistry {
 protected:
  explicit WithRegistry(bool with_password) {
    if (FindProgram("docker-registry").ok()) registry_.emplace(directory_.root(), with_password);
  }
  // `other`: a further registry that may use plain HTTP.
  std::string Configuration(const std::string& other) const {
    if (!registry_.has_value()) return "";
    return absl::StrCat("registries: {insecure: [\"", registry_->host(), "\"",
                        other.empty() ? "" : absl::StrCat(", \"", other, "\""), "]}\n");
  }

  TestDir directory_;
  std::optional<image::Registry> registry_;
};

class ImagePullTest : protected WithRegistry, public NodeTest {
 protected:
  // `configuration`: more lines for the daemon's.
  explicit ImagePullTest(bool with_password = false, const std::string& other_registry = "",
                         const std::string& configuration = "")
      : WithRegistry(with_password), NodeTest(Configuration(other_registry) + configuration) {}
  void SetUp() override {
    if (!registry_.has_value()) {
      GTEST_SKIP() << "no docker-registry here: apt-get install docker-registry";
    }
    NodeTest::SetUp();
  }
  // Pushes an image with nothing but busybox, and returns its name in the registry.
  std::string Push(const std::vector<std::string>& options = {}) {
    const std::string busybox =
        Host().Read(absl::StrCat(node_.directory(), "/busybox/bin/busybox")).value_or("");
    EXPECT_THAT(busybox, ::testing::Not(::testing::IsEmpty()));
    image::TestLayout layout;
    layout.List(layout.AddBusybox(busybox), "v1");
    layout.WriteTo(directory_.root(), "layout");
    blob_bytes_ = 0;
    const std::string manifest = image::TestLayout::PathOf(
        layout.index["manifests"][0]["digest"].get_ref<const std::string&>());
    for (const auto& [path, content] : layout.files) {
      if (path != manifest) blob_bytes_ += content.size();
    }
    const std::string name = registry_->Name("team/pulled:v1");
    const absl::Status pushed = image::Push(directory_.root().PathOf("layout"), name, options);
    EXPECT_TRUE(pushed.ok()) << pushed;
    return name;
  }
  std::vector<std::string> Argv(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("plimsoll"), "--address", node_.address()});
    return arguments;
  }
  RunResult Plimsoll(std::vector<std::string> arguments) {
    auto result =
        RunProgram({.argv = Argv(std::move(arguments))}, {.timeout = Patience(absl::Seconds(60))});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  void ExpectNoWorkLeft() {
    EXPECT_THAT(*Host().List(node_.state_directory() + "/images/work"), ::testing::IsEmpty());
    EXPECT_THAT(ProcessesWith(node_.state_directory() + "/images/work"), ::testing::IsEmpty());
  }

  uint64_t blob_bytes_ = 0;  // size of the last pushed layer and configuration
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_PULL_NODE_H_

// examples/device-plugin beside a test's agent.
#ifndef PLIMSOLL_TESTS_HARNESS_SAMPLE_PLUGIN_H_
#define PLIMSOLL_TESTS_HARNESS_SAMPLE_PLUGIN_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "harness/agent.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/watched_program.h"

namespace plimsoll::testing {

class SamplePlugin {
 public:
  // `list`: lines of its file, which is in the directory. The program starts at once.
  SamplePlugin(AgentProcess& agent, std::string directory, std::string resource,
               const std::string& list)
      : agent_(agent), file_(directory + "/devices.conf"), resource_(std::move(resource)) {
    Write(list);
    Begin();
  }

  void Begin() {
    program_ = std::make_unique<WatchedProgram>(
        std::vector<std::string>{ProgramPath("device-plugin"), resource_, file_,
                                 agent_.device_plugins()},
        OpenPipe());
  }
  void Kill() { program_->Kill(); }
  // The file as a whole: a reader finds the old list or the new one.
  void Write(const std::string& list) {
    const absl::Status written = Host().ReplaceFile(file_, list);
    EXPECT_TRUE(written.ok()) << written;
  }
  bool AwaitLine(const std::string& line) {
    const bool came = program_->Await([&](const std::string& printed) {
      return absl::StrContains("\n" + printed, absl::StrCat("\n", line, "\n"));
    });
    EXPECT_TRUE(came) << "\"" << line << "\" is not in: " << program_->printed() << agent_.Log();
    return came;
  }
  // Drops the printed lines, which are not looked at again.
  void Forget() { program_->Forget(); }
  const std::string& printed() const { return program_->printed(); }
  // The node has so many devices, of which `healthy` can be given to pods.
  bool AwaitNode(int64_t healthy, int64_t all) {
    nlohmann::json status;
    const bool met = Eventually([&] {
      const auto node = agent_.client().Node();
      if (!node.ok()) return false;
      status = (*node)["status"];
      return status["capacity"].value(resource_, "") == absl::StrCat(all) &&
             status["allocatable"].value(resource_, "") == absl::StrCat(healthy);
    });
    EXPECT_TRUE(met) << status.dump(1) << program_->printed() << agent_.Log();
    return met;
  }

 private:
  AgentProcess& agent_;
  const std::string file_;
  const std::string resource_;
  std::unique_ptr<WatchedProgram> program_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_SAMPLE_PLUGIN_H_

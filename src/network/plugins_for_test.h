// For tests: plugins that are shell scripts, and records of their calls.
#ifndef PLIMSOLL_NETWORK_PLUGINS_FOR_TEST_H_
#define PLIMSOLL_NETWORK_PLUGINS_FOR_TEST_H_

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"
#include "network/json.h"

namespace plimsoll::network {

class ScriptedPlugins {
 public:
  ScriptedPlugins() {
    signal(SIGPIPE, SIG_IGN);  // as in the daemon
    for (const char* name : {"bin", "seen", "conf", "state"}) {
      EXPECT_TRUE(dir_.root().MakeDirs(name, 0755).ok());
    }
  }

  // A plugin that records its call, and then runs `body`.
  void Write(const std::string& type, const std::string& body, mode_t mode = 0755) {
    const std::string seen = absl::StrCat(dir_.path(), "/seen/");
    const std::string script = absl::StrCat(
        "#!/bin/sh\n", "echo \"$CNI_COMMAND ", type, "\" >> ", seen, "calls\n", "cat > ", seen,
        type, ".$CNI_COMMAND.in\n", "env > ", seen, type, ".$CNI_COMMAND.env\n", body, "\n");
    EXPECT_TRUE(dir_.root().ReplaceFile("bin/" + type, script, mode).ok());
  }
  // A plugin that answers ADD with `result`, and all else with nothing.
  void WriteGood(const std::string& type, const std::string& result) {
    Write(type, absl::StrCat("[ $CNI_COMMAND != ADD ] || cat <<'E'\n", result, "\nE"));
  }
  void WriteConfig(const std::string& name, const std::string& text) {
    EXPECT_TRUE(dir_.root().ReplaceFile("conf/" + name, text, 0644).ok());
  }

  // "ADD bridge", in the order of the calls.
  std::vector<std::string> calls() const {
    return absl::StrSplit(dir_.root().Read("seen/calls").value_or(""), '\n', absl::SkipEmpty());
  }
  void ForgetCalls() { EXPECT_TRUE(dir_.root().RemoveFile("seen/calls").ok()); }
  // The call's standard input; null: it was not called.
  Json InputOf(const std::string& type, const std::string& command) const {
    const auto text = dir_.root().Read(absl::StrCat("seen/", type, ".", command, ".in"));
    return Json::parse(text.value_or("null"), nullptr, /*allow_exceptions=*/false);
  }
  std::vector<std::string> EnvironmentOf(const std::string& type,
                                         const std::string& command) const {
    const auto text = dir_.root().Read(absl::StrCat("seen/", type, ".", command, ".env"));
    return absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty());
  }

  const FsRoot& root() const { return dir_.root(); }
  std::string bin() const { return dir_.path() + "/bin"; }
  std::string conf() const { return dir_.path() + "/conf"; }
  const std::string& path() const { return dir_.path(); }

 private:
  TestDir dir_;
};

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_PLUGINS_FOR_TEST_H_

// For tests: the command line with captured output, and the description of its commands.
#ifndef PLIMSOLL_CLI_MAIN_FOR_TEST_H_
#define PLIMSOLL_CLI_MAIN_FOR_TEST_H_

#include <string>
#include <utility>
#include <vector>

#include "cli/command/command.h"
#include "cli/command_tree.h"
#include "cli/program.h"
#include "gtest/gtest.h"

namespace plimsoll::cli {

inline CommandInfo Tree() {
  CommandContext context;
  CLI::App app("", "plimsoll");
  BuildApp(app, context);
  return DescribeCommands(app);
}

struct Printed {
  int code;
  std::string out;
  std::string err;
};

inline Printed RunMain(std::vector<std::string> words) {
  words.insert(words.begin(), "plimsoll");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = RunProgramMain(static_cast<int>(words.size()), argv.data());
  std::string out = testing::internal::GetCapturedStdout();
  return {code, std::move(out), testing::internal::GetCapturedStderr()};
}

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_MAIN_FOR_TEST_H_

// Documents whose blocks marked ```console run do on a node what they show. The node has the image
// of the examples, classes of block I/O and of OOM priority, and no network; the commands run in a
// directory with copies of examples/ and tools/, which is gone afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "harness/console_blocks.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::UnorderedElementsAreArray;

constexpr const char* kPages[] = {
    "README.md",         "docs/classes.md",   "docs/images.md",
    "docs/lifecycle.md", "docs/manifests.md", "docs/resize.md",
    "docs/stats.md",     "docs/streaming.md", "examples/README.md",
};

absl::StatusOr<std::vector<ShownCommand>> CommandsOf(const std::string& page) {
  const absl::StatusOr<std::string> text = Host().Read(SourcePath(page));
  if (!text.ok()) return text.status();
  return MarkedCommands(*text);
}

class DocsTest : public NodeTest, public ::testing::WithParamInterface<const char*> {
 protected:
  DocsTest()
      : NodeTest(absl::StrCat(
            "classes:\n  blockio: {config_file: ", SourcePath("examples/classes/blockio.yaml"),
            ", default: normal}\n"
            "  oom: {classes: {first: 900, last: -500}}\n  pod-qos: {}\n")) {}

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "containers need root";
    for (const char* name : {"examples", "tools"}) {
      const auto copied = RunChecked({.argv = {"/bin/cp", "-r", SourcePath(name), files_.path()}});
      ASSERT_TRUE(copied.ok()) << copied.status();
    }
    const std::string image = node_.directory() + "/busybox.tar";
    const auto made = RunChecked({.argv = {files_.path() + "/tools/example_image.sh", image}});
    ASSERT_TRUE(made.ok()) << made.status();
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
    const grpc::Status imported = Import(image, "plimsoll.dev/examples/busybox");
    ASSERT_TRUE(imported.ok()) << imported.error_message();
  }
  // Both outputs are one stream, as on a terminal.
  absl::StatusOr<RunResult> Run(const std::string& command) {
    return RunProgram({.argv = {"/bin/bash", "-c", absl::StrCat("exec 2>&1\n", command)},
                       .environment = {absl::StrCat("PATH=", ProgramPath("."),
                                                    ":/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                                                    "/usr/bin:/sbin:/bin"),
                                       "PLIMSOLL_ADDRESS=" + node_.address(),
                                       "HOME=" + files_.path(), "TMPDIR=" + node_.directory()},
                       .working_directory = files_.path()},
                      {.timeout = Patience(absl::Seconds(60))});
  }

  TestDir files_;
};

TEST_P(DocsTest, ThePagesCommandsDoWhatItShows) {
  const auto commands = CommandsOf(GetParam());
  ASSERT_TRUE(commands.ok()) << GetParam() << ": " << commands.status();
  for (const ShownCommand& shown : *commands) {
    const std::string at = absl::StrCat(GetParam(), ":", shown.line, ": ", shown.command, "\n");
    const auto result = Run(shown.command);
    ASSERT_TRUE(result.ok()) << at << result.status();
    ASSERT_EQ(result->exit.code != 0, ShowsError(shown.output)) << at << result->out;
    ASSERT_TRUE(IsOutput(shown.output, result->out))
        << at << "It shows:\n"
        << absl::StrJoin(shown.output, "\n") << "\nIt prints:\n"
        << result->out;
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, DocsTest, ::testing::ValuesIn(kPages), [](const auto& page) {
  std::string name = page.param;
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

TEST(DocsPagesTest, AreAllThatHaveMarkedBlocks) {
  std::vector<std::string> pages = {"README.md", "CONTRIBUTING.md", "examples/README.md"};
  const auto names = Host().List(SourcePath("docs"));
  ASSERT_TRUE(names.ok()) << names.status();
  for (const std::string& name : *names) {
    if (absl::EndsWith(name, ".md")) pages.push_back("docs/" + name);
  }
  std::vector<std::string> marked;
  for (const std::string& page : pages) {
    const auto commands = CommandsOf(page);
    ASSERT_TRUE(commands.ok()) << page << ": " << commands.status();
    if (!commands->empty()) marked.push_back(page);
  }
  EXPECT_THAT(marked, UnorderedElementsAreArray(kPages));
}

}  // namespace
}  // namespace plimsoll::testing

// The marked blocks of documents: commands, shown output, and the printed output that it allows.
#include "harness/console_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ConsoleBlocks, CommandsAreThoseOfMarkedBlocksInTheirOrder) {
  const auto commands = MarkedCommands(
      "# A page\n"
      "```console\n# not this one\n```\n"
      "```console run\n# first\nits\n output\n$ second \\\n    more\n```\n"
      "```yaml\n# nor this\n```\n"
      "```console run\n# third\n```\n");
  ASSERT_TRUE(commands.ok()) << commands.status();
  ASSERT_EQ(commands->size(), 3u);
  EXPECT_EQ((*commands)[0].command, "first");
  EXPECT_EQ((*commands)[0].line, 6);
  EXPECT_THAT((*commands)[0].output, ElementsAre("its", " output"));
  EXPECT_EQ((*commands)[1].command, "second \\\n    more");
  EXPECT_EQ((*commands)[1].line, 9);
  EXPECT_THAT((*commands)[1].output, IsEmpty());
  EXPECT_EQ((*commands)[2].command, "third");
}

TEST(ConsoleBlocks, MalformedBlocksAreNamedByLine) {
  const auto error = [](const char* page) {
    return std::string(MarkedCommands(page).status().message());
  };
  EXPECT_THAT(error("```console run\noutput\n# command\n```\n"),
              HasSubstr("line 2: a marked block begins with a command"));
  EXPECT_THAT(error("\n```console run\n```\n"), HasSubstr("line 2: an empty block"));
  EXPECT_THAT(error("```console run\n# a\n"), HasSubstr("line 1: the block has no end"));
  EXPECT_THAT(error("```console run\n# a \\\n```\n"),
              HasSubstr("line 3: the block ends within a command"));
}

TEST(ConsoleBlocks, WithoutShownOutputAnyWillDo) {
  EXPECT_TRUE(IsOutput({}, "anything\n"));
  EXPECT_TRUE(IsOutput({""}, "anything\n"));
}

TEST(ConsoleBlocks, ShownOutputIsAllOfIt) {
  EXPECT_TRUE(IsOutput({"a  b", "", "c"}, "a b  \nc\n"));
  EXPECT_FALSE(IsOutput({"a"}, "a\nb\n"));
  EXPECT_FALSE(IsOutput({"b"}, "a\nb\n"));
  EXPECT_FALSE(IsOutput({"a", "b"}, "a\n"));
  EXPECT_FALSE(IsOutput({"b", "a"}, "a\nb\n"));
  EXPECT_FALSE(IsOutput({"a"}, ""));
}

TEST(ConsoleBlocks, ThreeDotsStandForAnything) {
  EXPECT_TRUE(IsOutput({"...", "b", "..."}, "a\nb\nc\nd\n"));
  EXPECT_TRUE(IsOutput({"a", "...", "b"}, "a\nb\n"));
  EXPECT_TRUE(IsOutput({"...", "b", "c"}, "b\na\nb\nc\n"));
  EXPECT_FALSE(IsOutput({"...", "b"}, "a\nc\n"));
  EXPECT_TRUE(IsOutput({"stopped after ... seconds"}, "stopped after 12 seconds\n"));
  EXPECT_TRUE(IsOutput({"a ... b ... c"}, "a b b x c\n"));
  EXPECT_TRUE(IsOutput({"a ... b"}, "a   b\n"));
  EXPECT_FALSE(IsOutput({"stopped after ... minutes"}, "stopped after 12 seconds\n"));
}

TEST(ConsoleBlocks, IdsStandForEachOther) {
  EXPECT_TRUE(IsOutput({"2056198032ab  Running"}, "cca5d83a1f43  Running\n"));
  EXPECT_TRUE(IsOutput({"sha256:2056198032ab"}, "sha256:cca5d83a1f43f46add3bc5bc\n"));
  EXPECT_TRUE(IsOutput({"uid: 5de693af-d0c7-4c30-b6e0-78c2529752b1"},
                       "uid: 11111111-2222-3333-4444-555555555555\n"));
  EXPECT_FALSE(IsOutput({"2056198032ab"}, "plimsoll\n"));
  EXPECT_FALSE(IsOutput({"1024"}, "2048\n"));
  EXPECT_FALSE(IsOutput({"deadbeef"}, "deadbeee\n"));
}

TEST(ConsoleBlocks, TimesStandForEachOther) {
  EXPECT_TRUE(IsOutput({"2026-01-02 03:04:05 +00:00  a"}, "2031-12-31 23:59:59 +00:00  a\n"));
  EXPECT_TRUE(IsOutput({"\"2026-01-02T03:04:05.123Z\""}, "\"2031-12-31T23:59:59.5Z\"\n"));
  EXPECT_FALSE(IsOutput({"2026-01-02 03:04:05 a"}, "2026-01-02 a\n"));
}

TEST(ConsoleBlocks, DurationsStandForEachOther) {
  EXPECT_TRUE(IsOutput({"a  3s  b"}, "a  1h2m  b\n"));
  EXPECT_TRUE(IsOutput({"started in 152 ms, 62 ms of it"}, "started in 1.5 s, 7 ms of it\n"));
  EXPECT_FALSE(IsOutput({"500m"}, "250m\n"));  // CPUs
  EXPECT_FALSE(IsOutput({"64Mi"}, "32Mi\n"));
  EXPECT_FALSE(IsOutput({"64 MiB"}, "32 MiB\n"));
  EXPECT_FALSE(IsOutput({"3s"}, "3x\n"));
  EXPECT_FALSE(IsOutput({"step 1 of 3"}, "step 2 of 3\n"));
}

TEST(ConsoleBlocks, AShownErrorPermitsAFailure) {
  EXPECT_TRUE(ShowsError({"...", "plimsoll: there is no pod web"}));
  EXPECT_FALSE(ShowsError({"a plimsoll: no error"}));
  EXPECT_FALSE(ShowsError({}));
}

}  // namespace
}  // namespace plimsoll::testing

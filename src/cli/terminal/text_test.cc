#include "cli/terminal/text.h"

#include <gtest/gtest.h>

#include "cli/terminal/errors.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"

namespace plimsoll::cli {
namespace {

TEST(Text, BytesForPeople) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1024), "1 KiB");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(64 << 20), "64 MiB");
  EXPECT_EQ(HumanBytes(1234567890), "1.15 GiB");
  EXPECT_EQ(HumanBytes(1048575), "1 MiB");
  EXPECT_EQ(HumanBytes(UINT64_MAX), "16 EiB");
}

TEST(Text, AgesForPeople) {
  EXPECT_EQ(HumanAge(absl::Seconds(-5)), "0s");
  EXPECT_EQ(HumanAge(absl::Seconds(59)), "59s");
  EXPECT_EQ(HumanAge(absl::Seconds(310)), "5m10s");
  EXPECT_EQ(HumanAge(absl::Seconds(3599)), "59m");
  EXPECT_EQ(HumanAge(absl::Hours(3)), "3h");
  EXPECT_EQ(HumanAge(absl::Hours(25)), "1d1h");
  EXPECT_EQ(HumanAge(absl::Hours(24 * 30)), "30d");
}

TEST(Text, IdsAreCut) {
  EXPECT_EQ(ShortId("sha256:0123456789abcdef"), "0123456789ab");
  EXPECT_EQ(ShortId("abc"), "abc");
}

TEST(Text, ShellWordsAreQuotedOnlyWhereNeeded) {
  EXPECT_EQ(ShellQuote("docker.io/a:1"), "docker.io/a:1");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("a;b"), "'a;b'");
}

TEST(Table, AlignsColumnsWithoutTrailingSpace) {
  Table table({"NAME", "STATE"});
  table.AddRow({"web", "Running"});
  table.AddRow({"a-long-name", ""});
  table.AddRow({"héé", "x", "dropped"});
  EXPECT_EQ(table.ToString(),
            "NAME         STATE\n"
            "web          Running\n"
            "a-long-name\n"
            "héé          x\n");
}

TEST(Table, ThatIsWiderThanTheTerminalBecomesParagraphs) {
  Table table({"CHECK", "WHAT IS WRONG", "REMEDY"});
  table.AddRow({"Swap", "swap is on (/dev/sda2): kubelet doesn't start", "swapoff -a"});
  table.AddRow({"Häfen", "none", ""});
  const std::string columns =
      "CHECK  WHAT IS WRONG                                  REMEDY\n"
      "Swap   swap is on (/dev/sda2): kubelet doesn't start  swapoff -a\n"
      "Häfen  none\n";
  EXPECT_EQ(table.ToString(0), columns);
  EXPECT_EQ(table.ToString(64), columns);
  EXPECT_EQ(table.ToString(63),
            "CHECK          Swap\n"
            "WHAT IS WRONG  swap is on (/dev/sda2): kubelet doesn't start\n"
            "REMEDY         swapoff -a\n"
            "\n"
            "CHECK          Häfen\n"
            "WHAT IS WRONG  none\n"
            "REMEDY\n");
  EXPECT_NE(table.ToString(40).find("WHAT IS WRONG  swap is on (/dev/sda2):\n"
                                    "               kubelet doesn't start\n"),
            std::string::npos);
}

TEST(Table, PrintsTheHeaderAlone) {
  EXPECT_EQ(Table({"A", "B"}).ToString(), "A  B\n");
}

TEST(Table, HostileNamesDoNotReachTheTerminal) {
  Table table({"NAME"});
  table.AddRow({"\x1b]0;owned\x07"});
  EXPECT_EQ(table.ToString().find('\x1b'), std::string::npos);
}

TEST(Table, PairsAlignAsTheLongestNameNeeds) {
  EXPECT_EQ(AlignedPairs({{"state", "/var"}, {"NodeResourcesReady", "yes"}, {"x", "a\x1b"}}),
            "  state               /var\n"
            "  NodeResourcesReady  yes\n"
            "  x                   a\\x1b\n");
  EXPECT_EQ(AlignedPairs({}), "");
}

TEST(Errors, SayWhatToDoNext) {
  const absl::Status status =
      WithHint(WithHint(absl::NotFoundError("there is no pod \"x\""), "inner"), "outer");
  EXPECT_EQ(FormatError(status), "plimsoll: there is no pod \"x\"\n  inner\n");
  EXPECT_EQ(FormatError(absl::InternalError("odd")), "plimsoll: odd\n");
  EXPECT_NE(HintOf(absl::UnavailableError("gone")).find("plimsoll daemon status"),
            std::string::npos);
  EXPECT_TRUE(WithHint(absl::OkStatus(), "nothing").ok());
}

TEST(Progress, FitsTheTerminal) {
  EXPECT_EQ(ProgressLine("copying", 0, 0, 80), "copying");
  EXPECT_EQ(ProgressLine("copying", 2048, 0, 80), "copying  2 KiB");
  EXPECT_EQ(ProgressLine("copying", 512, 1024, 80),
            "copying  [============>           ]  50%  1 KiB");
  EXPECT_EQ(ProgressLine("copying", 9, 3, 80), "copying  [========================] 100%  3 B");
  for (size_t width = 1; width < 60; ++width) {
    EXPECT_LE(ProgressLine("a step with a long name", 5, 10, width).size(), width);
  }
}

}  // namespace
}  // namespace plimsoll::cli

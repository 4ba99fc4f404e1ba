#include "cli/pod_commands/log_mux.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::cli {
namespace {

class LogMuxTest : public ::testing::Test {
 protected:
  static std::string Entry(const char* stream, const char* tag, const std::string& text) {
    return absl::StrCat("2026-11-21T00:17:09.669794202Z ", stream, " ", tag, " ", text, "\n");
  }
  void Append(const std::string& text, const std::string& file) {
    FILE* out = std::fopen((dir_.path() + "/" + file).c_str(), "a");
    ASSERT_NE(out, nullptr);
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
  }

  TestDir dir_;
};

TEST_F(LogMuxTest, PrefixesAndFinishesCompletely) {
  Append(Entry("stdout", "F", "one") + Entry("stderr", "P", "tail"), "web.log");
  Append(Entry("stdout", "F", "two"), "worker.log");
  std::vector<std::string> written;
  {
    LogMux mux(*FsRoot::Open("/"), /*colour=*/false, [&](absl::string_view text, bool is_stderr) {
      written.push_back(absl::StrCat(is_stderr ? "E " : "O ", text));
    });
    // The longer name first, so that both prefixes have their final width.
    const int worker = mux.Add("worker", dir_.path() + "/worker.log");
    const int web = mux.Add("web", dir_.path() + "/web.log");
    mux.Finish(worker);
    mux.Finish(web);
    mux.Finish(web);  // as often as one likes
    mux.Say("done");
  }
  EXPECT_THAT(written, ::testing::UnorderedElementsAre("O worker | two\n", "O web    | one\n",
                                                       "E web    | tail\n", "E done\n"));
}

TEST_F(LogMuxTest, WritesTogetherWhatCameAtOnce) {
  for (int i = 0; i < 1000; ++i) Append(Entry("stdout", "F", "line"), "web.log");
  size_t writes = 0;
  std::string all;
  {
    LogMux mux(*FsRoot::Open("/"), /*colour=*/false, [&](absl::string_view text, bool) {
      ++writes;
      all.append(text.data(), text.size());
    });
    mux.Finish(mux.Add("web", dir_.path() + "/web.log"));
  }
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 1000);
  EXPECT_LE(writes, 2u);
}

}  // namespace
}  // namespace plimsoll::cli

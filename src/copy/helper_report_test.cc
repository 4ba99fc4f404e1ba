#include "copy/helper_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"

namespace plimsoll::copy {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class HelperReportTest : public ::testing::Test {
 protected:
  Report Parsed() const {
    std::string text(1 << 20, '\0');
    const ssize_t size = pread(file_.get(), text.data(), text.size(), 0);
    return ParseReport(absl::string_view(text.data(), static_cast<size_t>(size)));
  }
  UniqueFd file_ = UniqueFd(memfd_create("report", MFD_CLOEXEC));
  ReportWriter writer_ = ReportWriter(file_.get());
};

TEST_F(HelperReportTest, ArrivesAsItWasTold) {
  writer_.Note("web:/a is a FIFO");
  writer_.Note(absl::string_view("a\n\0E5:b", 8));
  writer_.Finish();
  writer_.Error(absl::FailedPreconditionError("web:/x: no: not that"));
  const Report report = Parsed();
  EXPECT_THAT(report.notes,
              ElementsAre("web:/a is a FIFO", testing::Not(testing::HasSubstr("\n"))));
  EXPECT_EQ(report.status, absl::FailedPreconditionError("web:/x: no: not that"));
}

TEST_F(HelperReportTest, OnlySoManyNotesAreTold) {
  for (int i = 0; i < ReportWriter::kMaxNotes + 7; ++i) writer_.Note(absl::StrCat(i));
  writer_.Finish();
  const Report report = Parsed();
  EXPECT_THAT(report.notes, SizeIs(ReportWriter::kMaxNotes + 1));
  EXPECT_EQ(report.notes.back(), "and 7 more");
  EXPECT_TRUE(report.status.ok());
}

}  // namespace
}  // namespace plimsoll::copy

// For tests of a node with rdt classes: resctrl's stand-in and the class file, made before the
// daemon is started.
//
//   class MyTest : private resctrlfs::ClassesMachine, public NodeTest {
//     MyTest() : ClassesMachine(layout, classes), NodeTest(ClassesConfig()) {}
//     void SetUp() override {
//       if (!why_not_.empty()) GTEST_SKIP() << why_not_;
#ifndef PLIMSOLL_TESTS_RESCTRLFS_CLASSES_MACHINE_H_
#define PLIMSOLL_TESTS_RESCTRLFS_CLASSES_MACHINE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"
#include "linux/resctrl.h"
#include "linux/schemata.h"
#include "resctrlfs/fixture.h"

namespace plimsoll::resctrlfs {

class ClassesMachine {
 protected:
  ClassesMachine(const Layout& layout, absl::string_view classes)
      : why_not_(ResctrlFsFixture::WhyNot()) {
    if (!why_not_.empty()) return;
    auto started = ResctrlFsFixture::Start(layout);
    if (!started.ok()) {
      why_not_ = started.status().ToString();
      return;
    }
    resctrl_ = *std::move(started);
    fs_ = *linux::Resctrl::Open(resctrl_->root());
    WriteClasses(classes);
  }
  ~ClassesMachine() {
    fs_.reset();
    if (resctrl_ == nullptr) return;
    const absl::Status stopped = resctrl_->Stop();
    EXPECT_TRUE(stopped.ok()) << stopped;
  }

  void WriteClasses(absl::string_view text) {
    const absl::Status written = files_.root().ReplaceFile("rdt.yaml", text);
    EXPECT_TRUE(written.ok()) << written;
  }
  // A section of plimsolld's configuration. `more`: further lines of the class type, each indented
  // by four.
  std::string ClassesConfig(absl::string_view more = "") const {
    return absl::StrCat("classes:\n  rdt:\n    config_file: ", files_.path(),
                        "/rdt.yaml\n    resctrl_root: ",
                        resctrl_ == nullptr ? "/" : resctrl_->root().path(), "\n", more);
  }
  std::string Lines(const std::string& group) const {
    const auto schemata = fs_->ReadSchemata(group);
    return schemata.ok() ? linux::SchemataText(*schemata) : schemata.status().ToString();
  }

  TestDir files_;
  std::string why_not_;  // empty: the machine is up
  std::unique_ptr<ResctrlFsFixture> resctrl_;
  std::unique_ptr<linux::Resctrl> fs_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_CLASSES_MACHINE_H_

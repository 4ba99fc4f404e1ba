#include "cdi/registry.h"

#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::cdi {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CdiRegistryTest : public ::testing::Test {
 protected:
  CdiRegistryTest() : registry_(dir_.root(), {"/etc/cdi", "/run/cdi"}) {}

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(dir_.root().MakeDirs(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(path, text).ok());
  }
  // A device "a" of `kind` that sets VALUE.
  static std::string Device(const std::string& value, const std::string& kind = "v.com/gpu",
                            const std::string& name = "a") {
    return absl::StrCat(R"({"cdiVersion":"0.5.0","kind":")", kind, R"(","devices":[{"name":")",
                        name, R"(","containerEdits":{"env":["VALUE=)", value,
                        R"("]}}],"containerEdits":{"env":["ANY=1"]}})");
  }
  std::vector<std::string> Env(const std::vector<std::string>& names) {
    const auto edits = registry_.Resolve(names);
    EXPECT_TRUE(edits.ok()) << edits.status();
    return edits.ok() ? edits->env : std::vector<std::string>();
  }
  absl::Status Refusal(const std::string& name) { return registry_.Resolve({name}).status(); }

  TestDir dir_;
  Registry registry_;
};

TEST_F(CdiRegistryTest, FilesAreFollowed) {
  EXPECT_TRUE(absl::IsNotFound(Refusal("v.com/gpu=a")));
  Write("etc/cdi/gpu.json", Device("1"));
  EXPECT_THAT(Env({"v.com/gpu=a"}), ElementsAre("ANY=1", "VALUE=1"));
  // Rapid changes of the same length.
  for (int i = 0; i < 20; ++i) {
    const std::string value(1, static_cast<char>('a' + i));
    Write("etc/cdi/gpu.json", Device(value));
    EXPECT_THAT(Env({"v.com/gpu=a"}), ElementsAre("ANY=1", "VALUE=" + value));
  }
  ASSERT_TRUE(dir_.root().RemoveFile("etc/cdi/gpu.json").ok());
  EXPECT_TRUE(absl::IsNotFound(Refusal("v.com/gpu=a")));
  EXPECT_THAT(registry_.Faults(), IsEmpty());
}

TEST_F(CdiRegistryTest, WhatWasMeantIsSuggested) {
  Write("etc/cdi/gpu.yaml",
        "cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices: [{name: a, containerEdits: {env: "
        "[A=1]}}]\n");
  EXPECT_THAT(Refusal("vendr.com/gpu=a").message(),
              HasSubstr("there is none of kind vendr.com/gpu; did you mean vendor.com/gpu=a?"));
  EXPECT_THAT(Refusal("else.org/fpga=0").message(),
              HasSubstr("there is none of kind else.org/fpga; there are kinds vendor.com/gpu"));
}

TEST_F(CdiRegistryTest, DevicesOfOneFileShareItsEdits) {
  Write("etc/cdi/gpu.yaml",
        "cdiVersion: 0.5.0\nkind: v.com/gpu\ncontainerEdits: {env: [ANY=1]}\ndevices:\n"
        "- {name: a, containerEdits: {env: [A=1]}}\n- {name: b, containerEdits: {env: [B=1]}}\n");
  EXPECT_THAT(Env({"v.com/gpu=b", "v.com/gpu=a", "v.com/gpu=b"}),
              ElementsAre("ANY=1", "B=1", "A=1"));
  EXPECT_THAT(Env({}), IsEmpty());
}

TEST_F(CdiRegistryTest, ALaterDirectoryGoesBeforeAnEarlier) {
  Write("etc/cdi/gpu.json", Device("static"));
  Write("run/cdi/gpu.json", Device("dynamic"));
  EXPECT_THAT(Env({"v.com/gpu=a"}), ElementsAre("ANY=1", "VALUE=dynamic"));
  // It also wins over two files that contradict each other.
  Write("etc/cdi/other.json", Device("static too"));
  EXPECT_THAT(Env({"v.com/gpu=a"}), ElementsAre("ANY=1", "VALUE=dynamic"));
  EXPECT_THAT(registry_.Faults(), IsEmpty());
}

TEST_F(CdiRegistryTest, TwoFilesOfADirectoryContradictEachOther) {
  Write("etc/cdi/gpu.json", Device("1"));
  Write("etc/cdi/other.json", Device("2"));
  Write("etc/cdi/third.json", Device("3", "v.com/gpu", "b"));
  const absl::Status refused = Refusal("v.com/gpu=a");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("/etc/cdi/gpu.json and /etc/cdi/other.json"));
  EXPECT_THAT(registry_.Faults(), ElementsAre(HasSubstr("CDI device v.com/gpu=a is in both")));
  EXPECT_THAT(Env({"v.com/gpu=b"}), ElementsAre("ANY=1", "VALUE=3"));
}

TEST_F(CdiRegistryTest, ABadFileConcernsItsOwnKindAlone) {
  Write("etc/cdi/bad.json", R"({"cdiVersion":"0.5.0","kind":"v.com/gpu","devices":[{}]})");
  Write("etc/cdi/good.json", Device("1", "v.com/gpu", "b"));
  Write("etc/cdi/net.json", Device("2", "v.com/net"));
  EXPECT_THAT(Env({"v.com/gpu=b", "v.com/net=a"}),
              ElementsAre("ANY=1", "VALUE=1", "ANY=1", "VALUE=2"));
  const absl::Status refused = Refusal("v.com/gpu=a");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("/etc/cdi/bad.json: devices[0].name: is missing"));
  const absl::Status other = Refusal("v.com/net=b");
  EXPECT_TRUE(absl::IsNotFound(other)) << other;
  EXPECT_THAT(other.message(), HasSubstr("there are v.com/net=a"));
  EXPECT_THAT(other.message(), Not(HasSubstr("bad.json")));
  EXPECT_THAT(registry_.Faults(), ElementsAre(HasSubstr("/etc/cdi/bad.json: devices[0]")));
  // A file of unknown kind may have any device.
  Write("etc/cdi/bad.json", "{");
  EXPECT_THAT(Refusal("v.com/net=b").message(), HasSubstr("/etc/cdi/bad.json: not valid JSON"));
}

TEST_F(CdiRegistryTest, WhatIsNoFileHoldsUpNobody) {
  Write("etc/cdi/good.json", Device("1"));
  Write("etc/cdi/README", "not one of them");
  ASSERT_TRUE(dir_.root().MakeDirs("etc/cdi/directory.json").ok());
  ASSERT_EQ(mkfifo((dir_.path() + "/etc/cdi/fifo.yaml").c_str(), 0600), 0);
  EXPECT_THAT(Env({"v.com/gpu=a"}), ElementsAre("ANY=1", "VALUE=1"));
  EXPECT_THAT(registry_.Faults(),
              ElementsAre(HasSubstr("directory.json: is a directory, not a regular file"),
                          HasSubstr("fifo.yaml: is a FIFO, not a regular file")));
  EXPECT_TRUE(absl::IsInvalidArgument(Refusal("gpu")));
}

// Opened like a regular file, a FIFO waits for a writer that never comes.
TEST_F(CdiRegistryTest, AFifoInAFilesPlaceHoldsUpNobody) {
  const std::string file = dir_.path() + "/etc/cdi/gpu.json";
  const std::string fifo = dir_.path() + "/etc/cdi/fifo";
  Write("etc/cdi/gpu.json", Device("1"));
  std::atomic<bool> done = false;
  std::thread changer([&] {
    while (!done) {
      EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
      EXPECT_EQ(rename(fifo.c_str(), file.c_str()), 0);
      Write("etc/cdi/gpu.json", Device("1"));
    }
  });
  for (int i = 0; i < 2000; ++i) registry_.Resolve({"v.com/gpu=a"}).IgnoreError();
  done = true;
  changer.join();
  EXPECT_THAT(Env({"v.com/gpu=a"}), ElementsAre("ANY=1", "VALUE=1"));
}

TEST_F(CdiRegistryTest, AFilesNameMayBeAnyBytes) {
  Write("etc/cdi/caf\xe9.json", "{");
  Write("etc/cdi/\xff\n.yaml", Device("1"));
  Write("etc/cdi/good.json", Device("1"));
  EXPECT_THAT(registry_.Faults(),
              ElementsAre(HasSubstr(R"(/etc/cdi/caf\xe9.json: not valid JSON)"),
                          HasSubstr(R"(is in both /etc/cdi/good.json and /etc/cdi/\xff\n.yaml)")));
  EXPECT_THAT(Refusal("v.com/gpu=a").message(), HasSubstr(R"(/etc/cdi/\xff\n.yaml)"));
  ASSERT_EQ(mkfifo((dir_.path() + "/etc/cdi/\xe9.json").c_str(), 0600), 0);
  EXPECT_THAT(registry_.Faults(),
              Contains(HasSubstr(R"(/etc/cdi/\xe9.json: is a FIFO, not a regular file)")));
}

TEST_F(CdiRegistryTest, MayBeAskedByManyWhileFilesChange) {
  Write("etc/cdi/gpu.json", Device("0"));
  std::atomic<bool> done = false;
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      while (!done) EXPECT_TRUE(registry_.Resolve({"v.com/gpu=a"}).ok());
    });
  }
  for (int i = 0; i < 50; ++i) Write("etc/cdi/gpu.json", Device(absl::StrCat(i)));
  done = true;
  for (std::thread& asker : askers) asker.join();
  EXPECT_THAT(Env({"v.com/gpu=a"}), ElementsAre("ANY=1", "VALUE=49"));
}

}  // namespace
}  // namespace plimsoll::cdi

// SELinux labels of pods, over stand-ins and with real files.
#include <sys/xattr.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class SelinuxEngineTest : public EngineTest {
 protected:
  void SetUp() override {
    if (access("/sys/fs/selinux/enforce", F_OK) == 0) {
      GTEST_SKIP() << "SELinux is on here, and doesn't know this test's labels";
    }
    EngineTest::SetUp();
    runtime_.selinux = {"u:r:container_t:s0", "u:object_r:container_file_t:s0"};
  }
  // Without a /dev/shm: a kernel without SELinux refuses to mount one with a label.
  static SandboxSpec Pod(const std::string& name) {
    SandboxSpec spec = PodSpec(name);
    spec.namespaces.network = NamespaceMode::kNode;
    spec.namespaces.ipc = NamespaceMode::kNode;
    return spec;
  }
  std::string Run(const SandboxSpec& spec) {
    const auto id = engine_->RunSandbox(spec, "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  std::string LevelOf(const std::string& id) { return engine_->GetSandbox(id)->spec.selinux.level; }
  std::string LabelOf(const std::string& id, const std::string& file) {
    char label[256];
    const std::string path = run_.PathOf(absl::StrCat("sandboxes/", id, "/", file));
    const ssize_t size = lgetxattr(path.c_str(), "security.selinux", label, sizeof(label));
    return size < 0 ? "(none)" : std::string(label, static_cast<size_t>(size));
  }
};

TEST_F(SelinuxEngineTest, EachPodHasALevelOfItsOwnAndKeepsIt) {
  const std::string one = Run(Pod("one"));
  const std::string two = Run(Pod("two"));
  const std::string level = LevelOf(one);
  EXPECT_THAT(level, StartsWith("s0:c"));
  EXPECT_NE(level, LevelOf(two));
  for (const char* file : {"hosts", "hostname", "resolv.conf"}) {
    EXPECT_EQ(LabelOf(one, file), absl::StrCat("u:object_r:container_file_t:", level)) << file;
  }
  StartEngine();
  EXPECT_EQ(LevelOf(one), level);
}

TEST_F(SelinuxEngineTest, ALevelThatIsAskedForIsThePods) {
  SandboxSpec spec = Pod("pod");
  spec.selinux = {.user = "staff_u", .level = "s0:c7,c9"};
  const std::string id = Run(spec);
  EXPECT_EQ(LevelOf(id), "s0:c7,c9");
  EXPECT_EQ(LabelOf(id, "hosts"), "staff_u:object_r:container_file_t:s0:c7,c9");
  spec.name = "other";
  spec.selinux.level = "s0\",rw";
  const absl::Status refused = engine_->RunSandbox(spec, "").status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("pod default/other: selinux_options.level"));
}

TEST_F(SelinuxEngineTest, WithoutItOptionsAreKeptAndNothingIsLabelled) {
  runtime_.selinux.reset();
  SandboxSpec spec = Pod("pod");
  spec.selinux.level = "anything \" at all";
  const std::string id = Run(spec);
  EXPECT_EQ(LevelOf(id), "anything \" at all");
  EXPECT_EQ(LabelOf(id, "hosts"), "(none)");
}

}  // namespace
}  // namespace plimsoll::runtime

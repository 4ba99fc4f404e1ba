// Tests reading, on trees of plain files. The kernel's reaction to writes is tested on a file
// system that behaves like it (tests/rdt).
#include "linux/resctrl.h"

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class ResctrlTest : public ::testing::Test {
 protected:
  void SetUp() override { Mount("/sys/fs/resctrl", "rw"); }

  void Mount(const std::string& point, const std::string& options) {
    Put("proc/self/mountinfo",
        absl::StrCat("20 1 0:5 / /sys rw - sysfs sysfs rw\n30 20 0:9 / ", point,
                     " rw,relatime - resctrl resctrl ", options, "\n"));
  }
  void Put(const std::string& path, absl::string_view text) {
    const size_t slash = path.rfind('/');
    ASSERT_TRUE(dir_.root().MakeDirs(path.substr(0, slash)).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(path, text).ok());
  }
  void PutFs(const std::string& path, absl::string_view text) {
    Put("sys/fs/resctrl/" + path, text);
  }
  // The files of an Intel server.
  void PutServer() {
    PutFs("schemata", "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n");
    PutFs("tasks", "1\n2\n");
    PutFs("mode", "shareable\n");
    PutFs("info/last_cmd_status", "ok\n");
    PutFs("info/L3/cbm_mask", "7ff\n");
    PutFs("info/L3/min_cbm_bits", "1\n");
    PutFs("info/L3/num_closids", "16\n");
    PutFs("info/L3/shareable_bits", "600\n");
    PutFs("info/L3/sparse_masks", "1\n");
    PutFs("info/MB/min_bandwidth", "10\n");
    PutFs("info/MB/bandwidth_gran", "5\n");
    PutFs("info/MB/num_closids", "8\n");
    PutFs("info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\n");
    PutFs("info/L3_MON/num_rmids", "176\n");
    PutFs("gold/schemata", "L3:0=f;1=f\n");
    PutFs("gold/tasks", "12\n7\n");
    PutFs("gold/mon_groups/c1/tasks", "12\n");
    PutFs("gold/mon_data/mon_L3_00/llc_occupancy", "4096\n");
    PutFs("gold/mon_data/mon_L3_01/llc_occupancy", "1000\n");
    PutFs("gold/mon_data/mon_L3_01/mbm_total_bytes", "Unavailable\n");
  }
  std::unique_ptr<Resctrl> Opened() {
    auto resctrl = Resctrl::Open(dir_.root());
    EXPECT_TRUE(resctrl.ok()) << resctrl.status();
    return resctrl.ok() ? *std::move(resctrl) : nullptr;
  }

  TestDir dir_;
};

TEST_F(ResctrlTest, IsFoundWhereverItIsMounted) {
  Put("proc/self/mountinfo", "20 1 0:5 / /sys rw - sysfs sysfs rw\n");
  const auto none = Resctrl::Open(dir_.root());
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(none.status().message(), HasSubstr("mount -t resctrl resctrl /sys/fs/resctrl"));
  Mount("/elsewhere", "rw,cdp,mba_MBps");
  Put("elsewhere/tasks", "");
  const auto resctrl = Opened();
  EXPECT_EQ(resctrl->mount_point(), dir_.path() + "/elsewhere");
  EXPECT_THAT(resctrl->mount_options(), ElementsAre("rw", "cdp", "mba_MBps"));
  EXPECT_EQ(resctrl->TasksPath("gold"), dir_.path() + "/elsewhere/gold/tasks");
}

TEST_F(ResctrlTest, ReadsWhatTheMachineHas) {
  PutServer();
  const auto info = Opened()->ReadInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_FALSE(info->l2);
  ASSERT_TRUE(info->l3 && info->mb && info->monitoring);
  EXPECT_FALSE(info->l3->cdp);
  EXPECT_THAT(info->l3->ids, ElementsAre(0, 1));
  EXPECT_EQ(info->l3->cbm_mask, 0x7ffu);
  EXPECT_EQ(info->l3->shareable_bits, 0x600u);
  EXPECT_TRUE(info->l3->sparse_masks);
  EXPECT_EQ(info->mb->bandwidth_gran, 5u);
  EXPECT_FALSE(info->mb->mbps);
  EXPECT_FALSE(info->mb->vendor_steps);
  EXPECT_EQ(info->MaxGroups(), 7u);
  EXPECT_THAT(info->monitoring->features, ElementsAre("llc_occupancy", "mbm_total_bytes"));
  EXPECT_EQ(info->monitoring->num_rmids, 176u);
}

TEST_F(ResctrlTest, ReadsCdpAndMbpsAndAmd) {
  Mount("/sys/fs/resctrl", "rw,cdp,mba_MBps");
  PutFs("schemata", "L3DATA:0=f\nL3CODE:0=f\nMB:0=4294967295\n");
  PutFs("info/L3CODE/cbm_mask", "f\n");
  PutFs("info/L3CODE/min_cbm_bits", "0\n");
  PutFs("info/L3CODE/num_closids", "4\n");
  PutFs("info/MB/num_closids", "8\n");
  auto info = Opened()->ReadInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(info->l3->cdp);
  EXPECT_EQ(info->l3->min_cbm_bits, 1u);  // a mask without ways is of no use
  EXPECT_EQ(info->MaxGroups(), 3u);
  EXPECT_TRUE(info->mb->mbps);
  EXPECT_FALSE(info->mb->vendor_steps);
  Mount("/sys/fs/resctrl", "rw");
  PutFs("schemata", "L3CODE:0=f\nMB:0=2048\n");
  EXPECT_TRUE(Opened()->ReadInfo()->mb->vendor_steps);
}

TEST_F(ResctrlTest, SaysWhichFileIsNotUnderstood) {
  PutServer();
  PutFs("info/L3/cbm_mask", "x\n");
  EXPECT_THAT(Opened()->ReadInfo().status().message(),
              HasSubstr("info/L3/cbm_mask: \"x\n\" is not a number"));
  PutFs("info/L3/cbm_mask", "5\n");
  EXPECT_THAT(Opened()->ReadInfo().status().message(),
              HasSubstr("info/L3/cbm_mask: 0x5 is not one block of ones"));
  PutFs("gold/tasks", "1\nx\n");
  EXPECT_THAT(Opened()->Threads("gold").status().message(), HasSubstr("\"x\" is no thread id"));
  PutFs("gold/schemata", "L3\n");
  EXPECT_THAT(Opened()->ReadSchemata("gold").status().message(),
              HasSubstr("gold/schemata: not understood: \"L3\" (\"L3:0=ff;1=ff\" would be)"));
}

TEST_F(ResctrlTest, ReadsGroupsThreadsAndCounters) {
  PutServer();
  const auto resctrl = Opened();
  EXPECT_THAT(*resctrl->ControlGroups(), ElementsAre("gold"));
  EXPECT_THAT(*resctrl->MonitoringGroups("gold"), ElementsAre("c1"));
  EXPECT_THAT(*resctrl->MonitoringGroups(""), IsEmpty());
  const absl::Status none = resctrl->MonitoringGroups("tin").status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(none.message(), absl::StrCat("no resctrl group ", dir_.path(), "/sys/fs/resctrl/tin"));
  EXPECT_TRUE(resctrl->HasGroup(""));
  EXPECT_TRUE(resctrl->HasGroup(MonitoringGroupPath("gold", "c1")));
  EXPECT_FALSE(resctrl->HasGroup("tin"));
  EXPECT_THAT(*resctrl->Threads("gold"), ElementsAre(7, 12));
  EXPECT_THAT(*resctrl->Counters("gold"), UnorderedElementsAre(Pair("llc_occupancy", 5096)));
  EXPECT_THAT(*resctrl->Counters(""), IsEmpty());
  EXPECT_EQ(resctrl->Counters("tin").status(), none);
}

TEST_F(ResctrlTest, ACaptureIsTheSameMachineElsewhere) {
  PutServer();
  Mount("/sys/fs/resctrl", "rw,mba_MBps");
  TestDir out;
  const absl::Status status = Opened()->Capture(out.root());
  ASSERT_TRUE(status.ok()) << status;
  const auto copy = Resctrl::Open(out.root());
  ASSERT_TRUE(copy.ok()) << copy.status();
  const auto info = (*copy)->ReadInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->l3->shareable_bits, 0x600u);
  EXPECT_TRUE(info->mb->mbps);
  EXPECT_EQ(info->monitoring->num_rmids, 176u);
  EXPECT_THAT(*(*copy)->ControlGroups(), ElementsAre("gold"));
  EXPECT_EQ((*copy)->ReadSchemata("gold")->at("L3").at(0), 0xfu);
  EXPECT_THAT(*(*copy)->Threads("gold"), IsEmpty());  // a capture names no threads
}

}  // namespace
}  // namespace plimsoll::linux
